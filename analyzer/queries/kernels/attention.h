/* Attention computed by separate kernels: a product writes the scores, a softmax kernel reads and
 * writes them, and a second product reads them again. */
#ifndef GPUPROF_QUERIES_ATTENTION_H
#define GPUPROF_QUERIES_ATTENTION_H

#include "analyzer/queries/query.h"

struct query_attention {
    bool *marks, *gone; /* by op: it belongs to an attention; it belongs to one and is no product */
    int64_t products_ns, between_ns, fp32_ns, tf32_ns, unaligned_ns; /* sums over the used steps */
    int64_t forward, backward;                                       /* number of softmaxes */
    uint32_t longest; /* op of the longest softmax; TL_NONE: none */
};

/* Finds each softmax in used steps that is no part of a loss and has a product directly before and
 * after it (two on each side in a backward pass). Arrays are from the arena. False: out of memory.
 * Cost: three passes over the operations. */
bool query_attention(const struct facts *f, struct arena *arena, struct query_attention *out);

#endif
