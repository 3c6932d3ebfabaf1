#include "analyzer/queries/search.h"

#include "wire/spool_format.h"

#include <string.h>

bool query_searches(const struct timeline *t, const struct call *c)
{
    return c->row.family == SPOOL_CALL_FIND && strstr(tl_text(t, c->row.function), "Find");
}

static bool *no_marks(struct arena *arena, size_t n)
{
    return arena_array(arena, n + 1, sizeof(bool));
}

struct query_search query_search(const struct facts *f, struct arena *arena)
{
    const struct timeline *t = f->tl;
    struct query_search s = {0};
    bool *calls = NULL, *ops = NULL;
    for (size_t i = 0; i < t->call_count; i++) {
        const struct call *c = &t->calls[i];
        if (!query_searches(t, c))
            continue;
        calls = calls ? calls : no_marks(arena, t->api_count);
        for (uint32_t k = 0; calls && k < c->apis; k++)
            calls[c->first_api + k] = true;
    }
    ops = calls ? no_marks(arena, t->op_count) : NULL;
    if (!ops)
        return s;
    for (size_t i = 0; i < t->op_count; i++)
        ops[i] = t->ops[i].api != TL_NONE && calls[t->ops[i].api];
    for (size_t i = 0; i < f->gap_count; i++) {
        const struct gap *g = &f->gaps[i];
        if (g->api != TL_NONE && calls[g->api] && g->step != TL_NONE && f->steps.at[g->step].used)
            s.sync_ns += gap_ns(f, g, PART_IDLE_SYNC);
    }
    s.call_marks = calls;
    s.op_marks = ops;
    return s;
}
