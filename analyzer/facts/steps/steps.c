/* Finds the steps: from marks (NVTX ranges, ProfilerStep, the hook), otherwise from
 * repetition. A step lasts from its anchor to the next one's, so that steps cover the loop
 * without gaps. Cost: O(n log n). */
#include "analyzer/facts/steps/steps.h"
#include "analyzer/facts/limits.h"

#include "analyzer/facts/steps/step_marks.h"
#include "analyzer/measure/input.h"
#include "analyzer/timeline/sort.h"
#include "analyzer/timeline/name_test.h"
#include "wire/step_mark.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- marks ---- */

bool steps_better_marks(const struct mark_group *a, const struct mark_group *b)
{
    if ((a->count >= 2) != (b->count >= 2))
        return a->count >= 2;
    if (a->mark != b->mark)
        return a->mark > b->mark;
    if (a->rank >= 0 && b->rank >= 0 && a->rank != b->rank)
        return a->rank < b->rank; /* rank 0 is analysed rather than the rank
                                     whose marks cover most time */
    return a->depth != b->depth ? a->depth < b->depth : a->covered_ns > b->covered_ns;
}

/* Prefers groups of two or more marks, then the more specific kind of mark, then the
 * outermost, then the one that covers most time. Falls back to counted names
 * (steps_counted.c) if no group repeats. */
struct mark_group steps_marks(const struct timeline *t, uint32_t process)
{
    enum { DEPTHS = 64 }; /* frames of Python may nest around the marks */
    struct mark_group best = {0};
    for (uint32_t th = 0; th < t->thread_count; th++) {
        struct mark_group group[DEPTHS][SPOOL_STEP_FRAMEWORK + 1];
        memset(group, 0, sizeof group);
        const struct thread *thread = &t->threads[th];
        if (process != TL_NONE && thread->process != process)
            continue;
        for (uint32_t i = thread->first_range; i < thread->first_range + thread->ranges; i++) {
            const struct range *r = &t->ranges[i];
            enum spool_step_mark m =
                r->depth < DEPTHS ? spool_step_mark(tl_text(t, r->name)) : SPOOL_STEP_NONE;
            if (m == SPOOL_STEP_NONE)
                continue;
            struct mark_group *g = &group[r->depth][m];
            if (g->count++ == 0)
                *g = (struct mark_group){
                    th, r->depth, i, 1, 0, 0, m, t->processes[thread->process].rank, false};
            g->covered_ns += r->end_ns - r->start_ns;
            g->end_ns = r->end_ns > g->end_ns ? r->end_ns : g->end_ns;
        }
        for (int d = 0; d < DEPTHS; d++)
            for (int m = SPOOL_STEP_HOOK; m <= SPOOL_STEP_FRAMEWORK; m++)
                if (group[d][m].count && (!best.count || steps_better_marks(&group[d][m], &best)))
                    best = group[d][m];
    }
    struct mark_group counted = best.count < 2 ? steps_counted(t, process) : best;
    return counted.count ? counted : best;
}

static bool is_of(const struct mark_group *g, const struct timeline *t, const struct range *r)
{
    const char *name = tl_text(t, r->name);
    return r->depth == g->depth &&
           (g->counted ? steps_counted_alike(tl_text(t, t->ranges[g->first].name), name)
                       : spool_step_mark(name) == g->mark);
}

/* Names the marks by the first one; drops its number if the rest of the name says what it is. */
static const char *source_text(struct facts *f, const struct mark_group *g)
{
    const char *name = tl_text(f->tl, f->tl->ranges[g->first].name);
    if (g->mark == SPOOL_STEP_FRAMEWORK)
        return arena_printf(&f->arena, "profiler marks from '%s' on", name);
    if (g->counted)
        return arena_printf(&f->arena, "NVTX ranges from '%s' on", name);
    return arena_printf(&f->arena, "NVTX ranges '%.*s'", (int)spool_step_base(name), name);
}

/* Makes a step of each range, from its start to the next one's start. The last step ends with
 * its range. If the ranges do not touch, the last step lacks the pause after it, and is not
 * used. -1: out of memory. */
static int steps_from_marks(struct facts *f, const struct mark_group *g)
{
    const struct timeline *t = f->tl;
    struct steps *s = &f->steps;
    s->at = arena_array(&f->arena, g->count, sizeof *s->at);
    int64_t *between = malloc((g->count + 1) * sizeof *between);
    if (!s->at || !between) {
        free(between);
        return -1;
    }
    const struct thread *thread = &t->threads[g->thread];
    size_t gaps = 0;
    for (uint32_t i = g->first; i < thread->first_range + thread->ranges; i++) {
        const struct range *r = &t->ranges[i];
        if (!is_of(g, t, r))
            continue;
        if (s->count) {
            struct step *last = &s->at[s->count - 1];
            if (r->start_ns <= last->start_ns)
                continue;
            between[gaps++] = r->start_ns > last->end_ns ? r->start_ns - last->end_ns : 0;
            last->end_ns = r->start_ns;
        }
        s->at[s->count++] = (struct step){.start_ns = r->start_ns, .end_ns = r->end_ns, .used = 1};
    }
    if (s->count > 1) {
        int64_t period =
            (s->at[s->count - 1].start_ns - s->at[0].start_ns) / (int64_t)(s->count - 1);
        if (median_ns(between, gaps) > period / FACTS_MARKS_APART)
            s->at[s->count - 1].used = 0;
    }
    free(between);
    s->source = g->mark == SPOOL_STEP_NVTX ? STEPS_NVTX : STEPS_FRAMEWORK;
    s->confidence = 1;
    if (g->mark == SPOOL_STEP_HOOK)
        s->source_text = "from one optimizer step to the next";
    else
        s->source_text = source_text(f, g);
    return s->source_text ? 0 : -1;
}

/* ---- from repetition ---- */

static int steps_from_detection(struct facts *f, const struct detected *d)
{
    struct steps *s = &f->steps;
    s->at = arena_array(&f->arena, d->count, sizeof *s->at);
    if (!s->at)
        return -1;
    for (size_t i = 0; i < d->count; i++)
        s->at[i] = (struct step){
            .start_ns = d->at[i].start_ns, .end_ns = d->at[i].end_ns, .used = d->steady[i]};
    s->count = d->count;
    s->source = STEPS_DETECTED;
    s->source_text = d->text;
    s->doubt = d->doubt;
    s->confidence = d->confidence;
    s->layers = d->layers;
    return 0;
}

/* ---- operations of each step ---- */

static int find_launches(struct facts *f)
{
    f->steps.launch_ns = arena_array(&f->arena, f->tl->op_count, sizeof *f->steps.launch_ns);
    return f->steps.launch_ns ? launched_find(f->tl, f->steps.launch_ns) : -1;
}

/* 0 if the operation runs inside the window, otherwise TL_NONE. Launch times do not decide here,
 * because the window's first work was launched before the window begins. */
static uint32_t window_step_of(const struct steps *s, const struct op *o)
{
    return o->start_ns >= s->at[0].start_ns && o->end_ns <= s->at[0].end_ns ? 0 : TL_NONE;
}

/* Assigns each operation of the analysed process to the step in which it was launched. If the
 * analysis covers a window instead of steps, operations that run inside the window belong to it. A
 * step's first_op is the operation launched first. -1: out of memory. */
static int assign_ops(struct facts *f)
{
    const struct timeline *t = f->tl;
    struct steps *s = &f->steps;
    s->op_step = arena_array(&f->arena, t->op_count, sizeof *s->op_step);
    int64_t *first = malloc((s->count + 1) * sizeof *first);
    if (!s->op_step || !first || find_launches(f) < 0) {
        free(first);
        return -1;
    }
    bool window = analysis_of_window(f);
    for (size_t i = 0; i < s->count; i++)
        s->at[i].first_op = TL_NONE;
    for (uint32_t i = 0; i < t->op_count; i++) {
        bool ours = t->streams[t->ops[i].stream].process == s->process;
        int64_t launched = s->launch_ns[i];
        uint32_t k = !ours    ? TL_NONE
                     : window ? window_step_of(s, &t->ops[i])
                              : facts_step_at(f, launched);
        s->op_step[i] = k;
        if (k == TL_NONE)
            continue;
        struct step *st = &s->at[k];
        if (st->ops++ == 0 || launched < first[k]) {
            first[k] = launched;
            st->first_op = i;
        }
    }
    free(first);
    return 0;
}

/* True if the only mark is one pass of a server over a batch. Repetition inside it would find
 * layers, and its GPU work may run long after the range that launched it; so the window is used. */
static bool one_pass(const struct timeline *t, const struct mark_group *marks)
{
    return marks->count == 1 && spool_step_serves(tl_text(t, t->ranges[marks->first].name));
}

/* True if the optimizer stepped only while a CUDA graph was warmed up and captured, and the graph's
 * replays, which the hook does not see, are the actual loop. Repetition behind the marks without
 * graph launches is something else, such as a model that draws samples after its training. */
static bool replayed_later(const struct timeline *t, const struct mark_group *marks,
                           const struct detected *d)
{
    size_t after = 0, replays = 0;
    for (size_t i = 0; d->text && i < d->count; i++)
        after += d->at[i].start_ns >= marks->end_ns;
    for (size_t i = 0; i < t->api_count; i++)
        replays += t->apis[i].kind == API_GRAPH_LAUNCH && t->apis[i].start_ns >= marks->end_ns;
    return marks->mark == SPOOL_STEP_HOOK && after >= FACTS_REPLAYED_TIMES * marks->count &&
           after >= FACTS_REPLAYED && replays >= after;
}

/* True if the steps are only guessed and the GPU works in little of the window: most of the time is
 * set-up, and the window shows that better. */
static bool guess_covers_too_little(const struct facts *f, const struct detected *d)
{
    struct span w = steps_window(f);
    return d->guessed &&
           (f->tl->gpu_end_ns - f->tl->gpu_start_ns) * FACTS_BESIDE < w.end_ns - w.start_ns;
}

static int without_marks(struct facts *f)
{
    if (f->on_cpu && steps_from_batches(f) < 0)
        return -1;
    if (f->on_cpu && !f->steps.count && steps_from_passes(f) < 0)
        return -1;
    return f->steps.count ? 0 : steps_from_window(f);
}

/* Applies the user's statements about steps, which override marks: a kernel that begins each
 * step, or the number of steps. Fills *d in any case. 1: the user made one; 0: none; -1 with *e
 * set: it cannot be satisfied. */
static int steps_from_user(struct facts *f, bool marked, struct detected *d, struct err *e)
{
    const char *kernel = timeline_meta(f->tl, "steps.kernel");
    const char *count = timeline_meta(f->tl, "steps.count");
    size_t wanted = count ? (size_t)strtoul(count, NULL, 10) : 0;
    kernel = kernel && *kernel ? kernel : NULL; /* an empty option cancels what the profile says */
    int rc = 0;
    if (kernel)
        rc = detect_given(d, f->tl, f->steps.process, kernel, &f->arena, e);
    else if (f->tl->process_count)
        rc = detect_steps(d, f->tl, f->steps.process, wanted, !marked, &f->arena, e);
    return rc < 0 ? -1 : kernel || wanted;
}

int steps_find(struct facts *f, struct err *e)
{
    struct mark_group marks;
    struct detected d = {0};
    if (steps_focus(f, &marks, e) < 0)
        return -1;
    if (recorded_find(f) < 0)
        return err_no_memory(e);
    /* the marks do not count if their process has no GPU work and another one has */
    if (marks.count && f->tl->op_count && f->tl->threads[marks.thread].process != f->steps.process)
        marks.count = 0;
    int given = steps_from_user(f, marks.count > 0, &d, e);
    if (given < 0)
        return -1;
    f->steps.detected_count = d.count;
    if (steps_median_detected(&d, &f->steps.detected_median_ns) < 0)
        return err_no_memory(e);
    if (marks.count && replayed_later(f->tl, &marks, &d))
        marks.count = 0;
    /* The user's statement counts first, then marks, then repetition. The
     * window is the last resort. */
    int rc = given                                       ? steps_from_detection(f, &d)
             : one_pass(f->tl, &marks)                   ? steps_from_window(f)
             : marks.count                               ? steps_from_marks(f, &marks)
             : d.text && !guess_covers_too_little(f, &d) ? steps_from_detection(f, &d)
                                                         : without_marks(f);
    if (rc < 0)
        return err_no_memory(e);
    if (!analysis_of_window(f))
        recorded_cut(f);
    if (assign_ops(f) < 0)
        return err_no_memory(e);
    recorded_drop_incomplete_steps(f);
    if (steps_lengths(f) < 0 || (!analysis_of_window(f) && steps_drop_after_rank_death(f) < 0) ||
        steps_drop_profiled(f) < 0 || steps_choose(&f->steps, f->on_cpu) < 0)
        return err_no_memory(e);
    return 0;
}
