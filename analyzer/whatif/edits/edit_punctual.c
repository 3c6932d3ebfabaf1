/* The edit "punctual": the late rank arrives together with the last of the others. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/measure/spans.h"

#include <stdlib.h>

static int by_op(const void *key, const void *wait)
{
    uint32_t op = *(const uint32_t *)key, other = ((const struct late_wait *)wait)->op;
    return (op > other) - (op < other);
}

/* A collective that waits for other ranks keeps some multiprocessors busy, one for each of its
 * channels, and so slows down kernels beside it (ASSUMED_BESIDE_WAITING: up to 15 %, 20 of 132
 * multiprocessors). Without the wait these kernels take less time. */
static void free_beside(const struct graph *g, struct plan *p, const struct draw *d,
                        const struct spans *waits)
{
    double slower = draw_span(d, 0, ASSUMED_BESIDE_WAITING);
    for (uint32_t i = 0; i < g->count; i++) {
        const struct op *o = edit_op(g, i);
        if (!o || g->tasks[i].kind != TASK_KERNEL || o->end_ns <= o->start_ns)
            continue;
        double part = (double)spans_covered(waits, o->start_ns, o->end_ns) /
                      (double)(o->end_ns - o->start_ns);
        p->dur[i] = (int64_t)((double)p->dur[i] * (1 - part * (1 - 1 / slower)));
    }
}

/* Removes from each collective the wait for the rank that came last (w->spare_ns). The transfer
 * stays, and so does waiting for other ranks. If the replayed rank is the late one, its own step
 * changes in the same way: the others' pace becomes its own. */
static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    (void)x;
    const struct ranks *r = &g->a->ranks;
    struct spans waits = {0};
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && r->late != TL_NONE && i < g->count; i++) {
        if (g->tasks[i].kind != TASK_COLL)
            continue;
        const struct late_wait *w =
            bsearch(&g->tasks[i].source, r->waits, r->wait_count, sizeof *w, by_op);
        if (!w)
            continue;
        int64_t spare = w->spare_ns < p->dur[i] ? w->spare_ns : p->dur[i];
        int64_t start = edit_op(g, i)->start_ns;
        p->dur[i] -= spare;
        /* Spans are added by start; a collective of another communicator may start earlier. */
        if (waits.n == 0 || start >= waits.at[waits.n - 1].start_ns)
            rc = spans_add(&waits, start, start + spare);
    }
    if (rc == 0 && waits.n && spans_index(&waits) == 0)
        free_beside(g, p, d, &waits);
    spans_release(&waits);
}

const struct edit_kind edit_punctual = {
    .name = "punctual",
    .apply = apply,
    .measured_from_peer = true,
};
