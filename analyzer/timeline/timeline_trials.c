/* timeline_finish: finds convolutions that run only to time an algorithm. PyTorch 2 measures
 * cuDNN's plans by running each of them, without calling cudnnFind: one after another with the same
 * sizes, each with other kernels. The layer uses the result of the last one. Several layers of
 * equal sizes in a row differ: they all run the same kernels. */
#include "analyzer/timeline/build.h"

#include "wire/spool_format.h"

enum {
    PLANS = 6 /* fewest plans in a row */,
    KERNELS = 3 /* fewest different kernels among them */
};

struct row_of_plans {
    size_t first, count;
    uint32_t kernels[KERNELS];
    int kernel_count;
};

static bool is_plan(const struct timeline *t, const struct call *c)
{
    return spool_call_convolves(c->row.family) &&
           strcmp(tl_text(t, c->row.function), "cudnnBackendExecute") == 0;
}

static bool same_sizes(const struct call *a, const struct call *b)
{
    const struct row_call *x = &a->row, *y = &b->row;
    return a->thread == b->thread && x->family == y->family && x->in_type == y->in_type &&
           x->in_layout == y->in_layout && memcmp(x->dim, y->dim, sizeof x->dim) == 0;
}

/* True for kernels that compute the convolution; any plan may also convert layouts. */
static bool computes(const struct op *o)
{
    return o->kind == OP_KERNEL &&
           (o->class.family == FAMILY_CONV || o->class.family == FAMILY_GEMM);
}

static void note_kernels(const struct timeline *t, struct row_of_plans *r, const struct call *c)
{
    for (uint32_t i = 0; i < c->apis && r->kernel_count < KERNELS; i++) {
        uint32_t op = t->apis[c->first_api + i].op;
        if (op == TL_NONE || !computes(&t->ops[op]))
            continue;
        int k = 0;
        while (k < r->kernel_count && r->kernels[k] != t->ops[op].full_name)
            k++;
        if (k == r->kernel_count)
            r->kernels[r->kernel_count++] = t->ops[op].full_name;
    }
}

static void finish(struct timeline *t, struct row_of_plans *r)
{
    for (size_t i = 0; r->count >= PLANS && r->kernel_count == KERNELS && i + 1 < r->count; i++)
        t->calls[r->first + i].trial = 1;
    *r = (struct row_of_plans){.count = 0};
}

void build_trials(struct timeline *t)
{
    struct row_of_plans r = {.count = 0};
    for (size_t i = 0; i < t->call_count; i++) {
        const struct call *c = &t->calls[i];
        if (r.count && !(is_plan(t, c) && same_sizes(c, &t->calls[r.first])))
            finish(t, &r);
        if (!is_plan(t, c))
            continue;
        if (r.count++ == 0)
            r.first = i;
        note_kernels(t, &r, c);
    }
    finish(t, &r);
}
