/* What the GPU's memory held when most of it was in use: the pieces that a framework's allocator
 * gave out, by who asked for them. Only where each piece was recorded (table `allocation`). */
#ifndef GPUPROF_FACTS_ALLOCATIONS_H
#define GPUPROF_FACTS_ALLOCATIONS_H

#include "analyzer/facts/facts.h"

enum { HOLDERS = 8 };

struct holder {
    const char *name; /* the outermost operator, or the update of the weights, in which it was asked
                         for; NULL: none was recorded */
    uint32_t line;    /* like api.line; 0 = not known */
    int64_t bytes, pieces;
};

struct allocations {
    bool whole;           /* the recording says how much is in use; false: peak_bytes lacks what was
                             given out before it and not taken back, and before_bytes is 0 */
    int64_t peak_bytes;   /* in use at the peak, the first of several */
    int64_t held_bytes;   /* what the allocator held then; -1 = not known */
    int64_t peak_ns;      /* when that was */
    uint32_t step;        /* the step of the peak, or TL_NONE */
    int64_t before_bytes; /* in use at the peak, and given out before the recording */
    size_t holder_count;  /* the largest first */
    struct holder holders[HOLDERS];
    int64_t others_bytes; /* of all other holders */
};

/* How much is in use behind each piece of the analysed device. Begin with {0}. */
struct in_use {
    int64_t sum, least;
};
/* Adds a row of the timeline. False: of another device. *bytes: in use then, or, where the recording
 * does not say it, the sum of what was given out less what was taken back. */
bool in_use_add(const struct facts *f, const struct row_allocation *r, struct in_use *u,
                int64_t *bytes);

/* Fills f->allocations, which stays NULL if no piece was recorded. Cost: a few passes over the
 * pieces. -1: out of memory. */
int allocations_measure(struct facts *f);

#endif
