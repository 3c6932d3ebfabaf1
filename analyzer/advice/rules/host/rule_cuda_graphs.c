/* Launch-bound: the GPU runs dry because the host cannot launch small kernels fast enough. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/once.h"
#include "analyzer/queries/ranks/comm.h"
#include "analyzer/queries/waits.h"

#include <stdlib.h>

enum { SAME_STEPS_PCT = 75, REGION_PCT = 50 };

struct shape { /* of the used steps, for the question whether they can be captured */
    size_t steps;
    int64_t kernels_min, kernels_max;
    size_t alike;         /* steps that launch exactly what the most usual step launches */
    double graph_pct;     /* of the kernels: launched by graphs already */
    double region_pct;    /* of the launches: in the longest stretch that nothing interrupts */
    uint32_t interrupter; /* index of a call that ends such stretches, TL_NONE */
};

/* ---- do the steps repeat? ---- */

struct content {
    int64_t kernels, in_graph;
    uint64_t sum; /* of what is launched, whatever the order */
};

static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int by_sum(const void *x, const void *y)
{
    const struct content *a = x, *b = y;
    return (a->sum > b->sum) - (a->sum < b->sum);
}

static int compare_contents(const struct facts *f, struct shape *s)
{
    const struct timeline *t = f->tl;
    struct content *c = calloc(f->steps.count + 1, sizeof *c);
    int64_t all = 0, in_graph = 0;
    if (!c)
        return -1;
    for (uint32_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (o->kind != OP_KERNEL || !query_used(f, i))
            continue;
        struct content *k = &c[f->steps.op_step[i]];
        k->kernels++;
        k->in_graph += o->in_graph != GRAPH_NONE;
        k->sum += mix(mix((uint64_t)o->full_name << 32 | o->grid[0]) + o->grid[1]);
    }
    for (size_t i = 0; i < f->steps.count; i++) {
        if (!f->steps.at[i].used)
            continue;
        s->kernels_min = c[i].kernels < s->kernels_min ? c[i].kernels : s->kernels_min;
        s->kernels_max = c[i].kernels > s->kernels_max ? c[i].kernels : s->kernels_max;
        all += c[i].kernels;
        in_graph += c[i].in_graph;
        c[s->steps++] = c[i];
    }
    qsort(c, s->steps, sizeof *c, by_sum);
    for (size_t i = 0, j; i < s->steps; i = j) {
        for (j = i; j < s->steps && c[j].sum == c[i].sum; j++)
            ;
        s->alike = j - i > s->alike ? j - i : s->alike;
    }
    s->graph_pct = all ? 100.0 * (double)in_graph / (double)all : 0;
    free(c);
    return 0;
}

/* ---- can a step be captured? ---- */

struct mark { /* a launch, or a call that no capture survives */
    int64_t ns;
    uint32_t step, api;
    bool stops;
};

static int by_time(const void *x, const void *y)
{
    const struct mark *a = x, *b = y;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

static size_t collect_marks(const struct facts *f, struct mark *m)
{
    const struct timeline *t = f->tl;
    size_t n = 0;
    for (uint32_t i = 0; i < t->api_count; i++) {
        const struct api *c = &t->apis[i];
        bool launch = c->op != TL_NONE && t->ops[c->op].kind == OP_KERNEL;
        bool stops = query_stops_capture(t, c);
        if ((!launch && !stops) || t->threads[c->thread].process != f->steps.process)
            continue;
        uint32_t step = query_step_at(f, c->start_ns);
        if (step != TL_NONE)
            m[n++] = (struct mark){c->start_ns, step, i, stops};
    }
    return n;
}

/* Launches in each step's longest uninterrupted stretch, over all launches. */
static int measure_regions(const struct facts *f, struct shape *s)
{
    struct mark *m = malloc((f->tl->api_count + 1) * sizeof *m);
    if (!m)
        return -1;
    size_t n = collect_marks(f, m), all = 0, covered = 0, best = 0, run = 0;
    qsort(m, n, sizeof *m, by_time);
    for (size_t i = 0; i < n; i++) {
        if (i && m[i].step != m[i - 1].step) {
            covered += best;
            best = run = 0;
        }
        if (m[i].stops) {
            bool amid = run && i + 1 < n && m[i + 1].step == m[i].step;
            if (amid && s->interrupter == TL_NONE)
                s->interrupter = m[i].api;
            run = 0;
            continue;
        }
        all++;
        run++;
        best = run > best ? run : best;
    }
    covered += best;
    s->region_pct = all ? 100.0 * (double)covered / (double)all : 100;
    free(m);
    return 0;
}

/* ---- the rule ---- */

/* Launching time that other rules explain by their own cause. */
static int64_t claimed_elsewhere(const struct facts *f)
{
    struct query_ops ops;
    int64_t ns = 0;
    if (query_optimizer_unfused(f, &ops))
        ns += ops.idle_ns;
    if (query_zeroing_scattered(f, &ops))
        ns += ops.idle_ns;
    if (query_collectives_scattered(f, &ops))
        ns += ops.idle_ns;
    return per_step(f, ns);
}

/* Why fewer launches would not help; NULL when they would. */
static const char *no_use(const struct facts *f, struct arena *arena, const struct shape *s)
{
    if (query_is_platform(f, "xpu"))
        return "this GPU's runtime has no CUDA graphs: torch.compile and larger batches reduce the "
               "launches";
    if (s->graph_pct > 50)
        return "CUDA graphs already launch most kernels";
    if (query_captures_seen(f))
        return "the program captures CUDA graphs in this recording: record later, when it launches "
               "them";
    if (query_launches(f).block)
        return "every launch waits for its kernel, as with CUDA_LAUNCH_BLOCKING=1: switch that off "
               "first";
    if (query_crowded_out(f))
        return arena_printf(arena,
                            "the training thread was ready to launch but had no core for %s "
                            "per step: other programs, or too many threads, take the cores",
                            time_text(arena, f->host.starved_ns));
    return NULL;
}

/* Why one graph cannot hold a step; NULL when it can. */
static const char *obstacle(const struct facts *f, struct arena *arena, const struct shape *s)
{
    if (query_replicated(f, arena))
        return "one process drives several GPUs in turn, which no graph can contain: see "
               "dp-instead-of-ddp";
    if (s->kernels_max > s->kernels_min + s->kernels_min / 50)
        return arena_printf(arena,
                            "the steps differ (%lld to %lld kernels), and a graph needs the same "
                            "work in every step: fix the shapes first",
                            (long long)s->kernels_min, (long long)s->kernels_max);
    if (s->alike * 100 < s->steps * SAME_STEPS_PCT)
        return arena_printf(
            arena,
            "the steps differ (only %zu of %zu launch the same kernels on the same grids), and a "
            "graph needs the same work in every step: fix the shapes first",
            s->alike, s->steps);
    if (s->region_pct < REGION_PCT && s->interrupter != TL_NONE)
        return arena_printf(
            arena,
            "%s occurs between the launches, and a graph cannot capture it: the longest part "
            "without such a call has %.0f %% of the launches; move the call out first",
            tl_text(f->tl, f->tl->apis[s->interrupter].name), s->region_pct);
    return NULL;
}

static void add_evidence(const struct facts *f, struct outcome *o, const struct shape *s,
                         int64_t idle, double short_pct)
{
    outcome_evidence(
        o, "launches per step", (double)f->totals.launches / (double)s->steps, "count",
        "SELECT a.* FROM api a JOIN string s ON s.id = a.name WHERE s.text LIKE '%Launch%'");
    outcome_evidence(o, "kernels under 10 us", short_pct, "%",
                     "SELECT * FROM kernel WHERE end_ns - start_ns < 10000");
    outcome_evidence_idle(o, f,
                          idle < f->breakdown_ns[PART_IDLE_LAUNCH]
                              ? "GPU idle between launches per step, less what other rules count"
                              : "GPU idle between launches per step",
                          ms(idle), PART_IDLE_LAUNCH);
    if (s->steps > 1)
        outcome_evidence(o, "steps that launch the same",
                         100.0 * (double)s->alike / (double)s->steps, "%", NULL);
    outcome_evidence(o, "launches that one capture can contain", s->region_pct, "%", NULL);
}

/* Weights that do not stay in place: fewer launches help, but nobody knows how few. */
static void spare_shards(const struct facts *f, struct outcome *o)
{
    if (!timeline_meta(f->tl, "torch.fsdp"))
        return;
    o->edit.best_case = true;
    o->remedy = (struct remedy){
        "FSDP gathers and frees weights in each step, so one graph of the step does not fit: "
        "torch.compile(block) for each block before it is sharded, or a larger batch",
        o->rule->remedy.tensorflow, o->rule->remedy.cuda};
}

/* Nobody knows what of a window comes again; and what no graph can hold is between its launches. */
static const struct remedy
    fewer = {"torch.compile(model), fused operations, or a larger batch",
             "@tf.function(jit_compile=True), in JAX jax.jit",
             "fewer, larger kernels, with more work in each"},
    fewer_or_graph = {"torch.compile(model) and fused operations, or a larger batch; what "
                      "repeats with the same shapes: mode='reduce-overhead'",
                      "@tf.function(jit_compile=True), in JAX jax.jit, around what repeats",
                      "fewer, larger kernels; what repeats: cudaStreamBeginCapture once, "
                      "then cudaGraphLaunch"};

/* Of a window with so few, chance says as much. */
enum { WINDOW_LAUNCHES = 20 };

static void check_cuda_graphs(const struct facts *f, struct arena *arena, struct outcome *o)
{
    int64_t idle = f->breakdown_ns[PART_IDLE_LAUNCH] - claimed_elsewhere(f);
    int64_t least = analysis_of_window(f) ? WINDOW_LAUNCHES : 1;
    struct shape s = {.kernels_min = INT64_MAX, .interrupter = TL_NONE};
    o->why = arena_printf(arena, "launching leaves the GPU idle for %.3f ms per step",
                          ms(idle > 0 ? idle : 0));
    if (idle * 100 < f->step_ns || f->totals.launches < least)
        return;
    if (compare_contents(f, &s) < 0 || measure_regions(f, &s) < 0 || s.steps == 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "out of memory";
        return;
    }
    const char *why_not = no_use(f, arena, &s);
    if (!why_not && !analysis_of_window(f))
        why_not = obstacle(f, arena, &s);
    if (why_not) {
        o->verdict = RULE_SUPPRESSED;
        o->why = why_not;
        return;
    }
    double short_pct = f->totals.kernel_count_all ? 100.0 * (double)f->totals.short_kernels /
                                                        (double)f->totals.kernel_count_all
                                                  : 0;
    add_evidence(f, o, &s, idle, short_pct);
    o->error_class = query_short_of_cpu(f) ? ERROR_RERUN_DECIDES : ERROR_STRUCTURAL;
    o->edit.kind = EDIT_GRAPH;
    spare_shards(f, o);
    if (analysis_of_window(f))
        o->remedy = s.region_pct < REGION_PCT ? fewer : fewer_or_graph;
    o->most_ns = f->breakdown_ns[PART_IDLE_LAUNCH] + f->breakdown_ns[PART_IDLE_HOST] +
                 f->breakdown_ns[PART_IDLE_QUEUED];
    o->setting = "cuda_graph=1";
    outcome_fires(o, idle,
                  arena_printf(arena,
                               "%.0f launches per step, %.0f %% of the kernels under 10 us: the "
                               "GPU waits %s per step for the next launch%s",
                               (double)f->totals.launches / (double)s.steps, short_pct,
                               time_text(arena, idle),
                               s.steps < 2 && !analysis_of_window(f)
                                   ? "; the recording contains only one step, so "
                                     "check that every step launches the same kernels"
                                   : ""));
    outcome_example_gaps(o, f, PART_IDLE_LAUNCH, "GPU idle, next kernel not launched yet");
}

const struct rule rule_cuda_graphs = {
    .id = "cuda-graphs",
    .title = "Launch the step as a CUDA graph",
    .window_title = "Launch fewer kernels, or many at once",
    .in_window = true,
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_cuda_graphs,
    .looks_for = "A GPU that idles between kernels because the next launch has not arrived yet; "
                 "many short kernels; the same kernels in every step.",
    .doc = "Each launch costs the host some microseconds; shorter kernels empty the queue. A graph "
           "launches the whole step at once. A long cudaLaunchKernel with a full queue is the "
           "opposite case (the GPU is the bottleneck), so gpuprof does not count it. gpuprof does "
           "not advise a graph if kernels or grids change from step to step; if a wait for the "
           "GPU, an allocation or a copy of pageable memory occurs between the launches; if the "
           "program already uses graphs; or if the launching thread has no core.",
    .remedy = {"torch.compile(model, mode='reduce-overhead'), or "
               "torch.cuda.graphs.make_graphed_callables; a larger batch helps as well",
               "@tf.function(jit_compile=True) around the step (in JAX, jax.jit); what stays "
               "outside XLA's graphs: "
               "XLA_FLAGS=--xla_gpu_enable_command_buffer=+COLLECTIVES",
               "cudaStreamBeginCapture around the step once, then cudaGraphLaunch"},
    .directives =
        "queue the constructs without waits (OpenACC: async(1), OpenMP: nowait), and join "
        "neighbouring loops in one construct",
    .setting = "cuda_graph",
    .one_launch = true,
    .tips = {{"cuda-graphs", "Replay the step as a CUDA graph",
              "if a capture cannot work, gpuprof gives the reason instead"},
             {"fixed-shapes", "Keep shapes fixed, or pad them to a few sizes", NULL},
             {"compiled-steps", "Wrap the step in tf.function instead of running it eagerly",
              "gpuprof sees that launches come too slowly, but not which wrapper is missing"}},
};
