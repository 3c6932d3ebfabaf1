/* Runs the passes over a timeline in the order in which each finds the results that it needs. All
 * results lie in the facts' arena; memory that only the passes need is freed here. */
#include "analyzer/facts/find/find.h"

#include <stdlib.h>

#include "analyzer/facts/allocations.h"
#include "analyzer/facts/lines/lines_parts.h"
#include "analyzer/facts/passes.h"
#include "analyzer/facts/ranks/ranks.h"
#include "analyzer/facts/steps/steps.h"

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* Computes shares of the time from the first to the last GPU activity. Exposed communication: no
 * compute kernel runs. Exposed copies: neither compute nor communication runs. */
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
    f->on_device = f->tl->op_count == 0 && cpu_trace_of_device(f->tl);
    if (steps_find(f, e) < 0)
        return -1;
    f->step_ns = f->run_ns = f->steps.recurs ? f->steps.pace_ns : f->steps.median_ns;
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
    if (rc < 0 || hardware_measure(f, e) < 0 || ranks_measure(f, e) < 0 ||
        cpu_ranks_measure(f, e) < 0 || host_measure(f, e) < 0)
        return -1;
    health_measure(f);
    graph_holes_measure(f);
    steps_explain_long(f);
    steps_explain_other(f);
    facts_check(f);
    if (allocations_measure(f) < 0)
        return err_no_memory(e);
    return lines_measure(f, e);
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
