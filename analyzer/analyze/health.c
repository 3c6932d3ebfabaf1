/* Self-checks: what was lost, what stays unexplained, what the profiler itself cost. */
#include "analyzer/analyze/passes.h"

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

/* The profiler's own time on the program's threads, from its overhead records. */
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
    return t->overhead_count && span > 0 ? 100.0 * (double)cost / (double)span : -1;
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
    if (a->steps.median_ns > 0)
        a->health.unexplained_pct =
            100.0 * (double)a->breakdown_ns[PART_UNEXPLAINED] / (double)a->steps.median_ns;
    a->health.overhead_pct = overhead_pct(a);
}
