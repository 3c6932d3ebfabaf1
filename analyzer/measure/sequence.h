/* What a process launched, as a sequence of tokens in launch order: equal operations have equal
 * tokens. Cost: O(n log n). Memory: 32 bytes per operation. */
#ifndef GPUPROF_MEASURE_SEQUENCE_H
#define GPUPROF_MEASURE_SEQUENCE_H

#include "analyzer/timeline/timeline.h"

/* What an operation shows about the step around it. */
enum token_role {
    ROLE_WORK,
    ROLE_MOVE,    /* sets or copies GPU memory: alone it is no step */
    ROLE_PRODUCT, /* matrix product, of which a network's layers consist */
    ROLE_NORM,    /* normalisation or softmax, as between matrix products */
    ROLE_COPY,    /* copy between host and GPU: a batch comes, a loss goes */
    ROLE_UPDATE   /* an optimizer's kernel: updates the parameters */
};

struct sequence {
    uint32_t *token; /* token of each operation, in launch order; ids are dense */
    int64_t *time;   /* host time of the launch, in ns */
    int64_t *gpu_ns; /* time on the GPU in ns, 0 = not recorded */
    size_t n;
    uint8_t *role; /* of each token: enum token_role */
    uint32_t tokens;
    /* Token that replaces the own token of the operation behind an update of the parameters.
     * TL_NONE if no optimizer's kernel is known by name. */
    uint32_t update;
    uint32_t *first, *position; /* positions of token x: position[first[x] .. first[x + 1]) */
};

struct sequence_of {
    uint32_t process;
    uint32_t device; /* TL_NONE: all devices */
    bool names_only; /* ignore shapes when comparing operations */
};

/* Builds the sequence. Returns -1 without memory. Call sequence_release also after a failure. */
int sequence_build(struct sequence *s, const struct timeline *t, const struct sequence_of *of);
void sequence_release(struct sequence *s);

/* Number of occurrences of token x. */
static inline size_t count_of(const struct sequence *s, uint32_t x)
{
    return s->first[x + 1] - s->first[x];
}

#endif
