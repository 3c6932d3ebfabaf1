/* What a process launched, as a sequence of tokens in launch order: equal operations, equal tokens.
 * Cost: O(n log n). Memory: 24 bytes an operation. */
#ifndef GPUPROF_MEASURE_SEQUENCE_H
#define GPUPROF_MEASURE_SEQUENCE_H

#include "analyzer/timeline/timeline.h"

struct sequence {
    uint32_t *token; /* in launch order, dense ids */
    int64_t *time;   /* host time of the launch */
    size_t n;
    uint32_t tokens;
    uint32_t *first, *position; /* positions of token x: position[first[x] .. first[x + 1]) */
};

/* names_only: shapes do not tell operations apart. -1: out of memory; release all the same. */
int sequence_build(struct sequence *s, const struct timeline *t, uint32_t process, bool names_only);
void sequence_release(struct sequence *s);

static inline size_t count_of(const struct sequence *s, uint32_t x)
{
    return s->first[x + 1] - s->first[x];
}

#endif
