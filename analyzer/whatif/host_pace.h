/* How much the host's own pace varies, within the recording and from run to run. (One recording
 * does not show how other runs differ; limits.def has what reruns showed.) While the GPU limits the
 * step, the host's pace does not matter. If a change makes the host the limit, the step takes as
 * long as the host does in that run. */
#ifndef GPUPROF_WHATIF_HOST_PACE_H
#define GPUPROF_WHATIF_HOST_PACE_H

#include "analyzer/replay/replay.h"

/* Host work of four consecutive steps, relative to the median: the fastest and the slowest tenth.
 * 1, 1 if too few steps were recorded. */
struct host_pace {
    double fast, slow;
};

struct host_pace host_pace_of(const struct graph *g);
/* Scales all host work to that of the steps at quantile `u`: 0.1 the fastest tenth, 0.5 the median,
 * 0.9 the slowest tenth. */
void host_pace_apply(const struct host_pace *h, const struct graph *g, struct plan *p, double u);

/* Scales host work to that of another run at quantile `u`, at the same pace in all steps. */
void host_pace_of_run(const struct graph *g, struct plan *p, double u);

/* host_pace_stacked returns how many calls PyTorch's profiler recorded with stacks in each host
 * task, or NULL if it recorded no stacks or memory is short; `arena` owns the array.
 * host_pace_unstack shortens the host's tasks by the cost of these records, between the least (u =
 * 0) and the most (u = 1) that one record costs. */
float *host_pace_stacked(const struct graph *g, struct arena *arena);
void host_pace_unstack(const float *calls, const struct graph *g, struct plan *p, double u);

#endif
