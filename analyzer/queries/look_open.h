/* The ranges of a thread that are open at the time of its next call. */
#ifndef GPUPROF_QUERIES_LOOK_OPEN_H
#define GPUPROF_QUERIES_LOOK_OPEN_H

#include "analyzer/timeline/timeline.h"

enum { LOOK_OPEN_DEPTH = 256 }; /* what lies deeper is left out */

struct look_open {
    const struct timeline *t;
    uint32_t at[LOOK_OPEN_DEPTH], next, end; /* indices of ranges, outermost first */
    size_t n;
};

struct look_open look_open_start(const struct timeline *t, uint32_t thread);
/* Times must not go back. One pass over the thread's ranges in all. */
void look_open_until(struct look_open *o, int64_t time_ns);

#endif
