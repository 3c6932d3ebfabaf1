/* Names of the parts of a step, and queries on complete facts. */
#include "analyzer/facts/facts.h"

#include <stdlib.h>

/* X(PART, KEY, GROUP, WHAT): the title is GROUP and WHAT. */
#define IDLE "GPU idle: "
#define PARTS(X)                                                                                   \
    X(PART_COMPUTE, "compute", "", "compute")                                                      \
    X(PART_COMM, "comm_exposed", "", "communication, not overlapped")                              \
    X(PART_COPY, "copy_exposed", "", "copies, not overlapped")                                     \
    X(PART_IDLE_INPUT, "idle_input", IDLE, "waiting for input data")                               \
    X(PART_IDLE_COPY, "idle_copy", IDLE, "host blocked in a copy")                                 \
    X(PART_IDLE_SYNC, "idle_sync", IDLE, "after a synchronisation")                                \
    X(PART_IDLE_LAUNCH, "idle_launch", IDLE, "launches too slow")                                  \
    X(PART_IDLE_ALLOC, "idle_alloc", IDLE, "allocating or freeing")                                \
    X(PART_IDLE_HOST, "idle_host", IDLE, "other host work")                                        \
    X(PART_IDLE_QUEUED, "idle_queued", IDLE, "between queued kernels")                             \
    X(PART_UNEXPLAINED, "unexplained", IDLE, "unexplained")                                        \
    X(PART_DATA, "data", "", "waiting for data")                                                   \
    X(PART_COLLATE, "collate", "", "collating batches")                                            \
    X(PART_WORKERS, "worker_start", "", "starting workers of a loader")                            \
    X(PART_FORWARD, "forward", "", "forward and loss")                                             \
    X(PART_BACKWARD, "backward", "", "backward")                                                   \
    X(PART_OPTIMIZER, "optimizer", "", "optimizer")                                                \
    X(PART_GC, "gc", "", "garbage collection")                                                     \
    X(PART_VALIDATION, "validation", "", "validation")                                             \
    X(PART_EXCHANGE, "exchange", "", "exchange with other ranks")                                  \
    X(PART_OTHER, "other", "", "other work of the program")

#define KEY(part, key, group, what)   [part] = key,
#define TITLE(part, key, group, what) [part] = group what,
#define WHAT(part, key, group, what)  [part] = what,
const char *const part_key[PART_COUNT] = {PARTS(KEY)};
const char *const part_title[PART_COUNT] = {PARTS(TITLE)};
const char *const part_what[PART_COUNT] = {PARTS(WHAT)};

uint32_t facts_step_at(const struct facts *f, int64_t ns)
{
    const struct steps *s = &f->steps;
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->at[mid].end_ns <= ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->count && s->at[low].start_ns <= ns ? (uint32_t)low : TL_NONE;
}

void facts_free(struct facts *f)
{
    if (!f)
        return;
    arena_release(&f->arena);
    free(f->gaps);
    free(f->gap_shares);
    free(f);
}
