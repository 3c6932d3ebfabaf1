/* Edits of what the GPU computes, with the range of what is not known about it.
 *
 * Ranges are public figures (peak rates by compute capability) times the share of them that kernels
 * reach in practice; where the profile itself holds the figure (the shortest optimizer kernel),
 * that is used instead. */
#include "analyzer/whatif/edits.h"

#include "analyzer/queries/query.h"
#include "wire/spool_format.h"

enum { KERNEL_FLOOR_NS = 3000 };

void edit_keep_gradients(const struct edit *x, const struct graph *g, struct plan *p,
                         const struct draw *d)
{
    (void)x;
    (void)d;
    for (uint32_t i = 0; i < g->count; i++)
        if (edit_op(g, i) && query_is_zeroing(g->a, g->tasks[i].source) != QUERY_NO)
            edit_drop(g, p, i);
}

/* FP32 rate over that of 16-bit tensor cores, dense: V100 15.7/125, T4 8.1/65, A100 19.5/312,
 * GA10x and Ada about 1/4, H100 67/989, B200 75/2250. */
static double peak_ratio(const struct graph *g)
{
    const struct row_device *v = g->a->device;
    if (!v || v->cc_major < 7)
        return 1;
    if (v->cc_major == 7)
        return 1.0 / 8;
    if (v->cc_major == 8)
        return v->cc_minor == 0 ? 1.0 / 16 : 1.0 / 4;
    return v->cc_major == 9 ? 1.0 / 15 : 1.0 / 30;
}

static bool in_nhwc(const struct graph *g, uint32_t i)
{
    return edit_op(g, i)->class.layout == SPOOL_LAYOUT_NHWC;
}

/* Products keep the share of the peak that they reached (Hopper: 87 % in bf16, 75 to 85 % in FP32);
 * convolutions do in NHWC, where FP32 reaches half of what it does in NCHW, else they halve it
 * (V100, ResNet-50: 87 % in FP32, 45 % in FP16). It can be 1.2 times as much, or a quarter. */
static double share_kept(const struct graph *g, uint32_t i, const struct draw *d)
{
    bool halves = g->classes[i].family == FAMILY_CONV && !in_nhwc(g, i);
    return draw_around(d, 0, 1.2, halves ? 0.5 : 1.0, 0.25);
}

static double on_tensor_cores(const struct graph *g, double share)
{
    double by = peak_ratio(g) / share;
    return by > 1 ? 1 : by;
}

/* A convolution in another layout. An NHWC kernel stays the one it is: only the conversions around
 * it go. One of 16-bit numbers on CUDA cores may have been kept from tensor cores by its layout
 * alone, or for another reason. Others were chosen: few are faster there, and those of few channels
 * leave most of a tensor core idle. Those that the library guessed may take x->good of the time. */
static double conv_in_nhwc(const struct edit *x, const struct graph *g, uint32_t i,
                           const struct draw *d)
{
    if (in_nhwc(g, i))
        return 1;
    if (edit_picks(x, g, g->tasks[i].source))
        return draw_between(d, 2, on_tensor_cores(g, 1), 1);
    return draw_around(d, 0, x->good > 0 ? x->good : 0.9, 1.1, 1.3);
}

void edit_layout(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    for (uint32_t i = 0; i < g->count; i++) {
        const struct op *o = edit_op(g, i);
        if (!o || o->kind != OP_KERNEL)
            continue;
        if (o->class.family == FAMILY_LAYOUT)
            edit_drop_launched(g, p, i);
        else if (o->class.family == FAMILY_CONV)
            p->dur[i] = (int64_t)((double)p->dur[i] * conv_in_nhwc(x, g, i, d));
        else if (o->class.family == FAMILY_NORM || o->class.family == FAMILY_POOL)
            p->dur[i] =
                (int64_t)((double)p->dur[i] * draw_between(d, 1, 0.95, 1.05)); /* the same bytes */
    }
}

/* Weights that stay in FP32 are cast each step, 6 bytes a parameter where an optimizer moves 20
 * (SGD with momentum) to 28 (Adam); FP16 wants its gradients unscaled, too, another 8. A program
 * may do that on the way of other kernels: none of it comes on top, or all. */
static double beside_update(const struct graph *g, const struct draw *d)
{
    const struct row_device *v = g->a->device;
    bool fp16 = v && v->cc_major < 8;
    return 1 + draw_between(d, 2, 0, (fp16 ? 14.0 : 6.0) / 20);
}

/* A matrix kernel in 16 bits. From TF32: twice the rate and half the bytes, and a larger share of
 * either than with operands of 32 bits (NVIDIA's published training on A100, TF32 to mixed
 * precision: BERT-large 1.8 times the samples a second, ResNet-50 and ResNeXt-101 2.6 times,
 * channels-last included); one that waits for neither stays as it is. Attention in FP32, which
 * keeps its products on the chip: a third (A100, cutlass's kernels), an eighth at best. */
static double in_16_bits(const struct graph *g, uint32_t i, const struct draw *d)
{
    const struct kernel_class *c = &edit_op(g, i)->class;
    if (c->dtype == SPOOL_DT_TF32 && c->tensor == TRI_YES)
        return draw_around(d, 0, 0.42, 0.55, 1.0);
    if (c->family == FAMILY_ATTENTION)
        return c->dtype == SPOOL_DT_F32 ? draw_around(d, 0, 0.125, 0.33, 0.7) : 1;
    return g->classes[i].traits & TRAIT_NO_TENSOR ? on_tensor_cores(g, share_kept(g, i, d)) : 1;
}

/* What autocast does for a product takes the host, too: it converts operands, and gradients back,
 * by kernels of their own. BERT with the Transformers Trainer: 372 of them for 217 products, 7.5 us
 * of host each. None where a compiler fuses them; convolutions have less than one a product. */
static void add_casts(const struct graph *g, struct plan *p, uint32_t i, const struct draw *d)
{
    enum { CASTS_NS = 20000 };
    uint32_t call = g->tasks[i].issue;
    if (call == TASK_NONE || g->tasks[call].kind != TASK_HOST_API)
        return;
    if (g->a->tl->apis[g->tasks[call].source].kind == API_LAUNCH)
        p->dur[call] += (int64_t)draw_between(d, 2, 0, CASTS_NS);
}

void edit_precision(const struct edit *x, const struct graph *g, struct plan *p,
                    const struct draw *d)
{
    double update = beside_update(g, d);
    double rest = draw_around(d, 1, 0.5, 0.5, 0.85); /* half the bytes at best, and mostly */
    bool by_framework = query_of_python(g->a);
    for (uint32_t i = 0; i < g->count; i++) {
        uint8_t f = g->classes[i].family, traits = g->classes[i].traits;
        if (x->layout && f == FAMILY_LAYOUT && edit_op(g, i))
            edit_drop_launched(g, p, i);
        if (f == FAMILY_UNKNOWN || p->dur[i] <= KERNEL_FLOOR_NS)
            continue;
        bool product = f == FAMILY_GEMM || f == FAMILY_CONV || f == FAMILY_ATTENTION;
        bool moves = f == FAMILY_ELEMENTWISE || f == FAMILY_NORM || f == FAMILY_POOL ||
                     f == FAMILY_BIAS || f == FAMILY_SOFTMAX;
        /* what works on 16-bit numbers already does not halve its bytes once more */
        double by = product                           ? in_16_bits(g, i, d)
                    : moves && !(traits & TRAIT_HALF) ? rest
                    : f == FAMILY_OPTIMIZER           ? update
                                                      : 1;
        p->dur[i] = KERNEL_FLOOR_NS + (int64_t)((double)(p->dur[i] - KERNEL_FLOOR_NS) * by);
        if (product && by < 1 && by_framework)
            add_casts(g, p, i, d);
    }
}

static bool fuses(const struct edit *x, const struct graph *g, uint32_t i)
{
    bool told = x->ops || x->op_marks;
    if (!told && g->classes[i].family != FAMILY_OPTIMIZER)
        return false;
    if (!edit_op(g, i))
        return false;
    return told ? edit_picks(x, g, g->tasks[i].source)
                : query_is_optimizer(g->a, g->tasks[i].source) != QUERY_NO;
}

struct update { /* how many different kernels it consists of: each is a pass over the parameters */
    int passes;
    int64_t least_ns;
};

static struct update update_of(const struct edit *x, const struct graph *g)
{
    enum { PASSES = 8 };
    uint32_t seen[PASSES];
    struct update u = {0, INT64_MAX};
    for (uint32_t i = 0; i < g->count; i++) {
        if (!fuses(x, g, i))
            continue;
        if (g->tasks[i].dur_ns < u.least_ns)
            u.least_ns = g->tasks[i].dur_ns;
        int k = 0;
        while (k < u.passes && seen[k] != edit_op(g, i)->full_name)
            k++;
        if (k == u.passes && k < PASSES)
            seen[u.passes++] = edit_op(g, i)->full_name;
    }
    return u;
}

/* The share of the GPU that a kernel's blocks can keep busy; a few of them reach a quarter of the
 * memory's rate. 1: not known. */
static double filled(const struct graph *g, uint32_t task)
{
    const struct op *o = edit_op(g, task);
    int64_t processors = g->a->device ? g->a->device->sm_count : 0;
    double blocks = 1;
    for (int k = 0; k < 3; k++)
        blocks *= o->grid[k];
    if (processors <= 0 || blocks <= 0 || blocks >= (double)processors)
        return 1;
    return blocks * 4 > (double)processors ? blocks / (double)processors : 0.25;
}

/* The shortest of them is nearly all overhead: a fused kernel pays that once, the rest is bytes,
 * which it moves at the full rate where single kernels leave multiprocessors empty. Several passes
 * become one: at best it moves as much as one and a half of them, at worst as much as all (they
 * were in the cache).
 * Where a pass is known to go because another kernel does its work on the way, the others stay. */
void edit_fuse(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    struct update u = update_of(x, g);
    int64_t spared =
        u.passes == 0 ? 0 : (int64_t)((double)u.least_ns * draw_between(d, 0, 1.0, 0.75));
    double bytes = x->bad > 0 ? draw_between(d, 1, x->good, x->bad)
                              : draw_between(d, 1, u.passes > 1 ? 1.5 / u.passes : 1, 1);
    bool one = u.passes == 1 && x->bad <= 0;
    uint32_t first = TASK_NONE, step = TASK_NONE;
    for (uint32_t i = 0; i < g->count; i++) {
        if (!fuses(x, g, i))
            continue;
        if (x->gone_marks && x->gone_marks[g->tasks[i].source]) {
            edit_drop(g, p, i);
            continue;
        }
        if (first == TASK_NONE || g->tasks[i].step != step) {
            first = i;
            step = g->tasks[i].step;
            continue;
        }
        double rest = one || x->gone_marks ? draw_between(d, 1, filled(g, i), 1) : bytes;
        p->dur[first] += p->dur[i] > spared ? (int64_t)((double)(p->dur[i] - spared) * rest) : 0;
        edit_drop(g, p, i);
    }
}

/* No model exists: measured algorithms take 0.7 to 1.0 of the heuristic's time. */
void edit_algorithm(const struct edit *x, const struct graph *g, struct plan *p,
                    const struct draw *d)
{
    (void)x;
    double by = draw_between(d, 0, 0.7, 1.0);
    for (uint32_t i = 0; i < g->count; i++) {
        if (g->classes[i].family == FAMILY_CONV)
            p->dur[i] = (int64_t)((double)p->dur[i] * by);
    }
}
