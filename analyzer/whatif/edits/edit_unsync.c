/* The edit "unsync": without the waits for all queued work. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/measure/ranges.h"
#include "analyzer/queries/waits.h"

/* Returns the outermost range around call `c` in which nothing is launched, or TL_NONE. There the
 * program reads a result and processes it, which it would do as rarely as it waits. */
static uint32_t reading_range(const struct graph *g, const struct api *c)
{
    const struct timeline *t = g->a->tl;
    uint32_t in = range_at(t, c->thread, c->start_ns), best = TL_NONE;
    const struct thread *th = &t->threads[c->thread];
    for (; in != TL_NONE; in = t->ranges[in].parent) {
        const struct range *r = &t->ranges[in];
        for (const struct api *x = c; x >= &t->apis[th->first_api] && x->start_ns >= r->start_ns;
             x--)
            if (x->kind == API_LAUNCH || x->kind == API_GRAPH_LAUNCH || x->kind == API_MEMSET)
                return best;
        for (const struct api *x = c;
             x < &t->apis[th->first_api + th->apis] && x->start_ns < r->end_ns; x++)
            if (x->kind == API_LAUNCH || x->kind == API_GRAPH_LAUNCH || x->kind == API_MEMSET)
                return best;
        best = in;
    }
    return best;
}

/* Removes the thread's pauses behind wait i up to the end of that range. */
static void drop_reading(const struct graph *g, struct plan *p, uint32_t i, const struct range *r)
{
    uint32_t lane = g->tasks[i].lane;
    size_t turn = task_turn(g, &g->tasks[i]);
    for (uint32_t k = i + 1; k < g->count && g->start_ns + g->tasks[k].at_ns < r->end_ns &&
                             task_turn(g, &g->tasks[k]) == turn;
         k++) {
        const struct task *t = &g->tasks[k];
        if (t->lane != lane || t->kind != TASK_HOST_GAP)
            continue;
        int64_t over = g->start_ns + t->at_ns + t->dur_ns - r->end_ns;
        p->dur[k] = over > 0 ? over : 0;
    }
}

/* True for waits that stay: a wait inside an allocation stays with the allocation. */
static bool stays(const struct edit *x, const struct facts *f, uint32_t call)
{
    uint8_t kind = f->tl->apis[call].kind;
    return kind == API_ALLOC || kind == API_FREE || kind == API_HOST_ALLOC ||
           (x->spared && x->spared[call]);
}

static bool touches(const struct edit *x, const struct graph *g, uint32_t i)
{
    const struct task *t = &g->tasks[i];
    (void)x;
    return t->kind == TASK_WAIT && t->flags & TASK_DRAINS;
}

/* Drops the waits for all queued work, except waits of uploads: edits of copies handle those. */
static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    (void)d;
    uint32_t i;
    for (size_t k = 0; edit_next(x, g, &k, &i);) {
        const struct task *t = &g->tasks[i];
        if (stays(x, g->a, t->source))
            continue;
        const struct api *c = &g->a->tl->apis[t->source];
        if (c->op != TL_NONE && g->a->tl->ops[c->op].copy_kind == COPY_H2D)
            continue;
        p->mark[i] |= PLAN_DROP;
        uint32_t in = reading_range(g, c);
        if (in != TL_NONE)
            drop_reading(g, p, i, &g->a->tl->ranges[in]);
    }
}

const struct edit_kind edit_unsync = {
    .name = "unsync",
    .apply = apply,
    .touches = touches,
    .change = LEDGER_HOST,
    .certain = true,
    .of_host = true,
    .keeps_input = true,
    .wait_by_wait = true,
};
