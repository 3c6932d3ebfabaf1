/* Predicts what single waits save. If a step waits for the GPU several times, removing one wait
 * often saves nothing, because the next one waits for the same work. This file adds to the finding
 * what the best single wait saves, beside the saving of all.
 *
 * Cost: a replay for each of the few places in the step at which the host is blocked longest. */
#include "analyzer/advice/passes.h"
#include "analyzer/queries/query.h"
#include "analyzer/queries/waits.h"

#include <stdlib.h>

enum { WAITS = 64 }; /* only the first WAITS waits of a step are examined */

/* The n-th wait of each step. */
struct step_wait {
    int64_t blocked_ns;
    uint32_t call; /* of these, the longest one */
    int64_t longest_ns;
    int64_t saves_ns;
};

struct step_waits {
    struct step_wait at[WAITS];
    size_t n; /* number of waits in a step, also beyond WAITS */
};

static int64_t blocked_ns(const struct graph *g, uint32_t i)
{
    const struct task *t = &g->tasks[i];
    if (t->prev == TASK_NONE)
        return 0;
    const struct task *before = &g->tasks[t->prev];
    return t->at_ns - before->at_ns - before->dur_ns;
}

/* Calls `visit` for each wait that the plan drops, with its number within its step. */
typedef void wait_fn(const struct graph *g, uint32_t i, size_t place, void *arg);
static void each_dropped(const struct engine *x, wait_fn *visit, void *arg)
{
    const struct graph *g = x->g;
    size_t place = 0;
    uint32_t step = TASK_NONE;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        if (t->kind != TASK_WAIT || !(x->plan.mark[i] & PLAN_DROP))
            continue;
        place = t->step == step ? place + 1 : 0;
        step = t->step;
        visit(g, i, place, arg);
    }
}

static void count(const struct graph *g, uint32_t i, size_t place, void *arg)
{
    struct step_waits *p = arg;
    int64_t ns = blocked_ns(g, i);
    p->n = place + 1 > p->n ? place + 1 : p->n;
    if (place >= WAITS)
        return;
    struct step_wait *at = &p->at[place];
    at->blocked_ns += ns;
    if (at->call == TL_NONE || ns > at->longest_ns) {
        at->call = g->tasks[i].source;
        at->longest_ns = ns;
    }
}

/* Argument of mark_place(): sets `keep` of the calls at one place to `value`. */
struct spare {
    size_t place;
    bool *keep;
    bool value;
};

static void mark_place(const struct graph *g, uint32_t i, size_t place, void *arg)
{
    struct spare *s = arg;
    if (place == s->place)
        s->keep[g->tasks[i].source] = s->value;
}

static void drop_all(struct engine *x, const struct outcome *o)
{
    struct draw middle = {{0.5, 0.5, 0.5}};
    plan_reset(&x->plan, x->g);
    edit_apply(&o->edit, x->g, &x->plan, &middle);
}

/* Returns what a step saves in ns if only the waits at `place` go. */
static int64_t saved_by_place(struct engine *x, const struct outcome *o, size_t place, bool *keep)
{
    struct outcome one = *o;
    const struct outcome *only = &one;
    struct spare s = {place, keep, false};
    one.edit.spared = keep;
    drop_all(x, o);
    each_dropped(x, mark_place, &s);
    engine_forget(x); /* `keep` has changed */
    int64_t ns = predict_saved(x, &only, 1);
    drop_all(x, o);
    s.value = true;
    each_dropped(x, mark_place, &s);
    return ns > 0 ? ns : 0;
}

static struct step_wait *longest_untried(struct step_waits *p, const bool *tried)
{
    struct step_wait *best = NULL;
    for (size_t i = 0; i < WAITS; i++)
        if (!tried[i] && p->at[i].call != TL_NONE &&
            (!best || p->at[i].blocked_ns > best->blocked_ns))
            best = &p->at[i];
    return best;
}

/* Removes the ADVICE_WAITS_TRIED longest waits one at a time. Returns the one that saves most, or
 * NULL. */
static const struct step_wait *best_alone(struct engine *x, const struct outcome *o,
                                          struct step_waits *p)
{
    const struct step_wait *best = NULL;
    bool tried[WAITS] = {false}, *keep = malloc(x->f->tl->api_count + 1);
    for (size_t i = 0; keep && i < x->f->tl->api_count; i++)
        keep[i] = true;
    for (int n = 0; keep && n < ADVICE_WAITS_TRIED; n++) {
        struct step_wait *at = longest_untried(p, tried);
        if (!at)
            break;
        tried[at - p->at] = true;
        at->saves_ns = saved_by_place(x, o, (size_t)(at - p->at), keep);
        best = !best || at->saves_ns > best->saves_ns ? at : best;
    }
    free(keep);
    return best;
}

/* Returns what the call copies, e.g. ", 8.2 kB to the host", or "" if it copies nothing. */
static const char *copied(const struct timeline *t, struct arena *arena, uint32_t call)
{
    static const char *const units[] = {"B", "kB", "MB", "GB"};
    const struct api *c = &t->apis[call];
    if (c->op == TL_NONE || t->ops[c->op].kind != OP_COPY)
        return "";
    const struct op *o = &t->ops[c->op];
    double n = (double)o->bytes;
    size_t unit = 0;
    for (; n >= 1000 && unit < sizeof units / sizeof *units - 1; unit++)
        n /= 1000;
    return arena_printf(arena, ", %.*f %s%s", unit && n < 10 ? 1 : 0, n, units[unit],
                        o->copy_kind == COPY_D2H   ? " to the host"
                        : o->copy_kind == COPY_H2D ? " to the GPU"
                                                   : "");
}

static const char *ordinal(struct arena *arena, size_t n)
{
    static const char *const ends[] = {"th", "st", "nd", "rd"};
    return arena_printf(arena, "%zu%s", n, ends[n % 10 < 4 && n / 10 % 10 != 1 ? n % 10 : 0]);
}

/* Returns e.g. "the 3rd of these waits (cudaMemcpy, 8.2 kB to the host, in 'loss')": the call's
 * name alone would fit many waits. */
static const char *wait_text(const struct facts *f, struct arena *arena, const struct step_wait *p,
                             size_t nth)
{
    const char *in = query_range_of(f, p->call);
    return arena_printf(arena, "the %s of these waits (%s%s%s%s%s)", ordinal(arena, nth),
                        tl_text(f->tl, f->tl->apis[p->call].name), copied(f->tl, arena, p->call),
                        in ? ", in '" : "", in ? in : "", in ? "'" : "");
}

/* The longest waits are explicit synchronisations, but the best single wait reads a result back:
 * then the remedy contains both. */
static void advise_reading(struct advice *a, struct outcome *o, const struct step_wait *best)
{
    const struct timeline *t = a->facts->tl;
    struct query_waits why;
    query_waits(a->facts, &why);
    if (why.most != WAIT_EXPLICIT || !query_reads_back(t, &t->apis[best->call]))
        return;
    o->remedy.conditions[CONDITION_ALSO_READ] = o->remedy.action == ACTION_REMOVE_SYNCHRONIZE;
}

/* Explains a saving far above the idle time after the waits, which looks like a contradiction. */
static void explain_more(struct advice *a, struct outcome *o)
{
    const int64_t *part = a->facts->breakdown_ns;
    if (o->saves_mid_ns > ADVICE_ODD_TIMES * (part[PART_IDLE_SYNC] + part[PART_IDLE_COPY]) &&
        part[PART_IDLE_INPUT] + part[PART_IDLE_HOST] > o->saves_mid_ns / 2)
        o->summary =
            arena_printf(&a->arena,
                         "%s. The saving is larger than that because without the waits the host "
                         "prepares the next work (%s) while the GPU computes",
                         o->summary,
                         part[PART_IDLE_INPUT] > part[PART_IDLE_HOST] ? "mostly input data"
                                                                      : "Python, launches");
}

void predict_waits(struct advice *a, struct engine *x, struct outcome *o)
{
    explain_more(a, o);
    struct step_waits p = {.n = 0};
    for (size_t i = 0; i < WAITS; i++)
        p.at[i].call = TL_NONE;
    drop_all(x, o);
    each_dropped(x, count, &p);
    const struct step_wait *best = p.n > 1 ? best_alone(x, o, &p) : NULL;
    if (!best)
        return;
    const char *one = time_text(&a->arena, best->saves_ns),
               *all = time_text(&a->arena, o->saves_mid_ns);
    if (best->saves_ns * QUERY_WORTH < a->facts->step_ns)
        o->summary = arena_printf(
            &a->arena,
            "%s. Removing only one of these waits saves almost nothing (at most %s), because "
            "the next one waits instead; removing all of them saves %s",
            o->summary, one, all);
    else {
        const char *where = wait_text(a->facts, &a->arena, best, (size_t)(best - p.at) + 1);
        advise_reading(a, o, best);
        o->summary =
            arena_printf(&a->arena, "%s. Removing only %s saves %s, removing all of them saves %s",
                         o->summary, where, one, all);
    }
    outcome_evidence_per(o, "saved by removing only the best one of the waits,",
                         (double)best->saves_ns / 1e6, "ms", NULL);
}
