/* See host_pace.h. Steps are taken four in a row, as in holdout.c: what alternates from step to
 * step, and what the host runs ahead, is no difference of pace. */
#include "analyzer/whatif/host_pace.h"

#include <stdlib.h>

enum { BLOCK = 4, BLOCKS_LEAST = 4, STEPS_MOST = 256 };

/* By these shares another run's host is faster or slower than the recorded one, in four of five
 * runs at most. Measured on a virtual machine with an H200, by the replay, in programs whose steps
 * the host bounds: it took 0.77 to 1.19 of what it took when recorded in eight of them (medians of
 * one to three reruns), and 0.63, 0.66, 0.81 and 0.94 in four others, drawn at random; one had kept
 * to the 0.16 either way that the eight had said. Recorded hosts are the slow ones: recording cost
 * 8 and 12 % of a step that the host bounds where one process turned it on and off. */
static const double FASTER = 0.25, SLOWER = 0.16;

static bool of_host(const struct task *t)
{
    return t->kind == TASK_HOST_API || t->kind == TASK_HOST_GAP;
}

static int by_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between the values at which it lies. */
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
    if (g->once || blocks < BLOCKS_LEAST)
        return (struct host_pace){1, 1};
    for (size_t i = 0; i < g->recorded; i++) {
        const struct task *t = &g->tasks[i];
        if (of_host(t) && !(t->flags & TASK_BEHIND) && t->step < blocks * BLOCK)
            block[t->step / BLOCK] += (double)t->dur_ns;
    }
    qsort(block, blocks, sizeof *block, by_double);
    double usual = quantile(block, blocks, 0.5);
    if (usual <= 0)
        return (struct host_pace){1, 1};
    return (struct host_pace){quantile(block, blocks, 0.1) / usual,
                              quantile(block, blocks, 0.9) / usual};
}

void host_pace_apply(const struct host_pace *h, const struct graph *g, struct plan *p, double u)
{
    double to = u < 0.5 ? h->fast : h->slow, away = (u < 0.5 ? 0.5 - u : u - 0.5) / 0.4;
    double by = 1 + away * (to - 1);
    if (by == 1 || by <= 0)
        return;
    for (size_t i = 0; i < g->count; i++)
        if (of_host(&g->tasks[i]))
            p->dur[i] = (int64_t)((double)p->dur[i] * by);
}

/* Copies from and to pageable memory are work of the host as well: it stages them. */
static bool is_staged(const struct graph *g, const struct task *t)
{
    const struct op *o = t->kind == TASK_COPY ? &g->a->tl->ops[t->source] : NULL;
    return o && (o->src_kind == MEMORY_PAGEABLE || o->dst_kind == MEMORY_PAGEABLE);
}

void host_pace_of_run(const struct graph *g, struct plan *p, double u)
{
    double by = 1 + (u < 0.5 ? FASTER : SLOWER) * (u - 0.5) / 0.4;
    for (size_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        if (of_host(t) || t->kind == TASK_LOAD || is_staged(g, t))
            p->dur[i] = (int64_t)((double)p->dur[i] * by);
    }
}
