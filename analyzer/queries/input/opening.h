/* What an IterableDataset does before the first batch of each loop over its loader: it fills a buffer to
 * shuffle in, lists or opens files. Each loop calls its __iter__ anew, in kept workers as well. */
#ifndef GPUPROF_QUERIES_INPUT_OPENING_H
#define GPUPROF_QUERIES_INPUT_OPENING_H

#include "analyzer/facts/facts.h"
#include "analyzer/queries/input/feed.h"

/* A loop's wait for its first batch, and for how much of it a worker made that batch. */
struct opening_wait {
    int64_t start_ns, end_ns;
    bool used; /* in steps that count */
    double making_ns;
};

/* Batches that were mostly made in such waits. */
struct opening {
    double made, making_ns, cpus, cpu_ns; /* cpus: number of those whose CPU time is known */
    double waited_ns;                     /* sum of making_ns of the waits */
};
/* `waits` in order of time. Cost: a binary search for each batch. */
struct opening query_opening(const struct facts *facts, const struct feed *f,
                             struct opening_wait *waits, size_t n);

#endif
