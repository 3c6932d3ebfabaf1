/* Finds the backward passes of each step by the hook's ranges, and compares them. */
#include "analyzer/queries/training/passes.h"

#include "analyzer/facts/lines.h"
#include "wire/spool_format.h"

#include <stdlib.h>
#include <string.h>

static int by_time(const void *a, const void *b)
{
    const struct query_pass *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static bool is_of_loop(const struct facts *f, const struct range *r, const char *name)
{
    const struct timeline *t = f->tl;
    return t->threads[r->thread].process == f->steps.process &&
           strcmp(tl_text(t, r->name), name) == 0;
}

struct query_passes query_passes(const struct facts *f, struct arena *arena)
{
    const struct timeline *t = f->tl;
    struct query_passes p = {.at = arena_array(arena, t->range_count + 1, sizeof *p.at)};
    for (uint32_t i = 0; p.at && i < t->range_count; i++) {
        const struct range *r = &t->ranges[i];
        uint32_t step = query_step_at(f, r->start_ns);
        if (step != TL_NONE && is_of_loop(f, r, "backward"))
            p.at[p.n++] = (struct query_pass){r->start_ns, r->end_ns, step, 0};
    }
    if (p.n)
        qsort(p.at, p.n, sizeof *p.at, by_time);
    for (size_t i = 1; i < p.n; i++)
        p.at[i].number = p.at[i].step == p.at[i - 1].step ? p.at[i - 1].number + 1 : 0;
    return p;
}

int64_t query_passes_each(const struct facts *f, struct arena *arena)
{
    struct query_passes p = query_passes(f, arena);
    int64_t n = 0, steps = (int64_t)f->steps.used;
    for (size_t i = 0; i < p.n; i++)
        n += f->steps.at[p.at[i].step].used;
    return steps > 0 ? (n + steps / 2) / steps : 0;
}

const struct query_pass *query_pass_before(const struct query_passes *p, int64_t ns)
{
    size_t low = 0, high = p->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->at[middle].start_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &p->at[low - 1] : NULL;
}

const struct query_pass *query_pass_at(const struct query_passes *p, int64_t ns)
{
    const struct query_pass *last = query_pass_before(p, ns);
    return last && ns < last->end_ns ? last : NULL;
}

/* ---- micro-batches ---- */

/* Products, convolutions and attention launched in a pass, and behind it before the next one. */
struct products {
    int64_t within, behind;
    bool updates; /* an optimizer steps behind it */
};

static bool is_product(const struct op *o)
{
    return o->kind == OP_KERNEL &&
           (o->class.family == FAMILY_GEMM || o->class.family == FAMILY_CONV ||
            o->class.family == FAMILY_ATTENTION);
}

static void count_products(const struct facts *f, const struct query_passes *p, struct products *at)
{
    const struct timeline *t = f->tl;
    for (uint32_t i = 0; i < t->op_count; i++) {
        if (!is_product(&t->ops[i]) || t->ops[i].api == TL_NONE || !query_used(f, i))
            continue;
        int64_t ns = t->apis[t->ops[i].api].start_ns;
        const struct query_pass *last = query_pass_before(p, ns);
        if (last)
            *(ns < last->end_ns ? &at[last - p->at].within : &at[last - p->at].behind) += 1;
    }
    for (uint32_t i = 0; i < t->range_count; i++) {
        const struct range *r = &t->ranges[i];
        bool update = t->threads[r->thread].process == f->steps.process &&
                      timeline_names_update(tl_text(t, r->name));
        const struct query_pass *last = update ? query_pass_before(p, r->start_ns) : NULL;
        if (last)
            at[last - p->at].updates = true;
    }
}

/* True if these passes of one step do the same, each behind a forward pass of its own, and only the
 * last is followed by an update. */
static bool are_alike(const struct products *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool last = i + 1 == n;
        if (at[i].within == 0 || at[i].within != at[0].within || (at[i].updates && !last))
            return false;
        if (!last && (at[i].behind == 0 || at[i].behind != at[0].behind))
            return false;
    }
    return n > 1;
}

int64_t query_micro_batches(const struct facts *f, struct arena *arena)
{
    enum { MOST = 1024 }; /* passes of a step that are told apart */
    struct query_passes p = query_passes(f, arena);
    struct products *at = arena_array(arena, p.n + 1, sizeof *at);
    int64_t steps[MOST + 1] = {0}, best = 1;
    if (!p.at || !at)
        return 1;
    count_products(f, &p, at);
    for (size_t i = 0, next; i < p.n; i = next) {
        next = i + 1;
        while (next < p.n && p.at[next].number > 0)
            next++;
        if (next - i <= MOST && are_alike(at + i, next - i))
            steps[next - i]++;
    }
    for (int64_t n = 2; n <= MOST; n++)
        if (steps[n] > steps[best])
            best = n;
    return steps[best] * 100 >= (int64_t)f->steps.used * QUERY_ALMOST_PCT ? best : 1;
}

const char *query_backward_line(const struct facts *f, struct arena *arena)
{
    const struct timeline *t = f->tl;
    const struct gpu_lines *g = facts_gpu_lines(f);
    int64_t *ops = arena_array(arena, t->stack_count + 1, sizeof *ops);
    uint32_t best = (uint32_t)t->stack_count;
    for (uint32_t i = 0; ops && i < t->op_count; i++) {
        uint32_t line = query_used(f, i) ? tl_op_line(t, i) : 0;
        uint32_t stack = line ? tl_line_stack(line) : 0;
        if (line && tl_line_way(line) == SPOOL_LINE_BACKWARD && ++ops[stack] > ops[best])
            best = stack;
    }
    for (size_t i = 0; i < g->count; i++)
        if (best < t->stack_count && t->stacks[g->at[i].stack].file == t->stacks[best].file &&
            t->stacks[g->at[i].stack].line == t->stacks[best].line)
            return g->at[i].place;
    return NULL;
}
