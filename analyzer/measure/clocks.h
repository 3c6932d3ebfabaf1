/* Host samples by thread. Their values are totals since the thread began, so the difference between
 * two samples shows how the thread spent the time between them. */
#ifndef GPUPROF_MEASURE_CLOCKS_H
#define GPUPROF_MEASURE_CLOCKS_H

#include "analyzer/profile/rows.h"
#include "base/arena.h"

struct timeline;

struct thread_clocks {
    const struct row_host_sample *first, *last; /* NULL: the thread was not sampled */
};

/* Returns an array by thread index, in the arena; NULL without memory. */
struct thread_clocks *thread_clocks(const struct timeline *t, struct arena *arena);
/* Shares of the time from..to: the thread computed; it was ready to run but had no core. They are
 * measured between the samples next to both ends. -1 = not known. */
struct clock_share {
    double computed, queued;
};
/* Returns these shares for every thread, each for its own time, by thread index, in one pass over
 * the samples. The caller frees the array. NULL without memory. */
struct clock_span {
    int64_t from_ns, to_ns;
};
struct clock_share *clocks_shares(const struct timeline *t, const struct clock_span *of);
/* Returns by how much a total grew; -1 = not known. */
int64_t clocks_grown(int64_t first, int64_t last);

#endif
