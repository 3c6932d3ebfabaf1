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
    return of >= 0 && of < 3 && function && strstr(function, pass[of]) &&
           search->row.in_type == c->in_type && search->row.in_layout == c->in_layout &&
           memcmp(search->row.dim, c->dim, sizeof c->dim) == 0;
}

/* Of a kernel that multiplies on tensor cores; 0: of another. */
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
