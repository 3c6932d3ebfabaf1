/* Finds the host's work to gather and free sharded weights, and the library that shards them. */
#include "analyzer/queries/training/sharding.h"

#include "analyzer/measure/spans.h"
#include "analyzer/queries/query.h"
#include "wire/fact_keys.h"

#include <stdlib.h>
#include <string.h>

/* True for NVTX ranges that DeepSpeed puts around the hooks of ZeRO stage 3. */
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

bool query_waits_for_shards(const char *range)
{
    return strstr(range, "GatherCoalescedHandle.") || strstr(range, "ZeroOptimizer_Stage3.");
}

const char *query_sharding_engine(const struct facts *f)
{
    const char *zero = timeline_meta(f->tl, FACT_TORCH_DEEPSPEED);
    if (zero)
        return strcmp(zero, "ZeRO 3") == 0 ? zero : "DeepSpeed";
    return timeline_meta(f->tl, FACT_TORCH_FSDP) ? "FSDP" : NULL;
}

/* Adds the ranges of all threads, because the training thread and the backward thread take
 * turns. -1: out of memory. */
static int find_ranges(const struct facts *f, struct spans *out)
{
    const struct timeline *t = f->tl;
    uint8_t *is_hook = calloc((size_t)t->strings.n + 1, 1);
    bool any = false;
    for (uint32_t i = 0; is_hook && i < t->strings.n; i++)
        any |= is_hook[i] = shards(tl_text(t, i));
    struct span *found = any ? malloc((size_t)t->range_count * sizeof *found) : NULL;
    int rc = is_hook && (found || !any) ? 0 : -1;
    size_t n = 0;
    for (uint32_t i = 0; any && rc == 0 && i < t->range_count; i++) {
        const struct range *r = &t->ranges[i];
        if (is_hook[r->name] && t->threads[r->thread].process == f->steps.process &&
            query_step_at(f, r->start_ns) != TL_NONE)
            found[n++] = (struct span){r->start_ns, r->end_ns};
    }
    if (n)
        qsort(found, n, sizeof *found, by_start);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = spans_add(out, found[i].start_ns, found[i].end_ns);
    free(is_hook);
    free(found);
    return rc < 0 ? -1 : spans_index(out);
}

int query_sharding(const struct facts *f, struct arena *arena, struct query_sharding *s)
{
    struct spans hooks = {0};
    *s = (struct query_sharding){.host_of_gap =
                                     arena_array(arena, f->gap_count + 1, sizeof *s->host_of_gap)};
    int rc = s->host_of_gap ? find_ranges(f, &hooks) : -1;
    s->host_ns = rc < 0 ? 0 : spans_total(&hooks);
    for (size_t i = 0; s->host_ns && i < f->gap_count; i++) {
        const struct gap *g = &f->gaps[i];
        if (g->step == TL_NONE || !f->steps.at[g->step].used)
            continue;
        int64_t host = gap_ns(f, g, PART_IDLE_HOST),
                waits = host + gap_ns(f, g, PART_IDLE_LAUNCH) + gap_ns(f, g, PART_IDLE_SYNC),
                covered = spans_covered(&hooks, g->start_ns, g->end_ns);
        s->idle_ns += covered < waits ? covered : waits;
        s->host_of_gap[i] = covered < host ? covered : host;
    }
    spans_release(&hooks);
    return rc;
}

bool query_shards(const struct facts *f, const struct query_sharding *s)
{
    return s->idle_ns > 0 && per_step(f, s->idle_ns) * 100 >= QUERY_SHARDS_PCT * f->step_ns;
}
