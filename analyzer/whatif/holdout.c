/* Measures how well steps of a recording predict one another: replays all steps with the durations
 * of four consecutive ones, and compares the result with the recorded time of these four. (Host and
 * GPU run ahead of each other by a step or two, so a single step does not show its length.) One
 * step can lend its durations to another if every thread and stream does the same kinds of tasks in
 * the same order; host pauses, polls, frees and waits for room in a queue are not compared. */
#include "analyzer/whatif/holdout.h"
#include "analyzer/whatif/limits.h"

#include "base/order.h"

#include <math.h>
#include <stdlib.h>

enum { HELD = 4, HELD_STEPS_MAX = 64 };

/* The compared tasks of each step, lane by lane, in their order. */
struct rows {
    uint32_t *list, *at[HELD_STEPS_MAX];
    size_t n[HELD_STEPS_MAX], steps;
};

/* True for tasks that differ from step to step without a change of work: pauses, polls, frees, and
 * waits for room in a queue. */
static bool is_filler(const struct graph *g, const struct task *t)
{
    if (t->kind == TASK_HOST_API)
        return g->a->tl->apis[t->source].kind == API_EVENT_QUERY;
    if (t->kind == TASK_WAIT)
        return g->a->tl->apis[t->source].kind == API_LAUNCH ||
               g->a->tl->apis[t->source].kind == API_FREE;
    return t->kind == TASK_HOST_GAP;
}

static bool counts(const struct graph *g, const struct task *t, size_t steps)
{
    return t->step < steps && !(t->flags & TASK_BEHIND) && !is_filler(g, t);
}

/* Lists the compared tasks by step and lane (a counting sort). Returns -1 without memory. */
static int list_rows(struct rows *r, const struct graph *g)
{
    *r = (struct rows){.steps = g->steps < HELD_STEPS_MAX ? g->steps : HELD_STEPS_MAX};
    size_t buckets = r->steps * g->lanes, from = 0;
    size_t *next = calloc(buckets + 1, sizeof *next);
    r->list = malloc((g->count + 1) * sizeof *r->list);
    if (!next || !r->list) {
        free(next);
        free(r->list);
        return -1;
    }
    for (uint32_t i = 0; i < g->count; i++)
        if (counts(g, &g->tasks[i], r->steps))
            next[g->tasks[i].step * g->lanes + g->tasks[i].lane]++;
    for (size_t b = 0; b < buckets; b++) {
        size_t n = next[b], step = b / g->lanes;
        if (b % g->lanes == 0)
            r->at[step] = r->list + from;
        r->n[step] += n;
        next[b] = from;
        from += n;
    }
    for (uint32_t i = 0; i < g->count; i++)
        if (counts(g, &g->tasks[i], r->steps))
            r->list[next[g->tasks[i].step * g->lanes + g->tasks[i].lane]++] = i;
    free(next);
    return 0;
}

/* True if steps x and y consist of the same kinds of tasks in the same lanes. */
static bool alike(const struct graph *g, const struct rows *r, size_t x, size_t y)
{
    if (r->n[x] != r->n[y])
        return false;
    for (size_t i = 0; i < r->n[x]; i++) {
        const struct task *s = &g->tasks[r->at[x][i]], *o = &g->tasks[r->at[y][i]];
        if (s->kind != o->kind || s->lane != o->lane)
            return false;
    }
    return true;
}

/* Returns the recorded duration of the pauses and polls before task i, in ns. *first: the earliest
 * of these tasks, or TASK_NONE. */
static int64_t filler_before(const struct graph *g, uint32_t i, uint32_t *first)
{
    int64_t ns = 0;
    *first = TASK_NONE;
    for (uint32_t k = g->tasks[i].prev; k != TASK_NONE && is_filler(g, &g->tasks[k]);
         k = g->tasks[k].prev) {
        ns += g->tasks[k].dur_ns;
        *first = k;
    }
    return ns;
}

/* Gives task `to` the duration of task `from`, and the pauses before it. */
static void lend_task(const struct graph *g, struct plan *p, uint32_t from, uint32_t to)
{
    uint32_t mine, theirs;
    int64_t pause = filler_before(g, from, &theirs);
    p->dur[to] = g->tasks[from].dur_ns;
    filler_before(g, to, &mine);
    for (uint32_t k = g->tasks[to].prev; mine != TASK_NONE && k != TASK_NONE;
         k = g->tasks[k].prev) {
        p->dur[k] = 0;
        if (k == mine)
            break;
    }
    p->dur[mine == TASK_NONE ? to : mine] += task_on_gpu(&g->tasks[to]) ? 0 : pause;
}

/* Gives the steps the durations of the `held` steps from `first` on, in turn. Returns how many
 * steps got durations. */
static size_t lend(const struct graph *g, struct plan *p, const struct rows *r, size_t first,
                   size_t held)
{
    size_t same = 0;
    plan_reset(p, g);
    for (size_t o = 1; o < r->steps; o++) {
        size_t s = first + (o + held * r->steps - first) % held;
        if (!alike(g, r, s, o))
            continue;
        same++;
        for (size_t i = 0; i < r->n[s]; i++)
            lend_task(g, p, r->at[s][i], r->at[o][i]);
    }
    return same;
}

int holdout_check(struct whatif *w, const struct graph *g, const struct replay *now, struct plan *p,
                  struct replay *then)
{
    struct rows r;
    size_t errors = 0;
    double error[HELD_STEPS_MAX];
    /* a repeated step would be compared with its own copy */
    if (g->once || g->steps > g->recorded_steps)
        return 0;
    if (list_rows(&r, g) < 0)
        return -1;
    size_t held = r.steps > 2 * HELD ? HELD : 1;
    for (size_t s = 1; s + held <= r.steps; s++) {
        if (lend(g, p, &r, s, held) * 100 < r.steps * (size_t)WHATIF_LENT_PCT)
            continue;
        double measured =
            (double)(now->step_end[s + held - 1] - now->step_end[s - 1]) / (double)held;
        if (measured > 0)
            error[errors++] = 100.0 * fabs((double)replay_run(then, g, p) - measured) / measured;
    }
    if (errors)
        qsort(error, errors, sizeof *error, order_double);
    w->holdout_error_pct = errors ? error[errors / 2] : -1;
    w->holdout_p95_pct = errors ? error[errors * 95 / 100] : -1;
    free(r.list);
    return 0;
}
