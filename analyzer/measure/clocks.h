/* Host samples by thread: their values are totals since the thread began, so the first and the last
 * of them say what it did with the time in between. */
#ifndef GPUPROF_MEASURE_CLOCKS_H
#define GPUPROF_MEASURE_CLOCKS_H

#include "analyzer/profile/rows.h"
#include "base/arena.h"

struct timeline;

struct thread_clocks {
    const struct row_host_sample *first, *last; /* NULL: the thread was not sampled */
};

/* By index of the thread, in the arena; NULL without memory. */
struct thread_clocks *thread_clocks(const struct timeline *t, struct arena *arena);
/* The share of the time from..to in which the thread computed, and in which it was ready to run,
 * but had no core: between the samples next to both ends. -1 = not known. */
struct clock_share {
    double computed, queued;
};
/* Of every thread, each with its own times, by index: one pass over the samples. malloc'ed; NULL
 * without memory. */
struct clock_span {
    int64_t from_ns, to_ns;
};
struct clock_share *clocks_shares(const struct timeline *t, const struct clock_span *of);
/* How much a total grew; -1 = not known. */
int64_t clocks_grown(int64_t first, int64_t last);

#endif
