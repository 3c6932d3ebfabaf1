/* Functions and modules of the program of which the hook saw that they compute again what they have
 * computed. */
#ifndef GPUPROF_QUERIES_KERNELS_COMPUTED_H
#define GPUPROF_QUERIES_KERNELS_COMPUTED_H

#include "analyzer/queries/kernels/modules.h"

/* A module that a forward pass calls again with the same tensors. */
struct query_same {
    struct query_module module;
    bool outermost;       /* names within it begin with its own, or, if it is the first one, ... */
    const char *but;      /* ... with none of these, "Judge Critic"; NULL: it is not */
    int64_t again, calls; /* of so many calls, as many could read what an earlier one could */
    bool parametrized;    /* it computes a weight (torch.nn.utils.parametrize) */
};

enum { QUERY_SAME_MODULES = 8 };

struct query_computed {
    bool known;        /* the hook looked */
    const char *names; /* functions: "Net.positions; angles"; NULL: none */
    const char *place; /* where the first of them begins: "model.py:12" */
    int64_t pct;       /* of their calls that had one before them, how many computed again */
    struct query_same modules[QUERY_SAME_MODULES];
    size_t module_count;
};
struct query_computed query_computed(const struct facts *f, struct arena *arena);
/* How much of such work as the op, which is launched from a line of one of them, is computed again, in
 * per cent; 0: none. *module: index in modules, or QUERY_SAME_MODULES for a function. */
int64_t query_computes_again(const struct facts *f, const struct query_computed *a, uint32_t op,
                             size_t *module);

#endif
