/* The edit that makes pageable copies pinned ones, on a stream of their own. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/query.h"

/* Bytes per ns of pinned copies: the best seen, give or take little, else 70 to 85 % of the PCIe
 * generation's rate; on generation 5 the host often does not keep up (from 40 %). */
static double pinned_rate(const struct graph *g, const struct draw *d)
{
    const struct timeline *t = g->a->tl;
    double best = 0;
    for (size_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (o->kind == OP_COPY && o->copy_kind == COPY_H2D && o->src_kind == MEMORY_PINNED &&
            o->bytes > 1 << 20 && o->end_ns > o->start_ns) {
            double rate = (double)o->bytes / (double)(o->end_ns - o->start_ns);
            best = rate > best ? rate : best;
        }
    }
    if (best > 0)
        return best * draw_between(d, 0, 1, 0.95);
    bool fifth = g->a->device && g->a->device->cc_major >= 9; /* generation */
    return draw_between(d, 0, 0.85, fifth ? 0.4 : 0.7) * query_pcie_rate(g->a);
}

static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    (void)x;
    edit_copies(g, p, MEMORY_PAGEABLE, query_of_pytorch(g->a), pinned_rate(g, d));
}

const struct edit_kind edit_pin = {
    .name = "pin",
    .apply = apply,
};
