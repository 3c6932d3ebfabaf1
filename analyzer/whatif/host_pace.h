/* How much the host's own pace varies: within the recording, and from one run to another, which no
 * recording shows. While the GPU sets the pace nobody sees it; after a change that leaves the host
 * as the limit, the step takes what the host takes in that run. */
#ifndef GPUPROF_WHATIF_HOST_PACE_H
#define GPUPROF_WHATIF_HOST_PACE_H

#include "analyzer/replay/replay.h"

struct host_pace { /* host work of a few steps in a row, as a share of the usual: the fast and the
                      slow tenth of them; 1, 1 where too few were recorded */
    double fast, slow;
};

struct host_pace host_pace_of(const struct graph *g);
/* All work of the host takes as long as in the steps at `u`: 0.1 the fast tenth, 0.5 the usual
 * ones, 0.9 the slow tenth. */
void host_pace_apply(const struct host_pace *h, const struct graph *g, struct plan *p, double u);

/* The same in another run, within which the pace is steady. */
void host_pace_of_run(const struct graph *g, struct plan *p, double u);

/* How many calls PyTorch's profiler recorded in each task of the host, with the stack of each; NULL:
 * it kept none. Without it the host has as much less to do, between the least (u = 0) and the most
 * that such a call may cost. */
float *host_pace_stacked(const struct graph *g, struct arena *arena);
void host_pace_unstack(const float *calls, const struct graph *g, struct plan *p, double u);

#endif
