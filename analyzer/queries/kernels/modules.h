/* The work of a module of PyTorch, which the hook names in a fact such as "core (GRU), 32 times, in
 * turn at train.py:22". It needs launches that carry modules (facts/lines.h). */
#ifndef GPUPROF_QUERIES_KERNELS_MODULES_H
#define GPUPROF_QUERIES_KERNELS_MODULES_H

#include "analyzer/queries/query.h"

struct query_module {
    char name[128];    /* "core (GRU)"; "Net" if it is an outermost one; "" = no such fact */
    int64_t times;     /* calls in one forward pass; 0: not told */
    bool in_turn;      /* each call gets what an earlier one computed */
    bool sequence;     /* one call takes a whole sequence as well */
    bool cell;         /* it is one point in time of a layer that takes sequences */
    bool same_input;   /* the same tensors again and again */
    const char *place; /* "train.py:22"; NULL = not known */
};
struct query_module query_module_of(const struct timeline *t, const char *key);
/* True if the op was launched in a call of this module, or in the backward pass of one. */
bool query_in_module(const struct facts *f, const struct query_module *m, uint32_t op);
/* By op of the used steps: it belongs to the module. Of steps whose launches carry no lines, by
 * kernels of which nearly all belong to it in the steps that do. NULL: out of memory. */
const bool *query_module_ops(const struct facts *f, struct arena *arena,
                             const struct query_module *m);

#endif
