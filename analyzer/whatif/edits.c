/* The table of edits. */
#include "analyzer/whatif/edits.h"

void edit_drop(const struct graph *g, struct plan *p, uint32_t i)
{
    uint32_t call = g->tasks[i].issue;
    p->mark[i] |= PLAN_DROP;
    if (call == TASK_NONE || g->a->tl->apis[g->tasks[call].source].ops > 1)
        return;
    p->dur[call] = 0;
    uint32_t pause = g->tasks[call].prev;
    if (pause != TASK_NONE && g->tasks[pause].kind == TASK_HOST_GAP &&
        (p->most || g->tasks[pause].dur_ns < HOST_PAUSE_NS))
        p->dur[pause] = 0;
}

bool edit_picks(const struct edit *x, const struct graph *g, uint32_t op)
{
    return x->op_marks ? x->op_marks[op] : x->ops && x->ops(g->a, op);
}

static const struct {
    const char *name;
    edit_fn *apply;
    bool certain; /* nothing is drawn */
} edits[] = {
    [EDIT_NONE] = {"none", NULL, true},
    [EDIT_WORKERS] = {"workers", edit_workers, false},
    [EDIT_PIN] = {"pin", edit_pin, false},
    [EDIT_OVERLAP] = {"overlap", edit_overlap, true},
    [EDIT_UNSYNC] = {"unsync", edit_unsync, true},
    [EDIT_LAYOUT] = {"layout", edit_layout, false},
    [EDIT_PRECISION] = {"precision", edit_precision, false},
    [EDIT_FUSE] = {"fuse", edit_fuse, false},
    [EDIT_GRAPH] = {"graph", edit_graph, false},
    [EDIT_ALGORITHM] = {"algorithm", edit_algorithm, false},
    [EDIT_KEEP_GRADIENTS] = {"keep-gradients", edit_keep_gradients, true},
    [EDIT_REMOVE] = {"remove", edit_remove, true},
    [EDIT_SCALE] = {"scale", edit_scale, false},
    [EDIT_JOIN] = {"join", edit_join, false},
    [EDIT_BATCH] = {"batch", edit_batch, false},
    [EDIT_ACCUMULATE] = {"accumulate", edit_accumulate, true},
    [EDIT_HIDE_COMM] = {"hide-comm", edit_hide_comm, false},
    [EDIT_BUCKET] = {"bucket", edit_bucket, false},
    [EDIT_PUNCTUAL] = {"punctual", edit_punctual, false},
    [EDIT_UNBLOCK] = {"unblock", edit_unblock, false},
    [EDIT_SKIP] = {"skip", edit_skip, true},
    [EDIT_READ_FREE] = {"read-free", edit_read_free, true},
};

const char *edit_name(enum edit_kind kind)
{
    return edits[kind].name;
}

bool edit_certain(enum edit_kind kind)
{
    return edits[kind].certain;
}

void edit_apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    if (edits[x->kind].apply)
        edits[x->kind].apply(x, g, p, d);
}
