/* Self-checks: what was lost, what stays unexplained, what the profiler itself cost. */
#include "analyzer/analyze/passes.h"

#include <stdlib.h>
#include <string.h>

/* Health codes whose value counts records that are missing. */
static bool counts_losses(const char *code)
{
    static const char *const parts[] = {"dropped", "starved",      "ring-full", "no-ring",
                                        "lost",    "strings-full", "names-full"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(code, parts[i]))
            return true;
    return false;
}

/* What the agent's own records cost the program's threads: the cost of one, as it measured itself,
 * times their number. -1: not measured. */
static double agent_ns(const struct timeline *t)
{
    const char *range = timeline_meta(t, "cost.range_ns"), *call = timeline_meta(t, "cost.call_ns");
    if (!range || !call)
        return -1;
    return strtod(range, NULL) * (double)t->range_count +
           strtod(call, NULL) * (double)t->call_count;
}

/* The profiler's own time on the program's threads, from CUPTI's overhead records and the agent's
 * measured cost. */
static double overhead_pct(const struct analysis *a)
{
    const struct timeline *t = a->tl;
    int64_t cost = 0;
    for (size_t i = 0; i < t->overhead_count; i++) {
        const struct row_overhead *o = &t->overheads[i];
        const char *name = tl_text(t, o->name);
        if (strstr(name, "flush") || strstr(name, "instrument") || strstr(name, "resource"))
            cost += o->end_ns - o->start_ns;
    }
    int64_t span = t->end_ns - t->start_ns;
    double own = agent_ns(t);
    if (span <= 0 || (own < 0 && !t->overhead_count))
        return -1;
    return 100.0 * ((double)cost + (own > 0 ? own : 0)) / (double)span;
}

void health_look(struct analysis *a)
{
    const struct timeline *t = a->tl;
    for (size_t i = 0; i < t->health_count; i++) {
        const struct row_health *h = &t->healths[i];
        a->health.warnings += h->severity >= 1;
        if (h->value > 0 && counts_losses(tl_text(t, h->code)))
            a->health.dropped += h->value;
    }
    if (a->steps.median_ns > 0 && t->op_count) /* of a GPU that was at work */
        a->health.unexplained_pct =
            100.0 * (double)a->breakdown_ns[PART_UNEXPLAINED] / (double)a->steps.median_ns;
    a->health.overhead_pct = overhead_pct(a);
}
