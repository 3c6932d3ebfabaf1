/* Keeps the rows of a window of time: a sink before another. Rows belong to where they start; rows
 * without a time always stay, and so do searches for an algorithm, because what they found is in
 * force for the rest of the run. */
#ifndef GPUPROF_PROFILE_KEEP_WINDOW_H
#define GPUPROF_PROFILE_KEEP_WINDOW_H

#include "analyzer/profile/rows.h"

#include <stdbool.h>

struct window {
    int64_t from_ns, to_ns; /* INT64_MIN, INT64_MAX: no limit */
    int64_t gpu_to_ns;      /* of what the GPU does: it works through what was queued until to_ns */
    int64_t first_step;     /* number of the step that begins at from_ns */
    struct sink inner;      /* window_keep's own */
};

/* The time that decides whether a row is kept. false: it always is. */
bool window_time_of(enum row_kind kind, const void *row, int64_t *ns);
/* Does it tell of the GPU's work? */
bool window_of_gpu(enum row_kind kind);

/* Writes the profile anew with only what starts in the window. The old one stays until the new one
 * is whole. */
int window_keep(const char *profile, const struct window *window, struct err *e);

#endif
