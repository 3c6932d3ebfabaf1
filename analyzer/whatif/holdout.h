/* Checks whether the steps predict one another. */
#ifndef GPUPROF_WHATIF_HOLDOUT_H
#define GPUPROF_WHATIF_HOLDOUT_H

#include "analyzer/replay/replay.h"
#include "analyzer/whatif/whatif.h"

/* Fills the hold-out errors of w in %; -1: too few steps do the same work. `now` is the replay of
 * the unchanged steps; `p` and `then` are overwritten. Returns -1 without memory. */
int holdout_check(struct whatif *w, const struct graph *g, const struct replay *now, struct plan *p,
                  struct replay *then);

#endif
