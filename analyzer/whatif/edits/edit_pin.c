/* The edit "pin": copies from pageable memory become copies from pinned memory, in a stream of
 * their own. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/query.h"

/* Returns the rate of pinned copies in bytes per ns: near the best rate in the recording, or else a
 * share of what the PCIe generation allows. */
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
        return best * draw_span(d, 0, ASSUMED_PINNED_SEEN);
    bool fifth = g->a->device && g->a->device->cc_major >= 9; /* PCIe generation 5 */
    return draw_span(d, 0, fifth ? ASSUMED_PCIE_FIFTH : ASSUMED_PCIE) * query_pcie_rate(g->a);
}

static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    edit_copies(x, g, p, MEMORY_PAGEABLE, query_of_pytorch(g->a), pinned_rate(g, d));
}

const struct edit_kind edit_pin = {
    .name = "pin",
    .apply = apply,
    .touches = edit_copies_touch,
};
