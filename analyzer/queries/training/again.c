/* Finds kernels that the backward pass launches again as in the forward pass (again.h). */
#include "analyzer/queries/training/again.h"

#include "base/order.h"
#include "base/vec.h"

#include <stdlib.h>

struct hashes VEC(uint64_t);

static uint64_t mix(uint64_t h, uint64_t x)
{
    return (h ^ x) * 1099511628211u;
}

static uint64_t kernel_hash(const struct op *o)
{
    uint64_t h = mix(1469598103934665603u, o->full_name);
    for (int k = 0; k < 3; k++)
        h = mix(h, o->grid[k]);
    return h;
}

/* Hash of two kernels that a thread launches one after the other in the same step. */
static uint64_t pair_hash(const struct facts *f, uint32_t first, uint32_t second)
{
    uint64_t h = mix(kernel_hash(&f->tl->ops[first]), kernel_hash(&f->tl->ops[second]));
    return mix(h, f->steps.op_step[first]);
}

/* Index of the one kernel that the call launches in a used step, or TL_NONE. */
static uint32_t kernel_of(const struct facts *f, const struct api *c)
{
    bool one = c->op != TL_NONE && c->ops == 1 && f->tl->ops[c->op].kind == OP_KERNEL &&
               query_used(f, c->op) && f->tl->ops[c->op].class.family != FAMILY_COMM;
    return one ? c->op : TL_NONE;
}

/* Calls `with` for each pair of kernels that the thread launches one after
 * the other in one step. */
static void each_pair(const struct facts *f, uint32_t thread,
                      void (*with)(void *self, uint32_t first, uint32_t second), void *self)
{
    const struct thread *th = &f->tl->threads[thread];
    uint32_t before = TL_NONE;
    for (uint32_t i = th->first_api; i < th->first_api + th->apis; i++) {
        uint32_t op = kernel_of(f, &f->tl->apis[i]);
        if (op == TL_NONE)
            continue;
        if (before != TL_NONE && f->steps.op_step[before] == f->steps.op_step[op])
            with(self, before, op);
        before = op;
    }
}

struct pass {
    const struct facts *f;
    struct hashes forward;
    bool *marks;
};

static void note(void *self, uint32_t first, uint32_t second)
{
    struct pass *p = self;
    uint64_t *h = vec_push(&p->forward);
    if (h)
        *h = pair_hash(p->f, first, second);
}

static void mark(void *self, uint32_t first, uint32_t second)
{
    struct pass *p = self;
    uint64_t h = pair_hash(p->f, first, second);
    if (bsearch(&h, p->forward.at, p->forward.n, sizeof h, order_uint64))
        p->marks[first] = p->marks[second] = true;
}

static enum query_take takes(const struct facts *f, uint32_t op, const void *arg)
{
    (void)f;
    return ((const bool *)arg)[op] ? QUERY_ALL : QUERY_NO;
}

struct query_recomputed query_recomputed(const struct facts *f, struct arena *arena)
{
    struct query_recomputed out = {.ops.longest = TL_NONE};
    struct pass p = {.f = f, .marks = arena_array(arena, f->tl->op_count + 1, sizeof(bool))};
    uint32_t main = f->steps.main_thread;
    if (!p.marks || main >= f->tl->thread_count)
        return out;
    each_pair(f, main, note, &p);
    if (p.forward.n)
        qsort(p.forward.at, p.forward.n, sizeof *p.forward.at, order_uint64);
    for (uint32_t k = 0; p.forward.n && k < f->tl->thread_count; k++)
        if (k != main && f->tl->threads[k].process == f->steps.process)
            each_pair(f, k, mark, &p);
    vec_release(&p.forward);
    out.ops = query_ops_of(f, takes, p.marks);
    out.op_marks = p.marks;
    return out;
}
