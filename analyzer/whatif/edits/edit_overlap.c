/* The edit "overlap": copies from pinned memory run in a stream of their own. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/query.h"

static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    (void)d;
    edit_copies(x, g, p, MEMORY_PINNED, x->overlap.in_stream, 0);
}

/* Returns the time of these copies per step: one copy engine still makes them one after the other,
 * so a step is never shorter. (The replay of a host that ran far ahead could move copies to earlier
 * steps without limit.) */
static int64_t copies_ns(const struct facts *f)
{
    return facts_per_step(f, query_h2d(f, MEMORY_PINNED).total_ns);
}

const struct edit_kind edit_overlap = {
    .name = "overlap",
    .apply = apply,
    .touches = edit_copies_touch,
    .certain = true,
    .needs_events = true,
    .within_measured = true,
    .least_ns = copies_ns,
};
