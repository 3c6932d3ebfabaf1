/* The ranges of a thread that are open at the time of its next call. */
#ifndef GPUPROF_QUERIES_OPEN_H
#define GPUPROF_QUERIES_OPEN_H

#include "analyzer/timeline/timeline.h"

enum { QUERY_OPEN_DEPTH = 256 }; /* what lies deeper is left out */

struct query_open {
    const struct timeline *t;
    uint32_t at[QUERY_OPEN_DEPTH], next, end; /* indices of ranges, outermost first */
    size_t n;
};

struct query_open query_open_start(const struct timeline *t, uint32_t thread);
/* Times must not go back. One pass over the thread's ranges in all. */
void query_open_until(struct query_open *o, int64_t time_ns);

#endif
