/* Edits that a rule aims itself: it names the operations and calls that they are about. */
#include "analyzer/whatif/edits.h"

#include "analyzer/queries/query.h"

static bool picks_call(const struct edit *x, const struct graph *g, uint32_t call)
{
    return x->call_marks ? x->call_marks[call] : x->calls && x->calls(g->a, call);
}

/* Is task i one of the calls that vanish, or the wait in it? */
static bool of_call(const struct edit *x, const struct graph *g, uint32_t i)
{
    const struct task *t = &g->tasks[i];
    return (t->kind == TASK_HOST_API || t->kind == TASK_WAIT) && picks_call(x, g, t->source);
}

/* Does task i come behind a pause of its thread between two calls that vanish? */
static bool behind_pause(const struct edit *x, const struct graph *g, uint32_t i)
{
    uint32_t pause = g->tasks[i].prev;
    if (!x->pauses || !of_call(x, g, i) || pause == TASK_NONE ||
        g->tasks[pause].kind != TASK_HOST_GAP)
        return false;
    uint32_t before = g->tasks[pause].prev;
    return before != TASK_NONE && of_call(x, g, before);
}

/* Operations vanish with their launches, calls with their waits. What waited for them waits for
 * what came before them. */
void edit_remove(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    (void)d;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        const struct op *o = edit_op(g, i);
        if (o && edit_picks(x, g, t->source))
            edit_drop(g, p, i);
        if (behind_pause(x, g, i))
            p->dur[t->prev] = 0;
        if (t->kind == TASK_HOST_API && picks_call(x, g, t->source))
            p->dur[i] = 0;
        if (t->kind != TASK_WAIT)
            continue;
        uint32_t op = g->a->tl->apis[t->source].op;
        if (picks_call(x, g, t->source) ||
            (op != TL_NONE && t->flags & TASK_COPY_WAIT && edit_picks(x, g, op)))
            p->mark[i] |= PLAN_DROP;
    }
}

void edit_scale(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    double by = draw_between(d, 0, x->good, x->bad);
    for (uint32_t i = 0; i < g->count; i++) {
        if (!edit_op(g, i) || !edit_picks(x, g, g->tasks[i].source))
            continue;
        if (x->gone_marks && x->gone_marks[g->tasks[i].source])
            edit_drop(g, p, i);
        else
            p->dur[i] = (int64_t)((double)p->dur[i] * by);
    }
}

struct row { /* neighbours in a stream */
    int64_t most_ns, sum_ns;
    bool mixed; /* with some that are not pointwise */
};

static struct row row_of(const struct graph *g, const struct plan *p, const uint32_t *task,
                         size_t n)
{
    struct row r = {0};
    for (size_t k = 0; k < n; k++) {
        uint8_t f = g->classes[task[k]].family;
        r.sum_ns += p->dur[task[k]];
        r.most_ns = p->dur[task[k]] > r.most_ns ? p->dur[task[k]] : r.most_ns;
        r.mixed |=
            f == FAMILY_SOFTMAX || f == FAMILY_NORM || f == FAMILY_REDUCE || f == FAMILY_CAST;
    }
    return r;
}

/* Neighbours in a stream become one kernel: as long as the longest, at worst a quarter of the
 * others longer for what each reads besides; never longer than they were. Behind a matrix kernel
 * pointwise ones may become part of that one, as its epilogue, and cost nothing. With softmax,
 * norms and casts among them the longest may read and write FP32, where the fused kernel moves 16
 * bits: half of it at best (GPT-2 in bfloat16, published: 300 ms a step, compiled 130). But not all
 * that is next to each other is about the same data: at worst most of each other one stays
 * (compiled on the virtual GPU, ResNet-50 and a ViT in FP32 gained nothing, ViT-B in bfloat16 29
 * %). */
static void join_row(const struct graph *g, struct plan *p, const uint32_t *task, size_t n,
                     const struct draw *d)
{
    struct row r = row_of(g, p, task, n);
    uint32_t before = g->tasks[task[0]].prev;
    const struct op *o = before == TASK_NONE ? NULL : edit_op(g, before);
    bool behind = o && (o->class.family == FAMILY_GEMM || o->class.family == FAMILY_CONV);
    double left = r.mixed ? draw_between(d, 1, 0.5, 1) : behind ? draw_between(d, 1, 0, 1) : 1;
    double more = draw_between(d, 0, 0, r.mixed ? 0.8 : 0.25);
    int64_t joined = (int64_t)((double)r.most_ns * (1 + more * (double)(n - 1)));
    /* What the host does for each goes with it; a compiled program has a host's work of its own. */
    size_t gone = query_of_pytorch(g->a) ? (size_t)(draw_between(d, 2, 1, 0.1) * (double)n) : n;
    for (size_t k = 1; k < n; k++) {
        if (k < gone)
            edit_drop(g, p, task[k]);
        else
            edit_drop_launched(g, p, task[k]);
    }
    p->dur[task[0]] = (int64_t)((double)(joined < r.sum_ns ? joined : r.sum_ns) * left);
}

void edit_join(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    enum { ROW = 16 };
    uint32_t row[ROW];
    size_t n = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        if (!task_on_gpu(&g->tasks[i]))
            continue;
        bool picked =
            edit_op(g, i) && !(p->mark[i] & PLAN_DROP) && edit_picks(x, g, g->tasks[i].source);
        bool next =
            n && g->tasks[i].prev == row[n - 1] && g->tasks[i].step == g->tasks[row[0]].step;
        if (n && (!picked || !next || n == ROW)) {
            join_row(g, p, row, n, d);
            n = 0;
        }
        if (picked)
            row[n++] = i;
    }
    if (n)
        join_row(g, p, row, n, d);
}
