/* One recorded step as it would be after a change: where the replay puts its events. The time axis
 * is that of the recording; the step before ends at its recorded time on the host and on the GPU.
 *
 * Each operation has its own place. Of a host thread the replay moves only calls and the pauses
 * between them; everything else that the thread did (ranges, library calls) keeps its relative
 * place between these. Cost: two replays per change, 24 bytes for each operation and call of the
 * step. */
#ifndef GPUPROF_WHATIF_REPLAYED_H
#define GPUPROF_WHATIF_REPLAYED_H

#include "analyzer/whatif/whatif.h"

struct engine;

struct placed_op {
    uint32_t op;
    int64_t start_ns, end_ns;
};

/* A moment of a host thread: when it was recorded, and when it is after the change. */
struct moment {
    uint32_t thread;
    bool elsewhere; /* up to here, workers do what the thread did */
    int64_t was_ns, is_ns;
};

struct replayed_step {
    uint32_t step; /* index of the recorded step */
    /* from: end of the step before. was: recorded end of this step. to: its end after the
     * change. */
    int64_t from_ns, was_ns, to_ns;
    int64_t pace_ns, recorded_pace_ns; /* pace of all replayed steps: changed, unchanged */
    struct placed_op *ops;             /* sorted by op */
    size_t op_count;
    struct moment *moments; /* sorted by thread, then by was_ns */
    /* A time between two moments lies in proportion between them. */
    size_t moment_count;
};

/* Replays `edit` with the middle of its parameters and fills *out with the step that is most
 * typical before and after. Returns 1; 0 if no recorded step is typical, or if a step does more
 * work after the change; -1 without memory. replayed_release frees *out, also after 0 and -1. */
int engine_replayed(struct engine *x, const struct edit *edit, struct replayed_step *out);
void replayed_release(struct replayed_step *r);

/* Finds where an operation is after the change. Returns false if this step has it no more. */
bool replayed_op(const struct replayed_step *r, uint32_t op, int64_t *start_ns, int64_t *end_ns);

#endif
