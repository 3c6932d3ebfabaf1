/* Drives the passes. Every result lies in the facts' arena; what only passes need is freed here.
 */
#include "analyzer/facts/passes.h"

#include <stdlib.h>

const char *const part_key[PART_COUNT] = {
    [PART_COMPUTE] = "compute",
    [PART_COMM] = "comm_exposed",
    [PART_COPY] = "copy_exposed",
    [PART_IDLE_INPUT] = "idle_input",
    [PART_IDLE_COPY] = "idle_copy",
    [PART_IDLE_SYNC] = "idle_sync",
    [PART_IDLE_LAUNCH] = "idle_launch",
    [PART_IDLE_ALLOC] = "idle_alloc",
    [PART_IDLE_HOST] = "idle_host",
    [PART_IDLE_QUEUED] = "idle_queued",
    [PART_UNEXPLAINED] = "unexplained",
    [PART_DATA] = "data",
    [PART_COLLATE] = "collate",
    [PART_WORKERS] = "worker_start",
    [PART_FORWARD] = "forward",
    [PART_BACKWARD] = "backward",
    [PART_OPTIMIZER] = "optimizer",
    [PART_GC] = "gc",
    [PART_VALIDATION] = "validation",
    [PART_EXCHANGE] = "exchange",
    [PART_OTHER] = "other",
};

const char *const part_title[PART_COUNT] = {
    [PART_COMPUTE] = "compute",
    [PART_COMM] = "communication, not overlapped",
    [PART_COPY] = "copies, not overlapped",
    [PART_IDLE_INPUT] = "GPU idle: waiting for input data",
    [PART_IDLE_COPY] = "GPU idle: host blocked in a copy",
    [PART_IDLE_SYNC] = "GPU idle: after a synchronisation",
    [PART_IDLE_LAUNCH] = "GPU idle: launches too slow",
    [PART_IDLE_ALLOC] = "GPU idle: allocating or freeing",
    [PART_IDLE_HOST] = "GPU idle: other host work",
    [PART_IDLE_QUEUED] = "GPU idle: between queued kernels",
    [PART_UNEXPLAINED] = "GPU idle: unexplained",
    [PART_DATA] = "waiting for data",
    [PART_COLLATE] = "collating batches",
    [PART_WORKERS] = "starting workers of a loader",
    [PART_FORWARD] = "forward and loss",
    [PART_BACKWARD] = "backward",
    [PART_OPTIMIZER] = "optimizer",
    [PART_GC] = "garbage collection",
    [PART_VALIDATION] = "validation",
    [PART_EXCHANGE] = "exchange with other ranks",
    [PART_OTHER] = "other work of the program",
};

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
