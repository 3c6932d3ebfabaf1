/* Places the events of one step after a change; see replayed.h. */
#include "analyzer/whatif/replayed.h"

#include "analyzer/whatif/engine.h"
#include "analyzer/whatif/limits.h"

#include <math.h>
#include <stdlib.h>

static int64_t length_of(const struct replay *r, size_t s)
{
    return r->step_end[s] - r->step_end[s - 1];
}

static int64_t apart(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

/* Returns the replayed step that is nearest to the recorded, the median and the replayed pace, or 0
 * if none is near. If the window is repeated, only the last turn has settled, so only its steps
 * qualify. */
static size_t typical(const struct engine *x)
{
    const struct graph *g = x->g;
    size_t from = g->steps - g->recorded_steps, best = 0;
    int64_t least = INT64_MAX;
    from = from > g->skip ? from : g->skip;
    for (size_t s = from ? from : 1; s < g->steps; s++) {
        const struct step *was = &x->f->steps.at[g->first + s % g->recorded_steps];
        int64_t recorded = was->to_ns - was->from_ns;
        int64_t replay = apart(length_of(&x->now, s), recorded);
        int64_t usual = apart(recorded, x->f->steps.median_ns);
        int64_t after = apart(length_of(&x->then, s), x->then.pace_ns);
        if (replay * 100 > recorded * WHATIF_NEAR_PCT || after * 100 > recorded * WHATIF_NEAR_PCT)
            continue;
        if (replay + usual + after < least) {
            least = replay + usual + after;
            best = s;
        }
    }
    return best;
}

static int by_op(const void *a, const void *b)
{
    const struct placed_op *x = a, *y = b;
    return (x->op > y->op) - (x->op < y->op);
}

static int by_moment(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->was_ns != y->was_ns)
        return x->was_ns < y->was_ns ? -1 : 1;
    return (x->is_ns > y->is_ns) - (x->is_ns < y->is_ns);
}

static struct moment *put_moment(struct replayed_step *r, uint32_t thread, int64_t was_ns,
                                 int64_t is_ns)
{
    struct moment *m = &r->moments[r->moment_count++];
    *m = (struct moment){.thread = thread, .was_ns = was_ns, .is_ns = is_ns};
    return m;
}

/* Adds the begin and the end of a host task as moments. For waits and batches only the end was
 * recorded. */
static void put_host(struct engine *x, struct replayed_step *r, uint32_t i, int64_t shift_ns)
{
    const struct task *t = &x->g->tasks[i];
    uint32_t thread = t->lane - (uint32_t)x->g->streams;
    bool batch = t->kind == TASK_LOAD || t->kind == TASK_GET;
    int64_t at_ns = x->g->start_ns + t->at_ns;
    if (!batch && t->kind != TASK_WAIT)
        put_moment(r, thread, at_ns, x->then.start[i] + shift_ns);
    struct moment *end = put_moment(r, thread, at_ns + t->dur_ns, x->then.end[i] + shift_ns);
    end->elsewhere = t->kind == TASK_LOAD && x->plan.pool.workers > 0;
}

static bool on_host(const struct task *t)
{
    return (t->kind <= TASK_WAIT || t->kind >= TASK_LOAD) && !(t->flags & TASK_BEHIND);
}

/* Returns true if all moments between `from` and `to` lie on the line between these two, within
 * WHATIF_STRAIGHT_NS. */
static bool straight(const struct moment *m, size_t from, size_t to)
{
    double by = m[to].was_ns > m[from].was_ns ? (double)(m[to].is_ns - m[from].is_ns) /
                                                    (double)(m[to].was_ns - m[from].was_ns)
                                              : 0;
    for (size_t i = from + 1; i < to; i++) {
        double at = (double)m[from].is_ns + by * (double)(m[i].was_ns - m[from].was_ns);
        if (m[i].elsewhere || m[i].thread != m[to].thread ||
            fabs(at - (double)m[i].is_ns) > WHATIF_STRAIGHT_NS)
            return false;
    }
    return m[from].thread == m[to].thread && !m[to].elsewhere;
}

/* Removes moments that lie on a line between others: most of a thread's moments only shift. It
 * looks at most LOOK moments ahead, so that a long line does not cost quadratic time. */
static void thin(struct replayed_step *r)
{
    enum { LOOK = 256 };
    size_t kept = 0, from = 0;
    for (size_t i = 1; i < r->moment_count; i++) {
        if (i + 1 < r->moment_count && i + 1 - from < LOOK && straight(r->moments, from, i + 1))
            continue;
        r->moments[kept++] = r->moments[from];
        from = i;
    }
    if (r->moment_count)
        r->moments[kept++] = r->moments[from];
    r->moment_count = kept;
}

/* Fills *r with the operations and moments of step s. Returns 1, or -1 without memory. */
static int fill(struct engine *x, size_t s, struct replayed_step *r)
{
    const struct graph *g = x->g;
    size_t n = 1;
    for (size_t i = 0; i < g->count; i++)
        n += g->tasks[i].step == s;
    r->ops = malloc(n * sizeof *r->ops);
    r->moments = malloc(2 * n * sizeof *r->moments);
    if (!r->ops || !r->moments)
        return -1;
    int64_t shift_ns = r->from_ns - x->then.step_end[s - 1];
    put_moment(r, x->f->steps.main_thread, x->f->steps.at[r->step].start_ns,
               x->then.step_begin[s] + shift_ns);
    for (uint32_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        if (t->step != s)
            continue;
        if (on_host(t))
            put_host(x, r, i, shift_ns);
        else if (edit_op(g, i) && !(x->plan.mark[i] & PLAN_DROP))
            r->ops[r->op_count++] = (struct placed_op){t->source, x->then.start[i] + shift_ns,
                                                       x->then.end[i] + shift_ns};
    }
    qsort(r->ops, r->op_count, sizeof *r->ops, by_op);
    qsort(r->moments, r->moment_count, sizeof *r->moments, by_moment);
    thin(r);
    return 1;
}

int engine_replayed(struct engine *x, const struct edit *edit, struct replayed_step *out)
{
    static const struct draw middle = {{0.5, 0.5, 0.5}};
    *out = (struct replayed_step){0};
    if (x->g->count == 0 || x->g->once || x->g->steps < 2)
        return 0;
    plan_reset(&x->plan, x->g);
    replay_run(&x->now, x->g, &x->plan);
    edit_apply(edit, x->g, &x->plan, &middle);
    if (x->plan.work != 1)
        return 0;
    replay_settle(&x->then, x->g, &x->plan);
    size_t s = typical(x);
    if (s == 0)
        return 0;
    out->step = x->g->first + (uint32_t)(s % x->g->recorded_steps);
    const struct step *was = &x->f->steps.at[out->step];
    out->from_ns = was->start_ns + x->now.step_end[s - 1] - x->now.step_begin[s];
    out->was_ns = out->from_ns + was->to_ns - was->from_ns;
    out->to_ns = out->from_ns + length_of(&x->then, s);
    out->pace_ns = x->then.pace_ns;
    out->recorded_pace_ns = x->now.pace_ns;
    return fill(x, s, out);
}

void replayed_release(struct replayed_step *r)
{
    free(r->ops);
    free(r->moments);
    *r = (struct replayed_step){0};
}

bool replayed_op(const struct replayed_step *r, uint32_t op, int64_t *start_ns, int64_t *end_ns)
{
    const struct placed_op key = {.op = op}, *at = NULL;
    if (r->op_count)
        at = bsearch(&key, r->ops, r->op_count, sizeof key, by_op);
    if (!at)
        return false;
    *start_ns = at->start_ns;
    *end_ns = at->end_ns;
    return true;
}
