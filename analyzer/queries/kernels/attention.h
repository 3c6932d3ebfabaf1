/* Attention written out: a product makes the scores, a softmax of its own reads and writes them, a
 * second product reads them again. */
#ifndef GPUPROF_QUERIES_ATTENTION_H
#define GPUPROF_QUERIES_ATTENTION_H

#include "analyzer/queries/query.h"

struct query_attention {
    bool *marks, *gone; /* by op: of an attention; of those, all but the products */
    int64_t products_ns, between_ns, fp32_ns, tf32_ns, unaligned_ns; /* over the used steps */
    int64_t forward, backward;                                       /* softmaxes */
    uint32_t longest;                                                /* softmax; TL_NONE: none */
};

/* A softmax of a used step that is not part of a loss, with products right before and after it, two
 * on each side in the backward pass. Arrays are of the arena. False: out of memory. Cost: three
 * passes over the operations. */
bool query_attention(const struct facts *f, struct arena *arena, struct query_attention *out);

#endif
