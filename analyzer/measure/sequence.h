/* What a process launched, as a sequence of tokens in launch order: equal operations, equal tokens.
 * Cost: O(n log n). Memory: 32 bytes an operation. */
#ifndef GPUPROF_MEASURE_SEQUENCE_H
#define GPUPROF_MEASURE_SEQUENCE_H

#include "analyzer/timeline/timeline.h"

enum token_role { /* what an operation says of the step around it */
                  ROLE_WORK,
                  ROLE_MOVE,    /* sets or copies memory of the GPU: alone no step */
                  ROLE_PRODUCT, /* of matrices: a network's layers are made of them */
                  ROLE_NORM,    /* a normalisation or a softmax, as between them */
                  ROLE_COPY,    /* between host and GPU: a batch comes, a loss goes */
                  ROLE_UPDATE   /* of the parameters: an optimizer's kernel */
};

struct sequence {
    uint32_t *token; /* in launch order, dense ids */
    int64_t *time;   /* host time of the launch */
    int64_t *gpu_ns; /* what it took on the GPU, 0 = not recorded */
    size_t n;
    uint8_t *role; /* of each token */
    uint32_t tokens;
    uint32_t update; /* token of the operation behind an update of the parameters, in place of its
                        own; TL_NONE where no optimizer's kernel is known by its name */
    uint32_t *first, *position; /* positions of token x: position[first[x] .. first[x + 1]) */
};

struct sequence_of {
    uint32_t process;
    uint32_t device; /* TL_NONE: all of them */
    bool names_only; /* shapes do not tell operations apart */
};

/* -1: out of memory; release all the same. */
int sequence_build(struct sequence *s, const struct timeline *t, const struct sequence_of *of);
void sequence_release(struct sequence *s);

static inline size_t count_of(const struct sequence *s, uint32_t x)
{
    return s->first[x + 1] - s->first[x];
}

#endif
