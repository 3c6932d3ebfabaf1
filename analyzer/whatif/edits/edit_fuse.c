/* The edit "fuse": one kernel for the optimizer's update, or for the work that the edit names. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/query.h"
#include "analyzer/whatif/edits/limits.h"

#include <math.h>

static bool fuses(const struct edit *x, const struct graph *g, uint32_t i)
{
    bool told = x->at.ops || x->at.op_marks;
    if (!edit_op(g, i))
        return false;
    return told ? edit_picks(x, g, g->tasks[i].source)
                : query_is_optimizer(g->a, g->tasks[i].source) != QUERY_NO;
}

static bool touches(const struct edit *x, const struct graph *g, uint32_t i)
{
    uint8_t kind = g->tasks[i].kind;
    return fuses(x, g, i) || (x->at.call_marks && (kind == TASK_HOST_API || kind == TASK_WAIT));
}

/* The work to fuse. Each different kernel in it is one pass over the parameters. */
struct update {
    int passes;
    int64_t least_ns;
};

/* Counts the different kernels of the work to fuse, and finds the shortest. */
static struct update update_of(const struct edit *x, const struct graph *g)
{
    enum { PASSES = 8 };
    uint32_t seen[PASSES];
    struct update u = {0, INT64_MAX};
    uint32_t i;
    for (size_t n = 0; edit_next(x, g, &n, &i);) {
        if (x->at.call_marks && !fuses(x, g, i))
            continue;
        if (g->tasks[i].dur_ns < u.least_ns)
            u.least_ns = g->tasks[i].dur_ns;
        int k = 0;
        while (k < u.passes && seen[k] != edit_op(g, i)->full_name)
            k++;
        if (k == u.passes && k < PASSES)
            seen[u.passes++] = edit_op(g, i)->full_name;
    }
    return u;
}

/* Returns the share of the memory's rate that a kernel's blocks can reach: at least ASSUMED_FILLED,
 * since a few blocks already reach that much. 1: not known. */
static double filled(const struct graph *g, uint32_t task)
{
    const struct op *o = edit_op(g, task);
    int64_t processors = g->a->device ? g->a->device->sm_count : 0;
    double blocks = 1;
    for (int k = 0; k < 3; k++)
        blocks *= o->grid[k];
    if (processors <= 0 || blocks <= 0 || blocks >= (double)processors)
        return 1;
    return fmax(blocks / (double)processors, ASSUMED_FILLED);
}

/* Removes the host's time between two removed launches: the loop's own work. A pause from
 * QUERY_OWN_WORK_NS on is something else, which stays. */
static void drop_loop(const struct graph *g, struct plan *p, uint32_t i)
{
    uint32_t call = g->tasks[i].issue;
    uint32_t pause = call == TASK_NONE ? TASK_NONE : g->tasks[call].prev;
    uint32_t before = pause == TASK_NONE ? TASK_NONE : g->tasks[pause].prev;
    if (before != TASK_NONE && g->tasks[pause].kind == TASK_HOST_GAP &&
        g->tasks[before].kind == TASK_HOST_API && p->dur[before] == 0 &&
        g->tasks[pause].dur_ns < QUERY_OWN_WORK_NS)
        p->dur[pause] = 0;
}

/* The first kernel of a step takes over the work of the others. The shortest kernel is nearly all
 * fixed cost, which a fused kernel pays once. The rest is transfer of bytes, and a fused kernel
 * reaches the full rate where single kernels leave multiprocessors empty. Several passes become
 * one: at best it moves as much as ASSUMED_PASSES of them, at worst as much as all (later passes
 * found their data in the cache).
 * If `gone_marks` names passes whose work another kernel does, these disappear and the others
 * stay. */
static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    struct update u = update_of(x, g);
    int64_t spared =
        u.passes == 0 ? 0 : (int64_t)((double)u.least_ns * draw_span(d, 0, ASSUMED_OVERHEAD));
    double bytes = x->fuse.bad > 0
                       ? draw_between(d, 1, x->fuse.good, x->fuse.bad)
                       : draw_between(d, 1, u.passes > 1 ? ASSUMED_PASSES / u.passes : 1, 1);
    bool one = u.passes == 1 && x->fuse.bad <= 0;
    double pause = x->fuse.within ? draw_span(d, 2, ASSUMED_CAST_PAUSE) : 1;
    uint32_t first = TASK_NONE, step = TASK_NONE, i;
    for (size_t k = 0; edit_next(x, g, &k, &i);) {
        if (x->at.call_marks && g->tasks[i].kind == TASK_HOST_API &&
            edit_picks_call(x, g, g->tasks[i].source))
            edit_drop_pause(g, p, i, 1);
        if (x->at.call_marks)
            edit_drop_call(x, g, p, i);
        if (x->at.call_marks && !fuses(x, g, i))
            continue;
        if (x->at.gone_marks && x->at.gone_marks[g->tasks[i].source]) {
            edit_drop(g, p, i);
            continue;
        }
        if (first == TASK_NONE || g->tasks[i].step != step) {
            first = i;
            step = g->tasks[i].step;
            continue;
        }
        double rest = one || x->at.gone_marks ? draw_between(d, 1, filled(g, i), 1) : bytes;
        p->dur[first] += p->dur[i] > spared ? (int64_t)((double)(p->dur[i] - spared) * rest) : 0;
        edit_drop_with(g, p, i, pause);
        if (x->fuse.loop)
            drop_loop(g, p, i);
    }
}

const struct edit_kind edit_fuse = {
    .name = "fuse",
    .apply = apply,
    .touches = touches,
    .change = LEDGER_KERNEL,
    .owns_calls = true,
};
