/* One recorded step as it would be after a change: where the replay puts its events. The time axis
 * is the recorded one; the host and the GPU end the step before it at the same time as recorded.
 *
 * Operations have places of their own. The replay knows only the calls of a host thread and the
 * pauses between them; what else a thread did (ranges, library calls) keeps its place between
 * these. Cost: two replays a change, 24 bytes for each operation and call of the step. */
#ifndef GPUPROF_WHATIF_REPLAYED_H
#define GPUPROF_WHATIF_REPLAYED_H

#include "analyzer/whatif/whatif.h"

struct engine;

struct placed_op {
    uint32_t op;
    int64_t start_ns, end_ns;
};

struct moment { /* of a host thread: when it was, and when it is after the change */
    uint32_t thread;
    bool elsewhere; /* up to here, what the thread did is done by others: by workers */
    int64_t was_ns, is_ns;
};

struct replayed_step {
    uint32_t step;                     /* index of the recorded step */
    int64_t from_ns, was_ns, to_ns;    /* the step before it ends; it ended as recorded; it ends */
    int64_t pace_ns, recorded_pace_ns; /* of all replayed steps: after the change, as recorded */
    struct placed_op *ops;             /* rising by op */
    size_t op_count;
    struct moment *moments; /* by thread, then rising */
    size_t moment_count;    /* between them in proportion */
};

/* Replays `edit` with the middle of its unknowns, and fills *out with the step that is most typical
 * before and after. 1; 0: no recorded step is, or a step after the change does other work; -1: out
 * of memory. replayed_release frees what is in *out, also after 0 and -1. */
int engine_replayed(struct engine *x, const struct edit *edit, struct replayed_step *out);
void replayed_release(struct replayed_step *r);

/* Where an operation is, or false: not in this step any more. */
bool replayed_op(const struct replayed_step *r, uint32_t op, int64_t *start_ns, int64_t *end_ns);

#endif
