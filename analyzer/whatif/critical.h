/* The chain of tasks that sets the pace, and what the GPU waited for. */
#ifndef GPUPROF_WHATIF_CRITICAL_H
#define GPUPROF_WHATIF_CRITICAL_H

#include "analyzer/replay/replay.h"
#include "analyzer/whatif/whatif.h"

/* Fills w's path and idle times from `now`, the replay of the steps as they were. -1: out of
 * memory. */
int critical_find(struct whatif *w, const struct graph *g, const struct replay *now);
/* What a step would save if all of a class took no time; `p` and `then` are overwritten. */
void critical_worth(struct whatif *w, const struct graph *g, const struct replay *now,
                    struct plan *p, struct replay *then);

#endif
