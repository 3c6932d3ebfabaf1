/* Fires if the GPU runs out of work because the host cannot launch small kernels fast enough. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/capture.h"
#include "analyzer/queries/training/sharding.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/kernels/piecewise.h"
#include "analyzer/queries/lines.h"
#include "analyzer/queries/once.h"
#include "analyzer/queries/ranks/comm.h"
#include "analyzer/queries/training/outside.h"
#include "analyzer/queries/waits.h"

#include <string.h>

/* Returns the idle time for launches that other rules count, in ns per step. */
static int64_t claimed_elsewhere(const struct facts *f, struct arena *arena)
{
    struct query_ops ops;
    int64_t ns = query_piecewise(f, arena).ops.idle_ns;
    if (query_optimizer_unfused(f, &ops))
        ns += ops.idle_ns;
    if (query_zeroing_scattered(f, &ops))
        ns += ops.idle_ns;
    if (query_collectives_scattered(f, &ops))
        ns += ops.idle_ns;
    return per_step(f, ns);
}

/* Returns the idle time that a graph may remove, in ns per step: waits for launches, short pauses
 * of the host, and the delays between queued kernels. Captures remove pauses only in the parts of
 * the step that they can contain. */
static int64_t goes_with_launches(const struct facts *f, const struct query_capture *s)
{
    bool crowded = query_pauses_may_lack_core(f);
    int64_t short_ns = 0, queued = 0;
    for (size_t i = 0; i < f->gap_count; i++) {
        const struct gap *g = &f->gaps[i];
        if (g->step == TL_NONE || !f->steps.at[g->step].used)
            continue;
        int64_t host = gap_ns(f, g, PART_IDLE_HOST), start = gap_ns(f, g, PART_IDLE_QUEUED);
        short_ns += crowded || host < QUERY_OWN_WORK_NS ? host : 0;
        queued += start <= QUERY_QUEUED_START_NS ? start : 0;
    }
    double inside = s->pieces_pct > s->region_pct ? s->pieces_pct : s->region_pct;
    int64_t pauses = (int64_t)((double)per_step(f, short_ns) * inside / 100);
    return f->breakdown_ns[PART_IDLE_LAUNCH] + pauses + per_step(f, queued);
}

/* Returns why fewer launches would not help, or NULL if they would. `now`: the GPU waits for
 * launches at present. */
static const char *no_use(const struct facts *f, struct arena *arena, const struct query_capture *s,
                          bool now)
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
    if (now && query_wait_is_lack_of_core(f))
        return arena_printf(arena,
                            "the training thread was ready to launch but had no core for %s %s: "
                            "other programs, or too many threads, take the cores",
                            time_text(arena, f->host.starved_ns), scope_words(f)->per);
    return NULL;
}

/* True if one graph cannot contain most of the step, because waits lie between its launches. */
static bool in_parts(const struct facts *f, const struct query_capture *s)
{
    return s->region_pct < RULES_REGION_PCT && s->interrupter != TL_NONE && !analysis_of_window(f);
}

/* Returns why graphs cannot contain a step, or NULL if they can. */
static const char *obstacle(const struct facts *f, struct arena *arena,
                            const struct query_capture *s)
{
    if (query_replicated(f, arena))
        return "one process drives several GPUs in turn, which no graph can contain: see "
               "dp-instead-of-ddp";
    if (s->kernels_max > s->kernels_min + s->kernels_min / RULES_KERNELS_DIFFER)
        return arena_printf(arena,
                            "the steps differ (%lld to %lld kernels), and a graph needs the same "
                            "work in every step: fix the shapes first",
                            (long long)s->kernels_min, (long long)s->kernels_max);
    if (s->alike * 100 < s->steps * RULES_SAME_STEPS_PCT)
        return arena_printf(
            arena,
            "the steps differ (only %zu of %zu launch the same kernels on the same grids), and a "
            "graph needs the same work in every step: fix the shapes first",
            s->alike, s->steps);
    if (in_parts(f, s) && s->pieces_pct < RULES_REGION_PCT)
        return arena_printf(
            arena,
            "%s occurs between the launches, and a graph cannot capture it: the longest part "
            "without such a call has %.0f %% of the launches; move the call out first",
            tl_text(f->tl, f->tl->apis[s->interrupter].name), s->region_pct);
    return NULL;
}

static void add_evidence(const struct facts *f, struct outcome *o, const struct query_capture *s,
                         int64_t idle, double short_pct)
{
    outcome_evidence_per(
        o, "launches", (double)f->totals.launches / (double)s->steps, "count",
        "SELECT a.* FROM api a JOIN string s ON s.id = a.name WHERE s.text LIKE '%Launch%'");
    outcome_evidence(o, "kernels under 10 us", short_pct, "%",
                     "SELECT * FROM kernel WHERE end_ns - start_ns < 10000");
    outcome_evidence_idle(o, f,
                          idle < f->breakdown_ns[PART_IDLE_LAUNCH]
                              ? "GPU idle between launches, less what other rules count,"
                              : "GPU idle between launches",
                          ms(idle), PART_IDLE_LAUNCH);
    if (s->steps > 1)
        outcome_evidence(o, "steps that launch the same",
                         100.0 * (double)s->alike / (double)s->steps, "%", NULL);
    outcome_evidence(o, "launches that one capture can contain", s->region_pct, "%", NULL);
    if (in_parts(f, s))
        outcome_evidence(o, "launches that several captures can contain", s->pieces_pct, "%", NULL);
}

/* For PyTorch the edit also gets the work that a capture of the model alone leaves outside. How many
 * of several parts become graphs is not known: then the edit gives a bound. */
static struct edit graph_edit(const struct facts *f, struct arena *arena,
                              const struct query_capture *s)
{
    bool model = query_of_pytorch(f) && !query_of_xla(f);
    return (struct edit){.kind = &edit_graph,
                         .at.op_marks = model ? query_outside_model(f, arena) : NULL,
                         .best_case = in_parts(f, s)};
}

/* If a sharding engine keeps one graph from containing the step, fewer launches help, but by how
 * many is not known. */
static void spare_shards(const struct facts *f, struct outcome *o)
{
    const char *engine = query_sharding_engine(f);
    if (!engine)
        return;
    o->edit.best_case = true;
    o->remedy.action = ACTION_COMPILE_PARTS;
    remedy_text(&o->remedy, PARAM_ENGINE, engine);
}

/* For a window: it does not show which part repeats, and a graph cannot contain what lies between
 * its launches. So the remedy is fewer launches. */
static void launch_fewer(struct outcome *o, double region_pct)
{
    o->remedy.action = ACTION_LAUNCH_FEWER;
    o->remedy.conditions[CONDITION_REPEATS] = region_pct >= RULES_REGION_PCT;
}

/* The call that no graph can hold, and what it leaves of the launches; "" if all of them fit. */
static const char *interrupted(const struct facts *f, struct arena *arena,
                               const struct query_capture *s)
{
    if (s->interrupter == TL_NONE || s->region_pct > RULES_REGION_WHOLE_PCT ||
        analysis_of_window(f))
        return "";
    uint32_t launch;
    const char *runs = query_wait_operator(f->tl, s->interrupter, &launch);
    const char *line = outcome_caller(f->tl, s->interrupter);
    line = line ? line : outcome_caller(f->tl, launch);
    const char *parts =
        in_parts(f, s)
            ? arena_printf(arena,
                           "%lld parts between such calls have %.0f %% of the launches, and can be "
                           "a graph each",
                           (long long)s->pieces, s->pieces_pct)
            : arena_printf(arena, "the longest part without it has %.0f %% of the launches",
                           s->region_pct);
    return arena_printf(arena, "; a graph cannot hold %s%s%s%s%s: %s",
                        tl_text(f->tl, f->tl->apis[s->interrupter].name), runs ? " behind " : "",
                        runs ? runs : "", line ? ", at " : "", line ? line : "",
                        parts ? parts : "");
}

/* Names the cause in one sentence. The saving may be larger than that cause: a host that needs less
 * time for launches is also earlier with everything else, for example with a batch. */
static const char *summary_of(const struct facts *f, struct arena *arena, int64_t launches,
                              double short_pct, int64_t idle, int64_t host)
{
    const char *once = f->steps.used < 2 && !analysis_of_window(f)
                           ? "; the recording contains only one step, so check that every step "
                             "launches the same kernels"
                           : "";
    const char *busy = host * 2 > f->step_ns
                           ? arena_printf(arena, "; launching keeps the host busy for %s %s",
                                          time_text(arena, host), scope_words(f)->per)
                           : "";
    int64_t all = f->breakdown_ns[PART_IDLE_LAUNCH];
    const char *others = idle * 2 < all
                             ? arena_printf(arena,
                                            " (%s of it in series of launches with findings of "
                                            "their own)",
                                            time_text(arena, all - idle))
                             : "";
    return arena_printf(arena,
                        "%lld launches %s, %.0f %% of the kernels under 10 us: the GPU waits %s %s "
                        "for the next launch%s%s%s",
                        (long long)launches, scope_words(f)->per, short_pct,
                        time_text(arena, *others ? all : idle), scope_words(f)->per, others, busy,
                        once);
}

/* Returns true if there is anything to gain, whatever the obstacles. Idle time that other rules
 * count is also this rule's if launching takes the host more than half of the step. */
static bool launch_bound(const struct facts *f, int64_t idle, int64_t host)
{
    int64_t least = analysis_of_window(f) ? RULES_WINDOW_LAUNCHES : 1;
    int64_t all = f->breakdown_ns[PART_IDLE_LAUNCH];
    return f->totals.launches >= least &&
           (idle * QUERY_WORTH >= f->step_ns ||
            (all * QUERY_WORTH >= f->step_ns && host * 2 > f->step_ns));
}

/* Returns true if a graph fits; otherwise false, with the reason in *o. */
static bool fits(const struct facts *f, struct arena *arena, struct outcome *o,
                 const struct query_capture *s, bool now)
{
    const char *why_not = no_use(f, arena, s, now);
    if (!why_not && !analysis_of_window(f))
        why_not = obstacle(f, arena, s);
    if (why_not) {
        o->verdict = RULE_SUPPRESSED;
        o->why = why_not;
        return false;
    }
    if (!analysis_of_window(f) && s->region < RULES_GRAPH_LAUNCHES) {
        o->why =
            arena_printf(arena,
                         "a graph could replace only %lld launch%s %s, and its own launch takes as "
                         "long as a few",
                         (long long)s->region, s->region == 1 ? "" : "es", scope_words(f)->per);
        return false;
    }
    return true;
}

/* The GPU has more to do than the host. Marks the finding for later: after other changes the host
 * may become the limit. */
static void look_ahead(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_capture s;
    int64_t host = analysis_of_window(f) ? 0 : query_launching_ns(f);
    const char *why = o->why;
    if (host * QUERY_SOME < f->step_ns || query_capture(f, &s) < 0 || s.steps < 2)
        return;
    o->later = fits(f, arena, o, &s, false) && !query_sharding_engine(f);
    o->verdict = RULE_SILENT;
    o->why = why;
    o->error_class = ERROR_STRUCTURAL;
    o->edit = o->later ? graph_edit(f, arena, &s) : (struct edit){.kind = NULL};
}

static void check_cuda_graphs(const struct facts *f, struct arena *arena, struct outcome *o)
{
    int64_t idle = f->breakdown_ns[PART_IDLE_LAUNCH] - claimed_elsewhere(f, arena), host = 0;
    struct query_capture s;
    idle = idle > 0 ? idle : 0;
    o->why = arena_printf(arena, "launching leaves the GPU idle for %.3f ms %s", ms(idle),
                          scope_words(f)->per);
    if (f->breakdown_ns[PART_IDLE_LAUNCH] * QUERY_WORTH >= f->step_ns)
        host = query_launching_ns(f);
    if (!launch_bound(f, idle, host)) {
        look_ahead(f, arena, o);
        return;
    }
    if (host < 0 || query_capture(f, &s) < 0 || s.steps == 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "out of memory";
        return;
    }
    if (!fits(f, arena, o, &s, true))
        return;
    double short_pct = f->totals.kernel_count_all ? 100.0 * (double)f->totals.short_kernels /
                                                        (double)f->totals.kernel_count_all
                                                  : 0;
    add_evidence(f, o, &s, idle, short_pct);
    o->error_class = query_lack_of_core_dominates(f) ? ERROR_RERUN_DECIDES : ERROR_STRUCTURAL;
    o->edit = graph_edit(f, arena, &s);
    spare_shards(f, o);
    if (analysis_of_window(f))
        launch_fewer(o, s.region_pct);
    o->most_ns = goes_with_launches(f, &s);
    outcome_evidence_per(o, "GPU idle that goes with the launches,", ms(o->most_ns), "ms", NULL);
    outcome_evidence_per(o, "the host's time for them", ms(host), "ms", NULL);
    outcome_fires(o, idle,
                  arena_printf(arena, "%s%s",
                               summary_of(f, arena, f->totals.launches / (int64_t)s.steps,
                                          short_pct, idle, host),
                               interrupted(f, arena, &s)));
    outcome_example_gaps(o, f, PART_IDLE_LAUNCH, "GPU idle, next kernel not launched yet");
}

const struct rule rule_cuda_graphs = {
    .id = "cuda-graphs",
    .title = "Launch the step as a CUDA graph",
    .window_title = "Launch fewer kernels, or many at once",
    .in_window = true,
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_cuda_graphs,
    .cheaper = true,
    .looks_for = "A GPU that idles between kernels because the next launch has not arrived yet; "
                 "many short kernels; the same kernels in every step.",
    .doc =
        "Each launch costs the host some microseconds; shorter kernels empty the queue. A graph "
        "launches the whole step at once. A long cudaLaunchKernel with a full queue is the "
        "opposite case (the GPU is the bottleneck), so gpuprof does not count it. Where the GPU is "
        "the bottleneck now, a graph comes behind the changes that shorten its work, if the "
        "replay finds that launches would then set the pace. gpuprof does "
        "not advise a graph of fewer than eight launches; nor if kernels or grids change from "
        "step to step; if waits for the GPU, allocations and copies of pageable memory leave less "
        "than half of the launches in one part or in parts of 32 and more; if the program already "
        "uses graphs; or if the launching thread lacks a core, and needs no more processor time "
        "than the GPU is busy.",
    .remedy = {.action = ACTION_LAUNCH_AS_GRAPH},
    .one_launch = true,
    .tips = {{"cuda-graphs", "Replay the step as a CUDA graph",
              "if a capture cannot work, gpuprof gives the reason instead"},
             {"fixed-shapes", "Keep shapes fixed, or pad them to a few sizes", NULL},
             {"compiled-steps", "Wrap the step in tf.function instead of running it eagerly",
              "gpuprof sees that launches come too slowly, but not which wrapper is missing"}},
};
