/* Text generation: one token after the other, as Transformers' generate() does. Recognised by the
 * hook's range "transformers.generate", or by that function in recorded stacks. Cost: one pass over
 * the training thread's ranges, its calls and the gaps. */
#ifndef GPUPROF_QUERIES_TRAINING_GENERATION_H
#define GPUPROF_QUERIES_TRAINING_GENERATION_H

#include "analyzer/facts/facts.h"

/* Sums over the used steps. */
struct query_generation {
    int64_t calls;        /* calls of generate() */
    int64_t ns;           /* time of the training thread in them */
    int64_t launches;     /* launches in them */
    int64_t idle_ns;      /* time in them that the GPU waits for launches or other host work */
    uint32_t longest;     /* index of the longest such range, or TL_NONE */
    bool cached;          /* the program uses a cache implementation of its own choice */
    int64_t *host_of_gap; /* for each of f->gaps: the share of idle_ns that is other host work */
};
/* -1: out of memory. */
int query_generation(const struct facts *f, struct arena *arena, struct query_generation *g);
/* True if generation takes enough time for a finding of its own. */
bool query_generates(const struct facts *f, const struct query_generation *g);

/* SQL query that lists these calls in the profile. */
extern const char query_generation_sql[];

#endif
