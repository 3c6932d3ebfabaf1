/* Measures how near the GPU comes to its peak: counts the arithmetic of the used steps by the sizes
 * of library calls and operators. Cost: one pass over the calls, two over the ranges with shapes. */
#include "analyzer/facts/passes.h"
#include "analyzer/measure/arithmetic.h"

#include <stdlib.h>

enum { OUTPUTS = 1024 }; /* different convolutions of a model; more are not looked up */

struct hardware_pass {
    struct facts *f;
    uint32_t *taken_by;    /* by op: number of the call or operator that launched it; 0: none yet */
    uint32_t taken;        /* how many there are */
    uint32_t looked;       /* index of the call behind those that operators have launched so far */
    uint32_t *first_total; /* by name: where its totals begin */
    uint8_t *operator_of;  /* by name: enum arithmetic_operator + 1; 0: not asked yet */
    struct {
        uint64_t of;
        double out;
    } output[OUTPUTS]; /* of convolutions, known by their backward pass */
    size_t outputs;
};

static bool is_arithmetic(const struct op *o)
{
    unsigned family = o->class.family;
    return o->kind == OP_KERNEL &&
           (family == FAMILY_GEMM || family == FAMILY_CONV || family == FAMILY_ATTENTION);
}

static bool in_used_step(const struct facts *f, uint32_t op)
{
    uint32_t step = f->steps.op_step[op];
    return step != TL_NONE && f->steps.at[step].used && tl_op_device(f->tl, op) == f->steps.device;
}

/* FP32 operands may be multiplied as TF32: the kernel's name tells. */
static enum peak_type type_of(const struct peak *p, unsigned dtype, const struct op *o)
{
    switch (dtype) {
    case SPOOL_DT_F64:
        return PEAK_FP64;
    case SPOOL_DT_F16:
    case SPOOL_DT_BF16:
        return PEAK_16_BITS;
    case SPOOL_DT_F8E4M3:
    case SPOOL_DT_F8E5M2:
        return PEAK_8_BITS;
    default:
        return o->class.tensor == TRI_YES && p->tflops[PEAK_TF32] > 0 ? PEAK_TF32 : PEAK_FP32;
    }
}

/* The kernels that one library call or operator launched. */
struct launched {
    uint32_t first, n; /* its calls: a slice of timeline.apis */
    uint32_t number;   /* in hardware_pass.taken_by */
    int64_t ns;        /* time of its kernels that count */
    int kernels;
    bool converts; /* FP32 inputs are recorded before autocast makes 16 bits of them */
};

/* Takes the kernels in used steps that calls [first, first + n) launch and that no other call or
 * operator has taken. */
static struct launched take_kernels(struct hardware_pass *x, uint32_t first, uint32_t n)
{
    const struct timeline *t = x->f->tl;
    struct launched l = {.first = first, .n = n, .number = ++x->taken};
    for (uint32_t i = first; i < first + n; i++) {
        const struct api *a = &t->apis[i];
        for (uint32_t o = a->op; a->op != TL_NONE && o < a->op + a->ops; o++) {
            if (!is_arithmetic(&t->ops[o]) || x->taken_by[o] || t->ops[o].api != i ||
                !in_used_step(x->f, o))
                continue;
            x->taken_by[o] = l.number;
            l.ns += t->ops[o].end_ns - t->ops[o].start_ns;
            l.kernels++;
        }
    }
    return l;
}

/* A name may have a total for each of several families. NULL: not one of the totals. */
static struct kernel_total *total_of(struct hardware_pass *x, const struct op *o)
{
    struct totals *t = &x->f->totals;
    for (size_t i = x->first_total[o->name]; i < t->kernel_count; i++)
        if (t->kernels[i].name == o->name && t->kernels[i].class.family == o->class.family)
            return &t->kernels[i];
    return NULL;
}

/* Adds the share of one of the kernels by its time: which of them did how much is not known. */
static void add_kernel(struct hardware_pass *x, uint32_t op, double flops, unsigned dtype)
{
    struct hardware_facts *h = &x->f->hardware;
    const struct op *o = &x->f->tl->ops[op];
    enum peak_type type = type_of(h->peak, dtype ? dtype : o->class.dtype, o);
    double peak_ns = h->peak->tflops[type] > 0 ? flops / (h->peak->tflops[type] * 1e3) : 0;
    struct kernel_total *k = peak_ns > 0 ? total_of(x, o) : NULL;
    h->flops[type] += flops;
    h->peak_ns += peak_ns;
    h->known_ns += o->end_ns - o->start_ns;
    if (k) {
        k->sized_ns += o->end_ns - o->start_ns;
        k->peak_ns += peak_ns;
    }
}

static bool is_half(const struct op *o)
{
    return o->class.dtype == SPOOL_DT_F16 || o->class.dtype == SPOOL_DT_BF16;
}

static void add(struct hardware_pass *x, const struct launched *l, double flops, unsigned dtype)
{
    const struct timeline *t = x->f->tl;
    for (uint32_t i = l->first; l->ns > 0 && i < l->first + l->n; i++) {
        const struct api *a = &t->apis[i];
        for (uint32_t o = a->op; a->op != TL_NONE && o < a->op + a->ops; o++)
            if (x->taken_by[o] == l->number)
                add_kernel(x, o,
                           flops * (double)(t->ops[o].end_ns - t->ops[o].start_ns) / (double)l->ns,
                           l->converts && is_half(&t->ops[o]) ? SPOOL_DT_UNKNOWN : dtype);
    }
}

static void count_calls(struct hardware_pass *x)
{
    const struct timeline *t = x->f->tl;
    for (size_t i = 0; i < t->call_count; i++) {
        const struct call *c = &t->calls[i];
        double flops = c->trial || c->first_api == TL_NONE ? 0 : arithmetic_of_call(&c->row);
        if (flops <= 0)
            continue;
        struct launched l = take_kernels(x, c->first_api, c->apis);
        add(x, &l, flops, (unsigned)c->row.in_type);
    }
}

static enum arithmetic_operator operator_of(struct hardware_pass *x, const struct range *r)
{
    if (!r->shapes)
        return OPERATOR_NONE;
    if (!x->operator_of[r->name])
        x->operator_of[r->name] = (uint8_t)(1 + arithmetic_operator_of(tl_text(x->f->tl, r->name)));
    return (enum arithmetic_operator)(x->operator_of[r->name] - 1);
}

static double *output_of(struct hardware_pass *x, uint64_t of)
{
    for (size_t i = 0; i < x->outputs; i++)
        if (x->output[i].of == of)
            return &x->output[i].out;
    return NULL;
}

/* Older profilers of PyTorch do not record a convolution's stride, but the size of its output's
 * gradient. */
static void learn_outputs(struct hardware_pass *x)
{
    const struct timeline *t = x->f->tl;
    for (size_t i = 0; i < t->range_count; i++) {
        double out = 0;
        uint64_t of;
        if (operator_of(x, &t->ranges[i]) == OPERATOR_CONV_BACKWARD && x->outputs < OUTPUTS &&
            arithmetic_conv_output(OPERATOR_CONV_BACKWARD, tl_text(t, t->ranges[i].shapes), &out,
                                   &of) &&
            !output_of(x, of)) {
            x->output[x->outputs].of = of;
            x->output[x->outputs++].out = out;
        }
    }
}

static void count_operator(struct hardware_pass *x, const struct range *r)
{
    const struct timeline *t = x->f->tl;
    const struct thread *th = &t->threads[r->thread];
    enum arithmetic_operator what = operator_of(x, r);
    const char *shapes = tl_text(t, r->shapes);
    double unused = 0, *out = NULL;
    uint64_t of;
    bool forward = what == OPERATOR_CONV || what == OPERATOR_CONV_PADDED;
    if (forward && arithmetic_conv_output(what, shapes, &unused, &of))
        out = output_of(x, of);
    double flops = what == OPERATOR_NONE ? 0 : arithmetic_of_operator(what, shapes, out ? *out : 0);
    if (flops <= 0)
        return;
    /* An operator inside another one comes behind it: its calls have been looked at. */
    uint32_t first = timeline_api_from(t, th, r->start_ns), end = th->first_api + th->apis;
    uint32_t last = first = first > x->looked ? first : x->looked;
    while (last < end && t->apis[last].start_ns < r->end_ns)
        last++;
    x->looked = last > x->looked ? last : x->looked;
    struct launched l = take_kernels(x, first, last - first);
    l.converts = arithmetic_operator_dtype(shapes) == SPOOL_DT_F32;
    /* the picture's own gradient is not wanted: one kernel computes the weight's alone */
    bool half = what == OPERATOR_CONV_BACKWARD && l.kernels == 1;
    add(x, &l, half ? flops / 2 : flops, (unsigned)arithmetic_operator_dtype(shapes));
}

static void count_all(struct hardware_pass *x)
{
    const struct timeline *t = x->f->tl;
    struct hardware_facts *h = &x->f->hardware;
    for (uint32_t i = 0; i < t->op_count; i++)
        if (is_arithmetic(&t->ops[i]) && in_used_step(x->f, i))
            h->matrix_ns += t->ops[i].end_ns - t->ops[i].start_ns;
    if (h->matrix_ns == 0)
        return;
    for (size_t i = x->f->totals.kernel_count; i-- > 0;)
        x->first_total[x->f->totals.kernels[i].name] = (uint32_t)i;
    count_calls(x);
    learn_outputs(x);
    for (size_t i = 0; i < t->range_count; i++)
        count_operator(x, &t->ranges[i]);
}

int hardware_measure(struct facts *f, struct err *e)
{
    const struct peak *peak = f->device ? peak_of(tl_text(f->tl, f->device->name)) : NULL;
    struct hardware_pass *x = peak && f->steps.op_step ? calloc(1, sizeof *x) : NULL;
    if (!peak || !f->steps.op_step)
        return 0;
    bool ready = x && (x->taken_by = calloc(f->tl->op_count + 1, sizeof *x->taken_by)) &&
                 (x->operator_of = calloc(f->tl->strings.n + 1, sizeof *x->operator_of)) &&
                 (x->first_total = calloc(f->tl->strings.n + 1, sizeof *x->first_total));
    if (ready) {
        x->f = f;
        f->hardware.peak = peak;
        count_all(x);
        if (f->hardware.known_ns == 0)
            f->hardware.peak = NULL;
    }
    if (x) {
        free(x->taken_by);
        free(x->operator_of);
        free(x->first_total);
    }
    free(x);
    return ready ? 0 : err_no_memory(e);
}
