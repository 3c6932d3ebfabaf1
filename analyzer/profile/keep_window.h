/* Keeps the rows within a window of time: a sink in front of another. A row belongs where it
 * starts. Rows without a time always stay; so do searches for an algorithm, because their result is
 * used for the rest of the run. */
#ifndef GPUPROF_PROFILE_KEEP_WINDOW_H
#define GPUPROF_PROFILE_KEEP_WINDOW_H

#include "analyzer/profile/rows.h"

#include <stdbool.h>

struct window {
    int64_t from_ns, to_ns; /* INT64_MIN, INT64_MAX: no limit */
    int64_t gpu_to_ns;      /* end for rows of the GPU, which still works through what
                               was queued until to_ns */
    int64_t first_step;     /* number of the step that begins at from_ns */
    struct sink inner;      /* set by window_keep */
};

/* *ns: the time that decides whether a row is kept. False: the row is always kept. */
bool window_time_of(enum row_kind kind, const void *row, int64_t *ns);
/* True for rows that describe GPU work. */
bool window_of_gpu(enum row_kind kind);

/* Rewrites the profile with only the rows that start in the window. The old file stays until the
 * new one is complete. -1 with *e set. */
int window_keep(const char *profile, const struct window *window, struct err *e);

#endif
