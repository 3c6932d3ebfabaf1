/* Drives the passes. Every result lies in the facts' arena; what only passes need is freed here.
 */
#include "analyzer/facts/passes.h"

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

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* Shares of the window from first to last GPU activity. Exposed: while nothing ranked above runs.
 */
static void gpu_measure(struct facts *f, const struct activity *act)
{
    int64_t window = recorded_known_ns(f, act->start_ns, act->end_ns);
    int64_t busy = recorded_covered_ns(f, &act->busy);
    int64_t compute = recorded_covered_ns(f, &act->compute);
    int64_t comm = recorded_covered_ns(f, &act->comm), copy = recorded_covered_ns(f, &act->copy);
    int64_t hidden_comm = 0;
    for (size_t i = 0; i < act->comm.n; i++)
        hidden_comm +=
            spans_covered(&act->compute, act->comm.at[i].start_ns, act->comm.at[i].end_ns);
    hidden_comm = hidden_comm < comm ? hidden_comm : comm;
    int64_t hidden_copy = compute + comm - hidden_comm + copy - busy;
    f->gpu = (struct gpu_facts){
        .busy_pct = percent(busy, window),
        .compute_pct = percent(compute, window),
        .comm_pct = percent(comm, window),
        .comm_exposed_pct = percent(comm - hidden_comm, window),
        .copy_pct = percent(copy, window),
        .copy_exposed_pct = percent(copy - hidden_copy, window),
        .window_ns = window,
    };
}

static int run_passes(struct facts *f, struct err *e)
{
    struct activity act;
    f->on_cpu = cpu_is_all(f->tl);
    if (steps_find(f, e) < 0)
        return -1;
    f->step_ns = f->steps.recurs ? f->steps.pace_ns : f->steps.median_ns;
    for (size_t i = 0; i < f->steps.count; i++)
        f->used_ns += f->steps.at[i].used ? f->steps.at[i].to_ns - f->steps.at[i].from_ns : 0;
    if (f->steps.device < f->tl->device_count)
        f->device = &f->tl->devices[f->steps.device];
    int rc = activity_build(&act, f->tl, f->steps.device);
    if (rc < 0) {
        err_no_memory(e);
    } else {
        gpu_measure(f, &act);
        rc = gaps_find(f, &act, e);
        if (rc == 0)
            rc = totals_sum(f, &act, e);
    }
    activity_release(&act);
    if (rc < 0 || ranks_measure(f, e) < 0 || cpu_ranks_measure(f, e) < 0 || host_measure(f, e) < 0)
        return -1;
    health_measure(f);
    graph_holes_measure(f);
    steps_explain_long(f);
    steps_explain_other(f);
    facts_check(f);
    return 0;
}

struct facts *facts_find(const struct timeline *t, struct err *e)
{
    struct facts *f = calloc(1, sizeof *f);
    if (!f) {
        err_no_memory(e);
        return NULL;
    }
    f->tl = t;
    if (run_passes(f, e) < 0) {
        facts_free(f);
        return NULL;
    }
    return f;
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
