/* The edit "bucket": a few large collectives instead of many small ones. */
#include "analyzer/whatif/edits/edits.h"

#include <stdlib.h>

/* Joins the n collectives of one step into `groups` groups: the last collective of a group does the
 * work of all. Each collective has a fixed cost, `spared` ns, which a group pays once. The rest of
 * its time is transfer, which stays, and waiting for other ranks, which also happens once per
 * group: `rest` is the share that stays. */
static void gather_step(const struct graph *g, struct plan *p, const uint32_t *row, size_t n,
                        size_t groups, int64_t spared, double rest)
{
    size_t each = (n + groups - 1) / groups;
    for (size_t from = 0; from < n; from += each) {
        size_t to = from + each < n ? from + each : n;
        int64_t sum = 0;
        for (size_t k = from; k < to; k++) {
            sum += p->dur[row[k]] > spared ? p->dur[row[k]] - spared : 0;
            if (k + 1 < to)
                edit_drop(g, p, row[k]);
        }
        int64_t joined = spared + (int64_t)((double)sum * (to - from > 1 ? rest : 1));
        p->dur[row[to - 1]] = joined;
    }
}

static bool touches(const struct edit *x, const struct graph *g, uint32_t i)
{
    (void)x;
    return edit_exchange(g, i);
}

/* Applies it step by step. ASSUMED_BUCKETS, ASSUMED_COMM_OVERHEAD and ASSUMED_COMM_REST have the
 * ranges. */
static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    size_t groups = (size_t)draw_span(d, 1, ASSUMED_BUCKETS), n = 0;
    uint32_t i, *row = malloc((g->count + 1) * sizeof *row);
    int64_t least = INT64_MAX;
    for (size_t k = 0; edit_next(x, g, &k, &i);)
        least = p->dur[i] < least ? p->dur[i] : least;
    int64_t spared =
        least == INT64_MAX ? 0 : (int64_t)((double)least * draw_span(d, 0, ASSUMED_COMM_OVERHEAD));
    double rest = draw_span(d, 2, ASSUMED_COMM_REST);
    for (size_t k = 0; row && edit_next(x, g, &k, &i);) {
        if (n && g->tasks[i].step != g->tasks[row[0]].step) {
            gather_step(g, p, row, n, groups, spared, rest);
            n = 0;
        }
        row[n++] = i;
    }
    if (n)
        gather_step(g, p, row, n, groups, spared, rest);
    free(row);
}

const struct edit_kind edit_bucket = {
    .name = "bucket",
    .apply = apply,
    .touches = touches,
    .needs_events = true,
};
