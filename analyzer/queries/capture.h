/* Could a CUDA graph launch the used steps? Do the steps repeat, and which calls interrupt their
 * launches? Cost: one pass over operations, one over calls, a sort of the launches. */
#ifndef GPUPROF_QUERIES_CAPTURE_H
#define GPUPROF_QUERIES_CAPTURE_H

#include "analyzer/queries/query.h"

struct query_capture {
    size_t steps;
    int64_t kernels_min, kernels_max;
    size_t alike;         /* steps that launch the same kernels as the most frequent kind of step */
    double graph_pct;     /* per cent of the kernels that graphs launch already */
    double region_pct;    /* per cent of the launches that lie in each step's
                             longest uninterrupted stretch */
    int64_t region;       /* number of launches in that stretch, per step */
    double pieces_pct;    /* per cent of the launches in stretches that are worth a graph each */
    int64_t pieces;       /* number of such stretches per step */
    uint32_t interrupter; /* index of a call that interrupts launches; TL_NONE: none */
};

/* -1: out of memory. */
int query_capture(const struct facts *f, struct query_capture *s);

/* Time per step in which the host launches, on any thread: launching calls and the short pauses
 * before them. Waits, collectives and other host work are not included. -1: out of memory. */
int64_t query_launching_ns(const struct facts *f);

#endif
