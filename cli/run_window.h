/* Keeps the rows of a stretch of time: a sink before another. Rows belong to where they start; rows
 * without a time always stay, and so do searches for an algorithm, because what they found is in
 * force for the rest of the run. */
#ifndef GPUPROF_CLI_RUN_WINDOW_H
#define GPUPROF_CLI_RUN_WINDOW_H

#include "analyzer/store/rows.h"

#include <stdbool.h>

struct window {
    struct sink inner;
    int64_t from_ns, to_ns; /* INT64_MIN, INT64_MAX: no limit */
    int offset[ROW_KINDS];  /* of the time in a row, -1 = it has none */
};

/* The sink lives as long as *w stays in its place. */
struct sink window_sink(struct window *w, struct sink inner, int64_t from_ns, int64_t to_ns);

/* Writes the profile anew with only what starts in [from_ns, to_ns). The old one stays until the
 * new one is whole. */
int window_keep(const char *profile, int64_t from_ns, int64_t to_ns, struct err *e);

/* "A:B", "A:", ":B": steps counted from 1. -1 with *e set. */
int window_parse_steps(const char *text, int64_t *first, int64_t *last, struct err *e);

#endif
