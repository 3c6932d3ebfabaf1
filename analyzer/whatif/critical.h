/* The critical path: the chain of tasks that sets the length of a step, and what the GPU waits for
 * while it is idle. */
#ifndef GPUPROF_WHATIF_CRITICAL_H
#define GPUPROF_WHATIF_CRITICAL_H

#include "analyzer/replay/replay.h"
#include "analyzer/whatif/whatif.h"

/* Fills the path and idle times of w from `now`, the replay of the unchanged steps. Returns -1
 * without memory. */
int critical_find(struct whatif *w, const struct graph *g, const struct replay *now);
/* Fills worth_ns of each class: what a step saves if all work of the class takes no time. It
 * overwrites `p` and `then`. */
void critical_worth(struct whatif *w, const struct graph *g, const struct replay *now,
                    struct plan *p, struct replay *then);

#endif
