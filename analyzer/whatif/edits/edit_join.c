/* The edit of fusion: chains of kernels that mostly move data become one kernel each, by a person
 * or by a compiler. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/query.h"
#include "wire/spool_format.h"

#include <math.h>

struct row { /* neighbours in a stream */
    int64_t most_ns, sum_ns;
};

static struct row row_of(const struct plan *p, const uint32_t *task, size_t n)
{
    struct row r = {0};
    for (size_t k = 0; k < n; k++) {
        r.sum_ns += p->dur[task[k]];
        r.most_ns = p->dur[task[k]] > r.most_ns ? p->dur[task[k]] : r.most_ns;
    }
    return r;
}

/* A person's kernel is as long as the longest, at worst a quarter of the others longer for what
 * each reads besides. Behind a matrix kernel pointwise ones may become part of that one, as its
 * epilogue, and cost nothing. */
static double by_hand(const struct graph *g, const uint32_t *task, size_t n, const struct row *r,
                      const struct draw *d)
{
    uint32_t before = g->tasks[task[0]].prev;
    const struct op *o = before == TASK_NONE ? NULL : edit_op(g, before);
    bool behind = o && (o->class.family == FAMILY_GEMM || o->class.family == FAMILY_CONV);
    double joined =
        (double)r->most_ns * (1 + draw_span(d, 0, ASSUMED_JOINED_MORE) * (double)(n - 1));
    return fmin(joined, (double)r->sum_ns) * (behind ? draw_between(d, 1, 0, 1) : 1);
}

/* What torch.compile leaves of a chain with softmax, norms and casts hardly depends on its longest
 * kernel, which may move FP32 where the compiled one moves 16 bits. */
static double compiled(const struct row *r, const struct draw *d)
{
    double longest = (double)r->most_ns / (double)(r->sum_ns > 0 ? r->sum_ns : 1);
    return (double)r->sum_ns *
           draw_around(d, 0, fmin(ASSUMED_COMPILED.good, longest),
                       fmin(ASSUMED_COMPILED.likely, longest + ASSUMED_COMPILED.good),
                       ASSUMED_COMPILED.bad);
}

static void join_row(const struct graph *g, struct plan *p, const uint32_t *task, size_t n,
                     const struct draw *d)
{
    struct row r = row_of(p, task, n);
    bool compiles = query_of_pytorch(g->a);
    double joined = compiles ? compiled(&r, d) : by_hand(g, task, n, &r, d);
    /* The host's work for each kernel goes; a compiled program keeps some work of its own. */
    size_t gone = compiles ? (size_t)(draw_span(d, 2, ASSUMED_COMPILED_HOST) * (double)n) : n;
    for (size_t k = 1; k < n; k++) {
        if (k < gone)
            edit_drop(g, p, task[k]);
        else
            edit_drop_launched(g, p, task[k]);
    }
    p->dur[task[0]] = (int64_t)joined;
}

/* Of several channels each: with one such convolution PyTorch 2's compiler keeps the layout. */
static bool has_groups(const struct facts *f)
{
    for (size_t i = 0; i < f->tl->call_count; i++) {
        const struct row_call *c = &f->tl->calls[i].row;
        if (spool_call_convolves(c->family) && c->dim[10] > 1 && c->dim[1] > c->dim[10])
            return true;
    }
    return false;
}

/* torch.compile keeps images of convolutions in channels-last, unless it meets convolutions that it
 * takes for slower so; and it puts fused attention in place of the forms that it knows. */
static void leave_out(const struct edit *x, const struct graph *g, struct plan *p,
                      const struct draw *d)
{
    bool layout = draw_between(d, 1, 0, 1) < ASSUMED_KEEPS_LAYOUT && !has_groups(g->a);
    bool attention = draw_between(d, 1, 0, 1) < ASSUMED_KNOWS_ATTENTION;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct op *o = edit_op(g, i);
        if (!o)
            continue;
        if (layout && edit_converts(x, g, i))
            edit_drop_launched(g, p, i);
        if (attention && x->at.gone_marks && x->at.gone_marks[g->tasks[i].source])
            edit_drop(g, p, i);
    }
}

static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    enum { ROW = 16 };
    uint32_t row[ROW];
    size_t n = 0;
    if (query_of_pytorch(g->a))
        leave_out(x, g, p, d);
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

const struct edit_kind edit_join = {
    .name = "join",
    .apply = apply,
    .change = LEDGER_KERNEL,
};
