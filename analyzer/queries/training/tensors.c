/* Counts work that a program does separately for each parameter. */
#include "analyzer/queries/training/tensors.h"

#include "analyzer/queries/training/checks.h"
#include "analyzer/queries/training/phase.h"

#include <stdlib.h>

enum kind { KIND_UPDATE, KIND_ZERO, KIND_CLIP, KIND_CHECK, KIND_NONE };

struct item { /* an operation of the optimizer, zeroing, clipping or checking */
    uint32_t step, op, name;
    enum kind kind;
    int64_t ns;
};

static int by_length(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

static enum kind kind_of(const struct facts *f, uint32_t op, const struct query_phase *clipping,
                         const struct query_checks *checks)
{
    const struct op *o = &f->tl->ops[op];
    if (checks->op_marks && checks->op_marks[op])
        /* the kernel of the check counts, not its copy */
        return o->kind == OP_KERNEL ? KIND_CHECK : KIND_NONE;
    if (clipping->op_marks && clipping->op_marks[op])
        return KIND_CLIP;
    if (query_is_optimizer(f, op) != QUERY_NO)
        return KIND_UPDATE;
    return query_is_zeroing(f, op) != QUERY_NO ? KIND_ZERO : KIND_NONE;
}

/* Marks the copies of a check's result and the waits for it, up to the thread's next launch. */
static void mark_answer(const struct facts *f, uint32_t op, const struct query_checks *checks,
                        bool *op_marks, bool *call_marks)
{
    const struct timeline *t = f->tl;
    if (t->ops[op].api == TL_NONE)
        return;
    const struct thread *th = &t->threads[t->apis[t->ops[op].api].thread];
    for (uint32_t c = t->ops[op].api + 1; c < th->first_api + th->apis; c++) {
        uint32_t done = t->apis[c].op;
        if (done != TL_NONE && t->ops[done].kind == OP_KERNEL)
            return;
        if (done != TL_NONE && checks->op_marks[done])
            op_marks[done] = true;
        if (checks->call_marks[c])
            call_marks[c] = true;
    }
}

/* x: one kind of work in one step, n operations sorted by length. Returns how many of the shortest
 * disappear with `gone` parameters; 0 if the work is done for many parameters at once. The kernel
 * that occurs most runs once per parameter. A check is one operation whose name differs by data
 * type, so all count together. */
static size_t of_tensors(const struct item *x, size_t n, int64_t gone, uint32_t *times)
{
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = ++times[x[i].name] > most ? times[x[i].name] : most;
    most = x[0].kind == KIND_CHECK ? (uint32_t)n : most;
    for (size_t i = 0; i < n; i++)
        times[x[i].name] = 0;
    return most < 2 * gone ? 0 : (size_t)((double)gone * (double)n / (double)most);
}

void query_without_tensors(const struct facts *f, struct arena *arena, int64_t gone, bool *op_marks,
                           bool *call_marks)
{
    if (gone <= 0)
        return;
    struct query_phase clipping = query_phase(f, arena, &phase_clipping);
    struct query_checks checks = query_checks(f, arena);
    uint32_t *times = arena_array(arena, (size_t)f->tl->strings.n + 1, sizeof *times);
    struct item *x = malloc((f->tl->op_count + 1) * sizeof *x);
    size_t n = 0;
    for (uint32_t i = 0; times && x && i < f->tl->op_count; i++) {
        const struct op *o = &f->tl->ops[i];
        enum kind kind = f->steps.op_step[i] == TL_NONE || op_marks[i]
                             ? KIND_NONE
                             : kind_of(f, i, &clipping, &checks);
        if (kind != KIND_NONE)
            x[n++] = (struct item){f->steps.op_step[i], i, o->kind == OP_KERNEL ? o->full_name : 0,
                                   kind, o->end_ns - o->start_ns};
    }
    if (x)
        qsort(x, n, sizeof *x, by_length);
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i; j < n && x[j].step == x[i].step && x[j].kind == x[i].kind; j++)
            ;
        size_t going = of_tensors(&x[i], j - i, gone, times);
        for (size_t k = i; k < i + going; k++) {
            op_marks[x[k].op] = true;
            if (x[k].kind == KIND_CHECK)
                mark_answer(f, x[k].op, &checks, op_marks, call_marks);
        }
    }
    free(x);
}
