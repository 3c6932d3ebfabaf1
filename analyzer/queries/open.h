/* The ranges of a thread that are open at a moving point in time. */
#ifndef GPUPROF_QUERIES_OPEN_H
#define GPUPROF_QUERIES_OPEN_H

#include "analyzer/timeline/timeline.h"

enum { QUERY_OPEN_DEPTH = 256 }; /* ranges nested deeper are left out */

struct query_open {
    const struct timeline *t;
    uint32_t at[QUERY_OPEN_DEPTH], next, end; /* at[0..n): indices of the open
                                                 ranges, outermost first */
    size_t n;
};

struct query_open query_open_start(const struct timeline *t, uint32_t thread);
/* Moves to time_ns, which must not go back. All calls together take one pass
 * over the thread's ranges. */
void query_open_until(struct query_open *o, int64_t time_ns);

#endif
