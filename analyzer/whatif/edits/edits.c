/* Helpers of several edits: which work an edit names, and how work is dropped with its launch. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/query.h"
#include "analyzer/queries/waits.h"
#include "wire/spool_format.h"

#include <stdlib.h>

void edit_find(struct edit *x, const struct graph *g, struct arena *arena)
{
    uint8_t *touched = x->kind && x->kind->touches ? calloc(g->count + 1, 1) : NULL;
    size_t n = 0;
    for (uint32_t i = 0; touched && i < g->count; i++)
        n += touched[i] = x->kind->touches(x, g, i);
    uint32_t *tasks = touched ? arena_array(arena, n + 1, sizeof *tasks) : NULL;
    x->tasks = tasks;
    x->task_count = n;
    for (uint32_t i = 0; tasks && i < g->count; i++)
        if (touched[i])
            *tasks++ = i;
    free(touched);
}

bool edit_drop_launched(const struct graph *g, struct plan *p, uint32_t i)
{
    uint32_t call = g->tasks[i].issue;
    p->mark[i] |= PLAN_DROP;
    if (call == TASK_NONE || g->a->tl->apis[g->tasks[call].source].ops > 1)
        return false;
    p->dur[call] = 0;
    return true;
}

void edit_drop(const struct graph *g, struct plan *p, uint32_t i)
{
    edit_drop_with(g, p, i, 1);
}

void edit_drop_with(const struct graph *g, struct plan *p, uint32_t i, double part)
{
    if (edit_drop_launched(g, p, i))
        edit_drop_pause(g, p, g->tasks[i].issue, part);
}

void edit_drop_pause(const struct graph *g, struct plan *p, uint32_t call, double part)
{
    uint32_t pause = g->tasks[call].prev;
    if (pause != TASK_NONE && g->tasks[pause].kind == TASK_HOST_GAP &&
        (p->most || g->tasks[pause].dur_ns < ASSUMED_PAUSE_NS))
        p->dur[pause] = (int64_t)((double)p->dur[pause] * (1 - part));
}

bool edit_picks(const struct edit *x, const struct graph *g, uint32_t op)
{
    return x->at.op_marks ? x->at.op_marks[op] : x->at.ops && x->at.ops(g->a, op);
}

bool edit_takes_stops(const struct edit *x, const struct facts *f)
{
    if (!x->kind || !x->kind->owns_calls)
        return x->kind && x->kind->wait_by_wait;
    for (uint32_t i = 0; i < f->tl->api_count; i++) {
        bool gone = x->at.call_marks ? x->at.call_marks[i] : x->at.calls && x->at.calls(f, i);
        if (gone && query_step_at(f, f->tl->apis[i].start_ns) != TL_NONE &&
            query_stops_capture(f->tl, &f->tl->apis[i]))
            return true;
    }
    return false;
}

bool edit_picks_call(const struct edit *x, const struct graph *g, uint32_t call)
{
    return x->at.call_marks ? x->at.call_marks[call] : x->at.calls && x->at.calls(g->a, call);
}

void edit_drop_call(const struct edit *x, const struct graph *g, struct plan *p, uint32_t i)
{
    const struct task *t = &g->tasks[i];
    if (t->kind == TASK_HOST_API && edit_picks_call(x, g, t->source))
        p->dur[i] = 0;
    if (t->kind != TASK_WAIT)
        return;
    uint32_t op = g->a->tl->apis[t->source].op;
    if (edit_picks_call(x, g, t->source) ||
        (op != TL_NONE && t->flags & TASK_COPY_WAIT && edit_picks(x, g, op)))
        p->mark[i] |= PLAN_DROP;
}

bool edit_updates(const struct graph *g, uint32_t i)
{
    uint32_t op = g->tasks[i].source;
    return query_is_optimizer(g->a, op) != QUERY_NO || query_is_zeroing(g->a, op) != QUERY_NO;
}

const struct call *edit_call(const struct edit *x, const struct graph *g, uint32_t i)
{
    uint32_t c = x->at.op_calls ? x->at.op_calls[g->tasks[i].source] : TL_NONE;
    return c == TL_NONE ? NULL : &g->a->tl->calls[c];
}

bool edit_in_nhwc(const struct edit *x, const struct graph *g, uint32_t i)
{
    const struct call *c = edit_call(x, g, i);
    return c && c->row.in_layout == SPOOL_LAYOUT_NHWC;
}

bool edit_converts(const struct edit *x, const struct graph *g, uint32_t i)
{
    const struct op *o = edit_op(g, i);
    return x->at.op_calls && o && o->kind == OP_KERNEL && o->class.family == FAMILY_LAYOUT &&
           !edit_in_nhwc(x, g, i);
}
