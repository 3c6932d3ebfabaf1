/* The table of edits. */
#include "analyzer/whatif/edits/edits.h"

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
    if (!edit_drop_launched(g, p, i))
        return;
    uint32_t call = g->tasks[i].issue;
    uint32_t pause = g->tasks[call].prev;
    if (pause != TASK_NONE && g->tasks[pause].kind == TASK_HOST_GAP &&
        (p->most || g->tasks[pause].dur_ns < HOST_PAUSE_NS))
        p->dur[pause] = (int64_t)((double)p->dur[pause] * (1 - part));
}

bool edit_picks(const struct edit *x, const struct graph *g, uint32_t op)
{
    return x->op_marks ? x->op_marks[op] : x->ops && x->ops(g->a, op);
}

static const struct {
    const char *name;
    edit_fn *apply;
    bool certain; /* nothing is drawn */
    bool host;    /* leaves the work of every stream as it is */
} edits[] = {
    [EDIT_NONE] = {"none", NULL, true, false},
    [EDIT_WORKERS] = {"workers", edit_workers, false, true},
    [EDIT_MORE_WORKERS] = {"more-workers", edit_more_workers, false, true},
    [EDIT_PIN] = {"pin", edit_pin, false, false},
    [EDIT_OVERLAP] = {"overlap", edit_overlap, true, false},
    [EDIT_UNSYNC] = {"unsync", edit_unsync, true, true},
    [EDIT_LAYOUT] = {"layout", edit_layout, false, false},
    [EDIT_PRECISION] = {"precision", edit_precision, false, false},
    [EDIT_FUSE] = {"fuse", edit_fuse, false, false},
    [EDIT_GRAPH] = {"graph", edit_graph, false, true},
    [EDIT_ALGORITHM] = {"algorithm", edit_algorithm, false, false},
    [EDIT_KEEP_GRADIENTS] = {"keep-gradients", edit_keep_gradients, true, false},
    [EDIT_REMOVE] = {"remove", edit_remove, true, false},
    [EDIT_SCALE] = {"scale", edit_scale, false, false},
    [EDIT_JOIN] = {"join", edit_join, false, false},
    [EDIT_BATCH] = {"batch", edit_batch, false, false},
    [EDIT_ACCUMULATE] = {"accumulate", edit_accumulate, true, false},
    [EDIT_HIDE_COMM] = {"hide-comm", edit_hide_comm, false, false},
    [EDIT_BUCKET] = {"bucket", edit_bucket, false, false},
    [EDIT_PUNCTUAL] = {"punctual", edit_punctual, false, false},
    [EDIT_UNBLOCK] = {"unblock", edit_unblock, false, false},
    [EDIT_SKIP] = {"skip", edit_skip, true, true},
    [EDIT_READ_FREE] = {"read-free", edit_read_free, true, true},
};

const char *edit_name(enum edit_kind kind)
{
    return edits[kind].name;
}

bool edit_certain(enum edit_kind kind)
{
    return edits[kind].certain;
}

bool edit_of_host(enum edit_kind kind)
{
    return edits[kind].host;
}

void edit_apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    if (edits[x->kind].apply)
        edits[x->kind].apply(x, g, p, d);
}
