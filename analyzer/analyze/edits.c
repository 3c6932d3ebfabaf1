/* The table of edits. */
#include "analyzer/analyze/edits.h"

void edit_drop(const struct graph *g, struct plan *p, uint32_t i)
{
    uint32_t call = g->tasks[i].issue;
    p->mark[i] |= PLAN_DROP;
    if (call == TASK_NONE || g->a->tl->apis[g->tasks[call].source].ops > 1)
        return;
    p->dur[call] = 0;
    uint32_t pause = g->tasks[call].prev;
    if (pause != TASK_NONE && g->tasks[pause].kind == TASK_HOST_GAP &&
        g->tasks[pause].dur_ns < HOST_PAUSE_NS)
        p->dur[pause] = 0;
}

bool edit_picks(const struct edit *x, const struct graph *g, uint32_t op)
{
    return x->op_marks ? x->op_marks[op] : x->ops && x->ops(g->a, op);
}

static const struct {
    edit_fn *apply;
    bool certain; /* nothing is drawn */
} edits[] = {
    [EDIT_NONE] = {NULL, true},
    [EDIT_WORKERS] = {edit_workers, false},
    [EDIT_PIN] = {edit_pin, false},
    [EDIT_OVERLAP] = {edit_overlap, true},
    [EDIT_UNSYNC] = {edit_unsync, true},
    [EDIT_LAYOUT] = {edit_layout, false},
    [EDIT_PRECISION] = {edit_precision, false},
    [EDIT_FUSE] = {edit_fuse, false},
    [EDIT_GRAPH] = {edit_graph, false},
    [EDIT_ALGORITHM] = {edit_algorithm, false},
    [EDIT_KEEP_GRADIENTS] = {edit_keep_gradients, true},
    [EDIT_REMOVE] = {edit_remove, true},
    [EDIT_SCALE] = {edit_scale, false},
    [EDIT_JOIN] = {edit_join, false},
    [EDIT_BATCH] = {edit_batch, false},
    [EDIT_ACCUMULATE] = {edit_accumulate, true},
    [EDIT_HIDE_COMM] = {edit_hide_comm, false},
    [EDIT_BUCKET] = {edit_bucket, false},
    [EDIT_PUNCTUAL] = {edit_punctual, true},
};

bool edit_certain(enum edit_kind kind)
{
    return edits[kind].certain;
}

void edit_apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    if (edits[x->kind].apply)
        edits[x->kind].apply(x, g, p, d);
}
