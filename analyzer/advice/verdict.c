/* Writes the verdict: one sentence each for what fills most of the step, what the largest saving
 * is, why, and what to do next, namely that saving's remedy (verdict_next.c). */
#include "analyzer/advice/passes.h"
#include "analyzer/advice/verdict.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/query.h"
#include "analyzer/queries/warm.h"
#include "base/size.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A group of parts with one cause and one kind of remedy. */
static const struct group {
    enum verdict_class class;
    const char *label, *clause; /* the share of the step follows the clause */
    uint32_t parts;
} groups[] = {
    {VERDICT_INPUT, "Input-bound", "the GPU waits for data during", 1u << PART_IDLE_INPUT},
    {VERDICT_HOST, "Host-bound", "the GPU waits for the host during",
     1u << PART_IDLE_LAUNCH | 1u << PART_IDLE_HOST | 1u << PART_IDLE_ALLOC},
    {VERDICT_COMMUNICATION, "Communication-bound", "exposed communication takes", 1u << PART_COMM},
    {VERDICT_COPY, "Copy-bound", "exposed copies take", 1u << PART_COPY | 1u << PART_IDLE_COPY},
    {VERDICT_SYNC, "Synchronisation-bound", "the GPU idles after synchronisations during",
     1u << PART_IDLE_SYNC},
    {VERDICT_QUEUE, "Queue-bound", "the GPU is idle with work queued during",
     1u << PART_IDLE_QUEUED},
    {VERDICT_UNEXPLAINED, "Not explained", "the GPU is idle for no recorded reason during",
     1u << PART_UNEXPLAINED},
};

int64_t verdict_parts_ns(const struct advice *a, uint32_t parts)
{
    int64_t sum = 0;
    for (int p = 0; p < PART_COUNT; p++)
        sum += parts >> p & 1 ? a->facts->breakdown_ns[p] : 0;
    return sum;
}

double verdict_share(const struct advice *a, int64_t ns)
{
    return a->facts->step_ns > 0 ? 100.0 * (double)ns / (double)a->facts->step_ns : 0;
}

/* Writes the step's time with `which` ("each", "the") before it, e.g. "each 102 ms step". If long
 * steps recur it is the mean, with the median beside it; if no step repeats it is the window. */
static const char *step_words(const struct advice *a, const char *which, char *out, size_t size)
{
    const struct steps *s = &a->facts->steps;
    char step[24], median[24];
    time_words(step, sizeof step, a->facts->step_ns);
    if (analysis_of_window(a->facts)) {
        snprintf(out, size, "the recorded window (%s, no step repeats)", step);
        return out;
    }
    size_t n = (size_t)snprintf(out, size, "%s ", which);
    if (analysis_by_mean(a->facts) && s->slow == 0)
        snprintf(out + n, size - n, "%s step on average (two kinds in turn, median %s)", step,
                 time_words(median, sizeof median, s->median_ns));
    else if (analysis_by_mean(a->facts))
        snprintf(out + n, size - n, "%s step on average (median %s; %zu of %zu steps %s longer)",
                 step, time_words(median, sizeof median, s->median_ns), s->slow, s->used,
                 s->slow == 1 ? "is" : "are");
    else
        snprintf(out + n, size - n, "%s step", step);
    return out;
}

/* The share of the step that the parts take, in percent; of the step without the records of Python's
 * stacks, where the profiler made such: they slow the host down, and other runs have none. */
static double usual_share(const struct advice *a, uint32_t parts)
{
    double recorded = verdict_share(a, verdict_parts_ns(a, parts));
    if (a->whatif.unstacked <= 0)
        return recorded;
    double usual = parts >> PART_IDLE_HOST & 1 ? 100 * a->whatif.unstacked_host
                                               : recorded / a->whatif.unstacked;
    return usual < 100 ? usual : 100;
}

static const struct group *largest_group(const struct advice *a)
{
    const struct group *best = &groups[0];
    for (size_t i = 1; i < sizeof groups / sizeof *groups; i++)
        if (usual_share(a, groups[i].parts) > usual_share(a, best->parts))
            best = &groups[i];
    return best;
}

/* Returns a sentence that names the place of the host's other work while the GPU waits, if more
 * than half of it is in one place; else "". */
static const char *host_work_text(struct advice *a)
{
    struct query_places p = query_host_places(a->facts, NULL);
    return p.in_most * 2 > p.all
               ? arena_printf(&a->arena, " Most of the other host work runs in '%s'.", p.most)
               : "";
}

/* Returns a sentence with the three largest parts. */
static const char *why_text(struct advice *a)
{
    char text[512] = "", ms[32];
    size_t n = 0;
    bool told[PART_COUNT] = {false};
    for (int k = 0; k < 3; k++) {
        int best = -1;
        for (int p = 0; p < PART_COUNT; p++)
            if (!told[p] && (best < 0 || a->facts->breakdown_ns[p] > a->facts->breakdown_ns[best]))
                best = p;
        if (verdict_share(a, a->facts->breakdown_ns[best]) < ADVICE_PRINTED_PCT)
            break;
        told[best] = true;
        int wrote =
            snprintf(text + n, sizeof text - n, "%s%s %s (%.0f %%)", n ? ", " : "",
                     part_title[best], time_words(ms, sizeof ms, a->facts->breakdown_ns[best]),
                     verdict_share(a, a->facts->breakdown_ns[best]));
        n += wrote > 0 && (size_t)wrote < sizeof text - n ? (size_t)wrote : 0;
    }
    const char *of = analysis_of_window(a->facts) ? "The window"
                     : analysis_by_mean(a->facts) ? "The mean step"
                                                  : "The median step";
    const char *where = verdict_share(a, a->facts->breakdown_ns[PART_IDLE_HOST]) >= ADVICE_LOST_PCT
                            ? host_work_text(a)
                            : "";
    const char *kernel = verdict_one_kernel(a);
    return arena_printf(&a->arena, "%s: %s.%s%s", of, text, kernel ? kernel : "",
                        where ? where : "");
}

/* True if more than half of the exposed communication is waiting for a late rank. */
static bool waits_for_late_rank(const struct advice *a)
{
    const struct ranks *r = &a->facts->ranks;
    if (r->count < 2 || r->late == TL_NONE || a->ranked_count == 0 ||
        !a->ranked[0]->rule->late_rank)
        return false;
    for (size_t i = 0; i < r->count; i++)
        if (r->at[i].process == a->facts->steps.process &&
            r->at[i].device == a->facts->steps.device)
            return 2 * r->at[i].wait_exposed_ns > a->facts->breakdown_ns[PART_COMM];
    return false;
}

/* Returns how to record more, for the tool that made this recording. */
static const char *record_more(const struct advice *a)
{
    const char *source = timeline_meta(a->facts->tl, "source");
    if (source && strcmp(source, "nsys") == 0)
        return "Record several steps of the real loop, after warm-up: nsys profile "
               "--delay=SECONDS --duration=SECONDS.";
    return query_of_pytorch(a->facts)
               ? "Record several steps of the real loop, after warm-up: "
                 "torch.profiler.schedule(skip_first=10, wait=1, warmup=3, active=5)."
               : "Record several steps of the real loop, after warm-up.";
}

/* For one or two steps with next to no GPU work: whatever fills the rest, it is no training. */
static void few_ops(struct advice *a, size_t ops)
{
    verdict_not_enough(
        a,
        arena_printf(&a->arena,
                     "Not enough data: the %s recorded contain%s only %zu GPU operation%s.",
                     analysis_of_window(a->facts) ? "window"
                     : a->facts->steps.used == 1  ? "one step"
                                                  : "two steps",
                     a->facts->steps.used == 1 ? "s" : "", ops, ops == 1 ? "" : "s"),
        verdict_with_records(a, why_text(a)), record_more(a));
}

/* True for one or two steps that are mostly start-up: later steps will differ. */
static bool mostly_warm_up(const struct advice *a)
{
    return a->facts->steps.used <= 2 && a->ranked_count && a->ranked[0]->rule->start_up &&
           2 * a->ranked[0]->saves_high_ns > a->facts->step_ns;
}

static const char *clause_of(const struct advice *a, const struct group *g)
{
    const char *host = verdict_host_clause(a, g->parts);
    return host ? host : g->clause;
}

/* True if the training thread lacks a core, and no finding is sure to save as much. */
static bool short_of_cpu(const struct advice *a)
{
    int64_t idle = query_awaits_host(a->facts), starved = a->facts->host.starved_ns;
    return query_lack_of_core_dominates(a->facts) &&
           (a->ranked_count == 0 || a->ranked[0]->least_ns < (starved < idle ? starved : idle));
}

/* Returns a sentence on the missing core, to follow the reason, if that is not the verdict itself;
 * else "". */
static const char *starved_text(struct advice *a)
{
    const struct facts *f = a->facts;
    char ns[24];
    if (a->class == VERDICT_CONTENTION || verdict_share(a, f->host.starved_ns) < ADVICE_LOST_PCT ||
        verdict_share(a, query_awaits_host(f)) < ADVICE_LOST_PCT)
        return "";
    return arena_printf(
        &a->arena,
        " The training thread had no core for %s (%.0f %%) of it: other threads took the cores.",
        time_words(ns, sizeof ns, f->host.starved_ns), verdict_share(a, f->host.starved_ns));
}

/* Chooses class and sentence of the verdict, in this order: the lack of a core, a late rank, lost
 * time that exceeds computing, computing, lost time beside it, or no single cause. */
static void write_class(struct advice *a)
{
    const struct group *g = largest_group(a);
    double lost = verdict_share(a, verdict_parts_ns(a, g->parts)),
           usual_lost = usual_share(a, g->parts);
    double compute = verdict_share(a, a->facts->breakdown_ns[PART_COMPUTE]);
    double usual_compute = usual_share(a, 1u << PART_COMPUTE);
    char step[160];
    step_words(a, "each", step, sizeof step);
    if (short_of_cpu(a)) {
        a->class = VERDICT_CONTENTION;
        a->verdict = arena_printf(
            &a->arena,
            "Short of CPU: the training thread is ready to run but has no core during %.0f %% of "
            "%s, and the GPU waits for it during %.0f %%",
            verdict_share(a, a->facts->host.starved_ns), step,
            verdict_share(a, query_awaits_host(a->facts)));
    } else if (lost >= ADVICE_LOST_PCT && g->parts == 1u << PART_COMM && waits_for_late_rank(a)) {
        a->class = VERDICT_STRAGGLER;
        const struct ranks *r = &a->facts->ranks;
        a->verdict =
            r->group_size
                ? arena_printf(&a->arena,
                               "Straggler: ranks %s keep the others waiting in collectives, which "
                               "take %.0f %% of %s",
                               r->group_text, lost, step)
                : arena_printf(&a->arena,
                               "Straggler: rank %lld keeps the other ranks waiting in collectives, "
                               "which take %.0f %% of %s",
                               (long long)r->at[r->late].rank, lost, step);
    } else if (usual_lost >= ADVICE_LOST_PCT && usual_lost > usual_compute) {
        a->class = g->class;
        a->verdict = arena_printf(&a->arena, "%s: %s %.0f %% of %s%s", g->label, clause_of(a, g),
                                  lost, step, verdict_host_parts(a, g->parts));
    } else if (usual_compute >= ADVICE_GPU_BOUND_PCT) {
        a->class = VERDICT_GPU;
        a->verdict = arena_printf(
            &a->arena, "GPU-bound: kernels compute during %.0f %% of %s%s", compute, step,
            compute >= ADVICE_GPU_BOUND_PCT
                ? ""
                : arena_printf(&a->arena,
                               ", and %.0f %% of what it takes without the profiler's stacks",
                               usual_compute));
    } else if (usual_lost >= ADVICE_LOST_PCT) {
        a->class = g->class;
        a->verdict = arena_printf(
            &a->arena, "Partly %c%s: kernels compute during %.0f %% of %s, and %s %.0f %%%s",
            tolower((unsigned char)g->label[0]), g->label + 1, compute, step, clause_of(a, g), lost,
            verdict_host_parts(a, g->parts));
    } else {
        a->class = VERDICT_BALANCED;
        step_words(a, "the", step, sizeof step);
        a->verdict = arena_printf(&a->arena,
                                  "Balanced: no single cause of lost time reaches 10 %% of %s; "
                                  "kernels compute during %.0f %%",
                                  step, compute);
    }
}

/* Verdict for a window that is mostly start-up or tear-down: names that and claims no saving. */
static void window_of_start_up(struct advice *a)
{
    char window[160];
    struct query_warm w = query_warm_up(a->facts);
    const char *what = 2 * w.down_ns > w.ns
                           ? "Tear-down: what ends the program behind the GPU's last "
                             "work takes"
                       : 2 * w.context_ns > w.ns
                           ? "Start-up: warm-up, most of it the first call, which creates the CUDA "
                             "context, takes"
                           : "Start-up: warm-up takes";
    a->class = VERDICT_START_UP;
    a->verdict = arena_printf(&a->arena, "%s %.0f %% of %s.%s", what,
                              verdict_share(a, a->ranked[0]->saves_high_ns),
                              step_words(a, "", window, sizeof window), verdict_rest(a));
    a->why = verdict_with_records(a, why_text(a));
    a->next = verdict_next(a);
}

static void without_gpu_work(struct advice *a)
{
    if (verdict_unreached(a) || verdict_launches_failed(a))
        return;
    if (!a->facts->on_cpu)
        verdict_no_gpu_work(a);
    else if (a->facts->steps.source != STEPS_NONE && a->facts->step_ns > 0)
        verdict_cpu(a);
    else
        verdict_cpu_no_steps(a);
}

static void write_by_work(struct advice *a)
{
    if (a->facts->tl->op_count == 0) {
        without_gpu_work(a);
        return;
    }
    if (a->facts->step_ns <= 0) {
        if (verdict_records_missing(a))
            return;
        verdict_not_enough(a, "Not enough data: the recording contains no complete step.",
                           a->facts->steps.source_text, "Record more steps.");
        return;
    }
    size_t ops;
    if (verdict_launches_failed(a) || verdict_launches_lost(a) || verdict_graphs_lost(a))
        return;
    bool thin = query_thin(a->facts, &ops), start_up = mostly_warm_up(a);
    /* If the only GPU operations take no time, what fills the rest is chance. */
    if (start_up && analysis_of_window(a->facts) &&
        !(thin && a->facts->breakdown_ns[PART_COMPUTE] < ADVICE_NOTHING_NS)) {
        window_of_start_up(a);
        return;
    }
    if (thin) {
        few_ops(a, ops);
        return;
    }
    if (start_up) {
        verdict_not_enough(
            a,
            arena_printf(&a->arena, "Not enough data: warm-up takes %.0f %% of the %s recorded.",
                         verdict_share(a, a->ranked[0]->saves_high_ns),
                         a->facts->steps.used == 1 ? "one step" : "two steps"),
            verdict_with_records(a, why_text(a)), verdict_next(a));
        return;
    }
    write_class(a);
    if (a->verdict)
        a->verdict = arena_printf(
            &a->arena, "%s%s.%s", a->verdict,
            facts_virtual(a->facts) ? " (virtual GPU: a model computes its times)" : "",
            verdict_saving(a));
    const char *why = why_text(a);
    const char *other = a->facts->other_text;
    a->why = why ? arena_printf(&a->arena, "%s%s%s%s%s%s%s%s%s", why, verdict_line(a),
                                starved_text(a), other ? " " : "", other ? other : "",
                                other ? "." : "", other ? verdict_other_line(a) : "",
                                verdict_before(a), verdict_missing(a))
                 : NULL;
    a->next = verdict_next(a);
}

void verdict_write(struct advice *a)
{
    write_by_work(a);
    if (a->class == VERDICT_NOT_ENOUGH || a->class == VERDICT_START_UP)
        verdict_ended(a);
}
