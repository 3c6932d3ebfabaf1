/* Marks the work that cuDNN does on its own while it searches for an algorithm. */
#include "analyzer/queries/search.h"

#include "base/order.h"
#include "wire/spool_format.h"

#include <stdlib.h>
#include <string.h>

bool query_searches(const struct timeline *t, const struct call *c)
{
    return c->trial ||
           (c->row.family == SPOOL_CALL_FIND && strstr(tl_text(t, c->row.function), "Find"));
}

static bool *no_marks(struct arena *arena, size_t n)
{
    return arena_array(arena, n + 1, sizeof(bool));
}

/* Marks the calls of one search. Events, waits and allocations of workspace lie around the
 * timed plans. So it also marks the calls until the next plan, and the calls before the first
 * plan that launch nothing. */
static void mark(const struct timeline *t, const struct call *c, bool *calls)
{
    const struct call *next = c + 1;
    uint32_t end = c->first_api + c->apis;
    if (c->trial && next < t->calls + t->call_count && next->thread == c->thread &&
        next->first_api != TL_NONE)
        end = next->first_api;
    for (uint32_t k = c->first_api; k < end; k++)
        calls[k] = true;
    uint32_t before = c->trial && c->first_api != TL_NONE ? c->first_api : 0;
    while (before > t->threads[c->thread].first_api && t->apis[before - 1].op == TL_NONE &&
           !calls[before - 1])
        calls[--before] = true;
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
        if (calls)
            mark(t, c, calls);
    }
    struct query_operators operators = query_search_operators(f, arena);
    calls = operators.count ? no_marks(arena, t->api_count) : calls;
    if (operators.count && calls)
        query_mark_operators(f, &operators, calls);
    ops = calls ? no_marks(arena, t->op_count) : NULL;
    if (!ops)
        return s;
    for (size_t i = 0; i < t->op_count; i++)
        ops[i] = t->ops[i].api != TL_NONE && calls[t->ops[i].api];
    for (size_t i = 0; i < f->gap_count; i++) {
        const struct gap *g = &f->gaps[i];
        if (g->api == TL_NONE || !calls[g->api] || g->step == TL_NONE || !f->steps.at[g->step].used)
            continue;
        s.sync_ns += gap_ns(f, g, PART_IDLE_SYNC);
        s.alloc_ns += gap_ns(f, g, PART_IDLE_ALLOC);
    }
    s.call_marks = calls;
    s.op_marks = ops;
    return s;
}

struct query_trials query_trials(const struct facts *f, struct arena *arena)
{
    const struct timeline *t = f->tl;
    struct query_trials x = {NULL, 0};
    size_t n = 0;
    for (size_t i = 0; i < t->call_count; i++)
        n += query_searches(t, &t->calls[i]);
    x.at = n ? arena_array(arena, n, sizeof *x.at) : NULL;
    for (size_t i = 0; x.at && i < t->call_count; i++)
        if (query_searches(t, &t->calls[i]))
            x.at[x.count++] = &t->calls[i];
    return x;
}

static bool is_for(const struct facts *f, const struct call *search, const struct row_call *c)
{
    static const char *const pass[] = {"Forward", "BackwardData", "BackwardFilter"};
    const char *function = tl_text(f->tl, search->row.function);
    int64_t of = c->family - SPOOL_CALL_CONV_FWD;
    bool same_pass = search->trial ? search->row.family == c->family
                                   : function && of >= 0 && of < 3 && strstr(function, pass[of]);
    return of >= 0 && of < 3 && same_pass && search->row.in_type == c->in_type &&
           search->row.in_layout == c->in_layout &&
           memcmp(search->row.dim, c->dim, sizeof c->dim) == 0;
}

/* Duration of a kernel that multiplies on tensor cores; 0: another operation. */
static double tensor_ns(const struct timeline *t, uint32_t op)
{
    const struct op *o = op == TL_NONE ? NULL : &t->ops[op];
    bool there = o && o->kind == OP_KERNEL && o->class.tensor == TRI_YES &&
                 (o->class.family == FAMILY_CONV || o->class.family == FAMILY_GEMM);
    return there ? (double)(o->end_ns - o->start_ns) : 0;
}

double query_tried_ns(const struct facts *f, const struct query_trials *x,
                      const struct call *convolution)
{
    const struct timeline *t = f->tl;
    double least = 0;
    for (size_t i = 0; i < x->count; i++) {
        const struct call *s = x->at[i];
        if (s->first_api == TL_NONE || !is_for(f, s, &convolution->row))
            continue;
        for (uint32_t k = s->first_api; k < s->first_api + s->apis; k++) {
            double ns = tensor_ns(t, t->apis[k].op);
            least = ns > 0 && (least == 0 || ns < least) ? ns : least;
        }
    }
    return least;
}

/* Hash of a convolution's sizes and data type. The pass (forward, backward) does not count. */
static uint64_t sizes_hash(const struct row_call *r)
{
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < sizeof r->dim / sizeof *r->dim; i++)
        h = (h ^ (uint64_t)r->dim[i]) * 1099511628211u;
    return (h ^ (uint64_t)r->in_type) * 1099511628211u;
}

/* True if the step contains a convolution of new sizes, which are added to `known`. Steps are
 * examined in order, because calls of several threads are not sorted by step. */
static bool step_brings_new(const struct facts *f, uint32_t step, uint64_t *known, size_t *count)
{
    size_t before = *count;
    bool new = false;
    for (size_t i = 0; i < f->tl->call_count; i++) {
        const struct call *c = &f->tl->calls[i];
        if (c->row.family != SPOOL_CALL_CONV_FWD || c->row.dim[0] <= 0 || c->trial ||
            facts_step_at(f, c->row.start_ns) != step)
            continue;
        uint64_t h = sizes_hash(&c->row);
        if (bsearch(&h, known, before, sizeof h, order_uint64))
            continue;
        new = true;
        known[(*count)++] = h;
    }
    qsort(known, *count, sizeof *known, order_uint64);
    return new;
}

double query_new_sizes_pct(const struct facts *f)
{
    uint64_t *known = malloc((f->tl->call_count + 1) * sizeof *known);
    size_t count = 0, looked = 0, with_new = 0;
    for (uint32_t s = 0; known && s < f->steps.count && looked < QUERY_SIZES_LOOKED; s++) {
        bool new = step_brings_new(f, s, known, &count);
        looked += s >= QUERY_SIZES_FIRST;
        with_new += s >= QUERY_SIZES_FIRST && new;
    }
    free(known);
    return looked ? 100.0 * (double)with_new / (double)looked : 0;
}
