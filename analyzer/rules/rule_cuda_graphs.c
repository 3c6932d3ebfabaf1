/* Launch-bound: the GPU runs dry because the host cannot launch small kernels fast enough. */
#include "analyzer/rules/look_comm.h"

#include <stdlib.h>

struct shape { /* of the steps, for the question whether they can be captured */
    int64_t ops_min, ops_max;
    double graph_share;
};

static struct shape step_shape(const struct analysis *a)
{
    const struct timeline *t = a->tl;
    struct shape s = {INT64_MAX, 0, 0};
    int64_t in_graph = 0, all = 0;
    int64_t *per = calloc(a->steps.count + 1, sizeof *per);
    for (uint32_t i = 0; per && i < t->op_count; i++) {
        uint32_t step = a->steps.op_step ? a->steps.op_step[i] : TL_NONE;
        if (step == TL_NONE || !a->steps.at[step].used || t->ops[i].kind != OP_KERNEL)
            continue;
        per[step]++;
        all++;
        in_graph += t->ops[i].in_graph;
    }
    for (size_t i = 0; per && i < a->steps.count; i++)
        if (a->steps.at[i].used) {
            s.ops_min = per[i] < s.ops_min ? per[i] : s.ops_min;
            s.ops_max = per[i] > s.ops_max ? per[i] : s.ops_max;
        }
    free(per);
    s.graph_share = all ? (double)in_graph / (double)all : 0;
    return s;
}

static bool allocates(const struct analysis *a)
{
    for (size_t i = 0; i < a->totals.api_count; i++)
        if ((a->totals.apis[i].kind == API_ALLOC || a->totals.apis[i].kind == API_FREE) &&
            per_step(a, a->totals.apis[i].count) >= 1)
            return true;
    return false;
}

/* Launching time that other rules explain by their own cause. */
static int64_t claimed_elsewhere(const struct analysis *a)
{
    struct look_ops ops;
    int64_t ns = 0;
    if (look_optimizer_unfused(a, &ops))
        ns += ops.idle_ns;
    if (look_zeroing_scattered(a, &ops))
        ns += ops.idle_ns;
    if (look_collectives_scattered(a, &ops))
        ns += ops.idle_ns;
    return per_step(a, ns);
}

static const char *obstacle(struct analysis *a, const struct shape *s)
{
    if (s->graph_share > 0.5)
        return "most kernels are launched by CUDA graphs already";
    if (s->ops_max > s->ops_min + s->ops_min / 50)
        return arena_printf(&a->arena,
                            "the steps differ (%lld to %lld kernels): a graph needs the same work "
                            "every step; fix the shapes first",
                            (long long)s->ops_min, (long long)s->ops_max);
    if (allocates(a))
        return "memory is allocated or freed inside the step, which cannot be captured; "
               "preallocate first";
    return NULL;
}

static void check(struct analysis *a, struct outcome *o)
{
    int64_t idle = a->breakdown_ns[PART_IDLE_LAUNCH] - claimed_elsewhere(a);
    double used = (double)(a->steps.used ? a->steps.used : 1);
    o->why = arena_printf(&a->arena, "launching leaves the GPU idle for %.3f ms per step",
                          ms(idle > 0 ? idle : 0));
    if (idle * 100 < a->steps.median_ns || a->totals.launches == 0)
        return;
    struct shape s = step_shape(a);
    const char *why_not = obstacle(a, &s);
    if (why_not) {
        o->verdict = RULE_SUPPRESSED;
        o->why = why_not;
        return;
    }
    const char *rows =
        "SELECT a.* FROM api a JOIN string s ON s.id = a.name WHERE s.text LIKE '%Launch%'";
    outcome_evidence(o, "launches per step", (double)a->totals.launches / used, "count", rows);
    outcome_evidence(o, "kernels under 10 us",
                     a->totals.kernel_count_all ? 100.0 * (double)a->totals.short_kernels /
                                                      (double)a->totals.kernel_count_all
                                                : 0,
                     "%", "SELECT * FROM kernel WHERE end_ns - start_ns < 10000");
    outcome_evidence(
        o, "GPU idle between launches per step", ms(idle), "ms",
        "SELECT * FROM gap WHERE cause = (SELECT id FROM string WHERE text = 'idle_launch')");
    o->edit.kind = EDIT_GRAPH;
    o->knob = "cuda_graph=1";
    outcome_fires(o, idle,
                  arena_printf(&a->arena,
                               "%.0f launches per step, %.0f %% of the kernels under 10 us: the "
                               "GPU waits %.1f ms per step for the next launch",
                               (double)a->totals.launches / used,
                               a->totals.kernel_count_all
                                   ? 100.0 * (double)a->totals.short_kernels /
                                         (double)a->totals.kernel_count_all
                                   : 0.0,
                               ms(idle)));
    look_gap_examples(a, o, PART_IDLE_LAUNCH, "GPU idle, next kernel not launched yet");
}

const struct rule rule_cuda_graphs = {
    .id = "cuda-graphs",
    .title = "Launch the step as a CUDA graph",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check,
    .looks_for = "GPU idle between kernels because the next launch has not come yet, many short "
                 "kernels, the same kernels every step.",
    .doc = "Each launch costs the host some microseconds; kernels shorter than that run the queue "
           "dry. A graph launches the whole step at "
           "once. A long cudaLaunchKernel with a full queue is the opposite case (the GPU is the "
           "bottleneck) and is not counted. Refused "
           "where the kernels change from step to step, memory is allocated inside, or graphs are "
           "in use.",
    .remedy = {"torch.compile(model, mode='reduce-overhead'), or "
               "torch.cuda.graphs.make_graphed_callables; a larger batch helps as well",
               "@tf.function(jit_compile=True) around the step",
               "cudaStreamBeginCapture around the step once, then cudaGraphLaunch"},
    .knob = "cuda_graph",
};
