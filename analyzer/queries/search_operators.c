/* Finds the operators that time plans of a convolution, in traces without library calls (search.h). */
#include "analyzer/queries/search.h"

#include "analyzer/measure/ranges.h"

#include <string.h>

/* The operator of a convolution around the call; TL_NONE: none. */
static uint32_t convolution_at(const struct timeline *t, const struct api *c)
{
    uint32_t r = range_at(t, c->thread, c->start_ns);
    while (r != TL_NONE && !strstr(tl_text(t, t->ranges[r].name), "convolution"))
        r = t->ranges[r].parent;
    return r;
}

static uint32_t name_of(const struct timeline *t, const char *call)
{
    for (uint32_t i = 0; i < t->strings.n; i++)
        if (strcmp(tl_text(t, i), call) == 0)
            return i;
    return TL_NONE;
}

/* Writes the operators to `out`, if that is not NULL, and returns how many there are. */
static size_t find(const struct timeline *t, uint32_t *out)
{
    size_t n = 0;
    uint32_t last = TL_NONE, name = name_of(t, "cudaEventElapsedTime");
    for (size_t i = 0; i < t->api_count && name != TL_NONE; i++) {
        if (t->apis[i].name != name)
            continue;
        uint32_t r = convolution_at(t, &t->apis[i]);
        if (r == TL_NONE || r == last)
            continue;
        if (out)
            out[n] = r;
        n++;
        last = r;
    }
    return n;
}

bool query_operators_search(const struct facts *f)
{
    return f->tl->call_count == 0 && find(f->tl, NULL) > 0;
}

struct query_operators query_search_operators(const struct facts *f, struct arena *arena)
{
    size_t n = f->tl->call_count ? 0 : find(f->tl, NULL);
    uint32_t *at = n ? arena_array(arena, n, sizeof *at) : NULL;
    return (struct query_operators){at, at ? find(f->tl, at) : 0};
}

void query_mark_operators(const struct facts *f, const struct query_operators *searches,
                          bool *calls)
{
    const struct timeline *t = f->tl;
    for (size_t i = 0; i < searches->count; i++) {
        const struct range *r = &t->ranges[searches->at[i]];
        const struct thread *th = &t->threads[r->thread];
        for (uint32_t k = timeline_api_from(t, th, r->start_ns);
             k < th->first_api + th->apis && t->apis[k].start_ns < r->end_ns; k++)
            calls[k] |= t->apis[k].end_ns <= r->end_ns;
    }
}
