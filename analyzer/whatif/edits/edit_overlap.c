/* The edit that moves pinned copies to a stream of their own. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/query.h"

static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    (void)d;
    edit_copies(g, p, MEMORY_PINNED, x->overlap.in_stream, 0);
}

/* Copies in a stream of their own still follow each other: one copy engine makes them all. A host
 * that ran far ahead when recorded would fetch only so many steps ahead of time. */
static int64_t copies_ns(const struct facts *f)
{
    return facts_per_step(f, query_h2d(f, MEMORY_PINNED).total_ns);
}

const struct edit_kind edit_overlap = {
    .name = "overlap",
    .apply = apply,
    .certain = true,
    .needs_events = true,
    .within_measured = true,
    .least_ns = copies_ns,
};
