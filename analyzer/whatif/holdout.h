/* Do the steps predict one another? */
#ifndef GPUPROF_WHATIF_HOLDOUT_H
#define GPUPROF_WHATIF_HOLDOUT_H

#include "analyzer/replay/replay.h"
#include "analyzer/whatif/whatif.h"

/* Fills w's hold-out errors; -1 % in them: no step is like the others. `now` is the replay of the
 * steps as they were, `p` and `then` are overwritten. -1: out of memory. */
int holdout_check(struct whatif *w, const struct graph *g, const struct replay *now, struct plan *p,
                  struct replay *then);

#endif
