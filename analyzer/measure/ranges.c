#include "analyzer/measure/ranges.h"

#include "wire/spool_format.h"

#include <stdlib.h>

uint32_t *range_parents(const struct timeline *t)
{
    uint32_t *parent = malloc((t->range_count + 1) * sizeof *parent), open = TL_NONE;
    if (!parent)
        return NULL;
    for (uint32_t i = 0; i < t->range_count; i++) {
        const struct range *r = &t->ranges[i];
        while (open != TL_NONE &&
               (t->ranges[open].thread != r->thread || t->ranges[open].end_ns <= r->start_ns))
            open = parent[open];
        parent[i] = open;
        open = i;
    }
    return parent;
}

uint32_t range_at(const struct timeline *t, const uint32_t *parent, uint32_t thread, int64_t at_ns)
{
    if (thread == TL_NONE)
        return TL_NONE;
    size_t first = t->threads[thread].first_range, low = first,
           high = low + t->threads[thread].ranges;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (t->ranges[mid].start_ns <= at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    uint32_t i = low > first ? (uint32_t)low - 1 : TL_NONE;
    while (i != TL_NONE && t->ranges[i].end_ns <= at_ns)
        i = parent[i];
    return i;
}

uint32_t range_place_at(const struct timeline *t, const uint32_t *parent, uint32_t thread,
                        int64_t at_ns)
{
    uint32_t i = range_at(t, parent, thread, at_ns);
    while (i != TL_NONE && spool_step_mark(tl_text(t, t->ranges[i].name)) != SPOOL_STEP_NONE)
        i = parent[i];
    return i;
}
