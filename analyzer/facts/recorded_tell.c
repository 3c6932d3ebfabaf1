/* How much of a run was recorded, and what can be said of the rest: where there are windows, the
 * collector sums up the times of all steps in blocks. Cost: a pass over the blocks. */
#include "analyzer/facts/limits.h"
#include "analyzer/facts/passes.h"

#include <stdlib.h>
#include <string.h>

/* "window 2 (20 steps, from step 206): " for a window requested while the program ran (`run
 * --armed`); otherwise "". */
static const char *asked_window(struct facts *f)
{
    const char *number = timeline_meta(f->tl, "window.number");
    const char *wish = timeline_meta(f->tl, "window.asked");
    const char *step = timeline_meta(f->tl, "window.first_step");
    if (!number || !wish)
        return "";
    return arena_printf(&f->arena, "window %s (%s%s%s): ", number, wish, step ? ", from step " : "",
                        step ? step : "");
}

/* The blocks inside the windows, or those outside. */
struct side {
    int64_t steps, ns;
    int64_t longs,
        longs_ns; /* steps half as long again as the usual one (one a block), and by how much */
};

struct run {
    struct side in, out;
    int64_t usual_ns; /* the median of the steps inside, from mark to mark */
};

static bool counts(const struct facts *f, const struct row_step_block *b)
{
    return b->process == f->tl->processes[f->steps.process].id && b->steps > 0;
}

static int measure(const struct facts *f, struct run *r)
{
    const struct timeline *t = f->tl;
    int64_t *v = malloc((t->step_block_count + 1) * sizeof *v);
    size_t n = 0;
    *r = (struct run){.usual_ns = 0};
    for (size_t i = 0; v && i < t->step_block_count; i++) {
        const struct row_step_block *b = &t->step_blocks[i];
        if (counts(f, b) && recorded_at(f, b->start_ns))
            v[n++] = (b->end_ns - b->start_ns) / b->steps;
    }
    r->usual_ns = v ? median_ns(v, n) : 0;
    for (size_t i = 0; i < t->step_block_count; i++) {
        const struct row_step_block *b = &t->step_blocks[i];
        if (!counts(f, b))
            continue;
        struct side *p = recorded_at(f, b->start_ns) ? &r->in : &r->out;
        p->steps += b->steps;
        p->ns += b->end_ns - b->start_ns;
        if (r->usual_ns && b->max_ns * 2 > r->usual_ns * 3) {
            p->longs++;
            p->longs_ns += b->max_ns - r->usual_ns;
        }
    }
    free(v);
    return v ? 0 : -1;
}

/* Tells of long steps outside the windows, unless the windows have their share of them. */
static void tell_unseen(struct facts *f, const struct run *r, bool light)
{
    struct health_facts *h = &f->health;
    int64_t run_ns = r->in.ns + r->out.ns;
    double out = r->out.ns ? (double)r->out.longs_ns / (double)r->out.ns : 0;
    double in = r->in.ns ? (double)r->in.longs_ns / (double)r->in.ns : 0;
    if (run_ns <= 0 || 100 * out < FACTS_UNSEEN_PCT || out < 2 * in)
        return;
    h->unseen_pct = 100.0 * (double)r->out.longs_ns / (double)run_ns;
    h->unseen_text = arena_printf(&f->arena,
                                  "at least %lld steps that were not recorded took half as long "
                                  "again as the others or longer, "
                                  "which is %.3g %% of the run's time: what they did is not known "
                                  "(`gpuprof run%s` records it)",
                                  (long long)r->out.longs, h->unseen_pct,
                                  light ? "` without `--light" : " --full");
}

/* "steps 1 to 200 and 5 windows later" */
static const char *which_steps(struct facts *f)
{
    size_t last = 0, n = f->window_count;
    while (last + 1 < f->steps.count &&
           recorded_at(f, f->steps.at[last + 1].start_ns) == &f->windows[0])
        last++;
    if (!f->steps.count)
        return arena_printf(&f->arena, "%zu window%s", n, n == 1 ? "" : "s");
    return arena_printf(
        &f->arena, "steps %lld to %lld%s", (long long)facts_step_number(f, 0),
        (long long)facts_step_number(f, last),
        n > 1 ? arena_printf(&f->arena, " and %zu window%s later", n - 1, n == 2 ? "" : "s") : "");
}

/* Where gpuprof chose the windows. */
static void tell_chosen(struct facts *f, const struct run *r)
{
    struct health_facts *h = &f->health;
    h->recorded_short =
        arena_printf(&f->arena, "in full %s, %.3g %% of the run; of the rest %s", which_steps(f),
                     h->recorded_pct, "only how long each step took");
    h->recorded_text = arena_printf(
        &f->arena,
        "%s (%.4g ms on average). All percentages refer to what is recorded in full; what rare "
        "steps "
        "outside of it do, gpuprof cannot tell",
        h->recorded_short, r->out.steps ? (double)r->out.ns / (double)r->out.steps / 1e6 : 0);
    if (h->unseen_text)
        h->recorded_text = arena_printf(&f->arena, "%s: %s", h->recorded_text, h->unseen_text);
}

static void tell_others(struct facts *f)
{
    struct health_facts *h = &f->health;
    size_t inside = 0; /* steps outside the windows are in the list as well: their
                          marks are always recorded */
    for (size_t i = 0; i < f->steps.count; i++)
        inside += recorded_at(f, f->steps.at[i].start_ns) != NULL;
    const char *asked = asked_window(f);
    h->recorded_text =
        h->run_steps
            ? arena_printf(
                  &f->arena,
                  "%s%zu of %lld steps recorded, %.3g %% of the run's time, in %zu window%s: all "
                  "percentages refer to this part; the mean over all steps is %.3g ms",
                  asked, inside, (long long)h->run_steps, h->recorded_pct, f->window_count,
                  f->window_count > 1 ? "s" : "", (double)h->run_mean_ns / 1e6)
            : arena_printf(&f->arena,
                           "%s%.3g %% of the run's time recorded, in %zu window%s: all percentages "
                           "refer to this part",
                           asked, h->recorded_pct, f->window_count, f->window_count > 1 ? "s" : "");
}

void recorded_tell(struct facts *f)
{
    const struct timeline *t = f->tl;
    struct health_facts *h = &f->health;
    struct run r;
    h->recorded_pct = 100;
    if (!f->window_count || f->steps.process >= t->process_count)
        return;
    const struct row_process *p = &t->processes[f->steps.process];
    if (p->end_ns <= p->start_ns)
        return;
    h->recorded_pct = 100.0 * (double)recorded_length_ns(f) / (double)(p->end_ns - p->start_ns);
    if (measure(f, &r) < 0)
        return;
    h->run_steps = r.in.steps + r.out.steps;
    h->run_mean_ns = h->run_steps ? (r.in.ns + r.out.ns) / h->run_steps : 0;
    const char *way = timeline_meta(t, "windows.way");
    bool light = way && strcmp(way, "light") == 0;
    if (!way || !h->run_steps) {
        tell_others(f);
        return;
    }
    tell_unseen(f, &r, light);
    tell_chosen(f, &r);
}
