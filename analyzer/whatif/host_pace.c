/* Measures and varies the host's pace; see host_pace.h. It takes four consecutive steps at a time,
 * as holdout.c does: work that alternates from step to step, or that the host does ahead, is no
 * difference of pace. */
#include "analyzer/whatif/host_pace.h"

#include "analyzer/measure/ranges.h"
#include "analyzer/whatif/limits.h"
#include "base/order.h"

#include <stdlib.h>

enum { BLOCK = 4, STEPS_MOST = 256 };

/* Interpolates between the two nearest values. */
static double quantile(const double *sorted, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    return i + 1 < n ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

struct host_pace host_pace_of(const struct graph *g)
{
    double block[STEPS_MOST / BLOCK] = {0};
    size_t steps = g->recorded_steps < STEPS_MOST ? g->recorded_steps : STEPS_MOST;
    size_t blocks = steps / BLOCK;
    if (g->once || blocks < WHATIF_BLOCKS)
        return (struct host_pace){1, 1};
    for (size_t i = 0; i < g->recorded; i++) {
        const struct task *t = &g->tasks[i];
        if (task_is_host(t) && !(t->flags & TASK_BEHIND) && t->step < blocks * BLOCK)
            block[t->step / BLOCK] += (double)t->dur_ns;
    }
    qsort(block, blocks, sizeof *block, order_double);
    double usual = quantile(block, blocks, 0.5);
    if (usual <= 0)
        return (struct host_pace){1, 1};
    return (struct host_pace){quantile(block, blocks, 0.1) / usual,
                              quantile(block, blocks, 0.9) / usual};
}

void host_pace_apply(const struct host_pace *h, const struct graph *g, struct plan *p, double u)
{
    double to = 2 * u < 1 ? h->fast : h->slow, away = (2 * u < 1 ? 0.5 - u : u - 0.5) / 0.4;
    double by = 1 + away * (to - 1);
    if (by == 1 || by <= 0)
        return;
    for (size_t i = 0; i < g->count; i++)
        if (g->classes[i].kind <= TASK_HOST_GAP)
            p->dur[i] = (int64_t)((double)p->dur[i] * by);
}

/* The host stages copies from and to pageable memory, so their time is host time as well. */
static bool is_staged(const struct graph *g, const struct task *t)
{
    const struct op *o = &g->a->tl->ops[t->source];
    return o->src_kind == MEMORY_PAGEABLE || o->dst_kind == MEMORY_PAGEABLE;
}

void host_pace_of_run(const struct graph *g, struct plan *p, double u)
{
    double by = 1 + (2 * u < 1 ? WHATIF_HOST_FASTER : WHATIF_HOST_SLOWER) * (u - 0.5) / 0.4;
    for (size_t i = 0; i < g->count; i++) {
        uint8_t kind = g->classes[i].kind;
        if (kind <= TASK_HOST_GAP || kind == TASK_LOAD ||
            (kind == TASK_COPY && is_staged(g, &g->tasks[i])))
            p->dur[i] = (int64_t)((double)p->dur[i] * by);
    }
}

/* ---- stacks of Python ---- */

float *host_pace_stacked(const struct graph *g, struct arena *arena)
{
    const struct timeline *t = g->a->tl;
    float *calls =
        g->a->health.python_functions ? arena_array(arena, g->count + 1, sizeof *calls) : NULL;
    double all = 0, ns = 0;
    for (size_t i = 0; calls && i < g->recorded; i++) {
        const struct task *k = &g->tasks[i];
        bool on_thread = task_is_host(k) || (k->kind == TASK_LOAD && k->flags & TASK_INLINE);
        if (!on_thread || k->lane < g->streams || k->lane - g->streams >= t->thread_count)
            continue;
        const struct thread *th = &t->threads[k->lane - g->streams];
        int64_t from = g->start_ns + k->at_ns;
        calls[i] = (float)(range_from(t, th, from + k->dur_ns) - range_from(t, th, from));
        all += (double)calls[i];
        ns += (double)k->dur_ns;
    }
    /* tasks of repeated steps get the mean */
    for (size_t i = g->recorded; calls && ns > 0 && i < g->count; i++)
        calls[i] = task_is_host(&g->tasks[i]) ? (float)(all / ns * (double)g->tasks[i].dur_ns) : 0;
    return calls;
}

void host_pace_unstack(const float *calls, const struct graph *g, struct plan *p, double u)
{
    double each = WHATIF_STACKED_LEAST_NS + u * (WHATIF_STACKED_MOST_NS - WHATIF_STACKED_LEAST_NS);
    for (size_t i = 0; calls && i < g->count; i++) {
        double cost = each * (double)calls[i], most = WHATIF_UNSTACKED * (double)p->dur[i];
        p->dur[i] -= (int64_t)(cost < most ? cost : most);
    }
}
