#include "analyzer/queries/training/sharding.h"

#include "analyzer/measure/spans.h"
#include "analyzer/queries/query.h"

#include <stdlib.h>
#include <string.h>

/* NVTX ranges that DeepSpeed has around the hooks of its stage 3. */
static bool shards(const char *name)
{
    return strstr(name, "PartitionedParameterCoordinator.") ||
           strstr(name, "DeepSpeedZeRoOffload.");
}

static int by_start(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Of the thread that trains and of that of its backward passes: they take turns. -1: no memory. */
static int find_ranges(const struct facts *f, struct spans *out)
{
    const struct timeline *t = f->tl;
    uint8_t *known = calloc((size_t)t->strings.n + 1, 1); /* 1: shards, 2: does not */
    struct span *found = malloc(((size_t)t->range_count + 1) * sizeof *found);
    int rc = known && found ? 0 : -1;
    size_t n = 0;
    for (uint32_t i = 0; rc == 0 && i < t->range_count; i++) {
        const struct range *r = &t->ranges[i];
        if (!known[r->name])
            known[r->name] = shards(tl_text(t, r->name)) ? 1 : 2;
        if (known[r->name] == 1 && t->threads[r->thread].process == f->steps.process &&
            query_step_at(f, r->start_ns) != TL_NONE)
            found[n++] = (struct span){r->start_ns, r->end_ns};
    }
    if (n)
        qsort(found, n, sizeof *found, by_start);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = spans_add(out, found[i].start_ns, found[i].end_ns);
    free(known);
    free(found);
    return rc < 0 ? -1 : spans_index(out);
}

int query_sharding(const struct facts *f, struct query_sharding *s)
{
    struct spans hooks = {0};
    int rc = find_ranges(f, &hooks);
    *s = (struct query_sharding){.host_ns = rc < 0 ? 0 : spans_total(&hooks)};
    for (size_t i = 0; s->host_ns && i < f->gap_count; i++) {
        const struct gap *g = &f->gaps[i];
        if (g->step == TL_NONE || !f->steps.at[g->step].used)
            continue;
        int64_t waits = gap_ns(f, g, PART_IDLE_HOST) + gap_ns(f, g, PART_IDLE_LAUNCH) +
                        gap_ns(f, g, PART_IDLE_SYNC);
        int64_t covered = spans_covered(&hooks, g->start_ns, g->end_ns);
        s->idle_ns += covered < waits ? covered : waits;
    }
    spans_release(&hooks);
    return rc;
}
