/* Could a CUDA graph launch the used steps: do they repeat, and what interrupts their launches?
 * Cost: one pass over operations, one over calls, a sort of the launches. */
#ifndef GPUPROF_QUERIES_CAPTURE_H
#define GPUPROF_QUERIES_CAPTURE_H

#include "analyzer/queries/query.h"

struct query_capture {
    size_t steps;
    int64_t kernels_min, kernels_max;
    size_t alike;         /* steps that launch exactly what the most usual step launches */
    double graph_pct;     /* of the kernels: launched by graphs already */
    double region_pct;    /* of the launches: in the longest stretch that nothing interrupts */
    int64_t region;       /* per step: launches in that stretch */
    uint32_t interrupter; /* index of a call that ends such stretches, TL_NONE */
};

/* -1: out of memory. */
int query_capture(const struct facts *f, struct query_capture *s);

/* What the host does per step to launch, on whichever thread: the calls and its way from one to the
 * next, but for waits, exchanges and work of its own. -1: out of memory. */
int64_t query_launching_ns(const struct facts *f);

#endif
