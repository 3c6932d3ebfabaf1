/* Computes the pace of the steps from when each of them ended in the replay (step_end). */
#ifndef GPUPROF_REPLAY_REPLAY_PACE_H
#define GPUPROF_REPLAY_REPLAY_PACE_H

#include "analyzer/replay/replay.h"

/* Fills length_ns, step_ns and pace_ns. */
void replay_pace(struct replay *r, const struct graph *g);

#endif
