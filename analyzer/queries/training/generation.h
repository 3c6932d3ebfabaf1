/* Text that the program generates: one token after the other, as Transformers' generate() does.
 * Told by the range "transformers.generate" of the Python hook, or by that function in recorded
 * stacks. Cost: one pass over the training thread's ranges, its calls and the gaps. */
#ifndef GPUPROF_QUERIES_TRAINING_GENERATION_H
#define GPUPROF_QUERIES_TRAINING_GENERATION_H

#include "analyzer/facts/facts.h"

/* Over the used steps. */
struct query_generation {
    int64_t calls;        /* of generate() */
    int64_t ns;           /* the thread in them */
    int64_t launches;     /* in them */
    int64_t idle_ns;      /* the GPU waits for the host meanwhile: for launches, and other work */
    uint32_t longest;     /* range index, TL_NONE */
    bool cached;          /* in a cache of fixed size */
    int64_t *host_of_gap; /* of each of f->gaps: its part of idle_ns that is other work */
};
/* -1: out of memory. */
int query_generation(const struct facts *f, struct arena *arena, struct query_generation *g);
/* It is worth a finding of its own. */
bool query_generates(const struct facts *f, const struct query_generation *g);

/* A query that lists the calls in the profile. */
extern const char query_generation_sql[];

#endif
