/* The edit in which the late rank arrives with the last of the others. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/measure/spans.h"

#include <stdlib.h>

static int by_op(const void *key, const void *wait)
{
    uint32_t op = *(const uint32_t *)key, other = ((const struct late_wait *)wait)->op;
    return (op > other) - (op < other);
}

/* A collective that waits for other ranks spins on some of the multiprocessors, one for each of its
 * channels, and slows the kernels beside it down: by nothing to 15 % (20 of 132). Not while it no
 * longer waits. */
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

/* The late rank comes with the last of the others: in collectives for which it came last, nobody
 * waits for it any more. The transfer stays, and so does waiting for other ranks. The same holds
 * for the late rank's own step: the others' pace becomes its own. */
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
        if (waits.n == 0 || start >= waits.at[waits.n - 1].start_ns) /* of one communicator */
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
