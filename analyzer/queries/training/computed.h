/* Functions of the program of which the hook saw that they compute again what they have computed. */
#ifndef GPUPROF_QUERIES_TRAINING_COMPUTED_H
#define GPUPROF_QUERIES_TRAINING_COMPUTED_H

#include "analyzer/queries/query.h"

struct query_computed {
    bool known;        /* the hook looked */
    const char *names; /* "Net.positions; angles"; NULL: none */
    const char *place; /* where the first of them begins: "model.py:12" */
    int64_t pct;       /* of the calls that had one before them, how many computed again */
};
struct query_computed query_computed(const struct facts *f, struct arena *arena);
/* True if the op was launched from a line of one of them. */
bool query_computes_again(const struct facts *f, const struct query_computed *a, uint32_t op);

#endif
