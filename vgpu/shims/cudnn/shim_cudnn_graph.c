/* The kernels that a graph of cuDNN's operations runs as.
 *
 * A graph around a convolution runs as the convolution's kernels: pointwise operations behind the
 * convolution are fused into them and add no time. A graph with several matrix products is
 * attention: one kernel forward, three backward. Any other graph is fused into one kernel that
 * reads and writes the graph's real tensors. The names of the attention and fused kernels are those
 * in recordings of an H100, without the tile sizes in them. Their durations are guesses from the
 * operations and the bytes, because no recording with shapes was available. */
#include "shims/cudnn/shim_cudnn_backend.h"

#include <string.h>

enum { FMA_ENGINE = 100, SOLE_ENGINE = 1 };

/* Numbers that cuDNN's headers define from 9.13 to 9.24 on. They are repeated here because the shim
 * must also build with older headers. */
enum {
    ATTENTION = 41,
    ATTENTION_BACKWARD = 43,
    BAND_MASK = 44,
    ATTENTION_Q = 2800,
    ATTENTION_K = 2801,
    ATTENTION_SUBGRAPH = 2811,
    ATTENTION_BACKWARD_Q = 2851,
    ATTENTION_BACKWARD_K = 2852,
    ATTENTION_BACKWARD_SUBGRAPH = 2867
};

/* ---- tensors ---- */

static int64_t dimension(const struct backend *tensor, int64_t i)
{
    const struct attribute *a = backend_find(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);
    return a && i >= 0 && i < a->count ? ((const int64_t *)a->values)[i] : 1;
}

static int64_t stride(const struct backend *tensor, int64_t i)
{
    const struct attribute *a = backend_find(tensor, CUDNN_ATTR_TENSOR_STRIDES);
    return a && i >= 0 && i < a->count ? ((const int64_t *)a->values)[i] : 1;
}

static int64_t rank(const struct backend *tensor)
{
    const struct attribute *a = backend_find(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);
    return a ? a->count : 0;
}

static cudnnDataType_t data_type(const struct backend *tensor)
{
    return (cudnnDataType_t)backend_number(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
}

static double elements(const struct backend *tensor)
{
    double n = 1;
    for (int64_t i = 0; i < rank(tensor); i++)
        n *= (double)dimension(tensor, i);
    return n;
}

/* The product of the sizes of dimension `first` and all later ones. */
static int64_t product_from(const struct backend *tensor, int64_t first)
{
    int64_t n = 1;
    for (int64_t i = first; i < rank(tensor); i++)
        n *= dimension(tensor, i);
    return n;
}

static bool channels_last(const struct backend *tensor)
{
    return stride(tensor, 1) == 1 && dimension(tensor, 1) > 1 && product_from(tensor, 2) > 1;
}

/* ---- convolutions ---- */

static const struct {
    cudnnBackendDescriptorType_t type;
    enum vg_pass pass;
    int x, w, y, conv;
} convolutions[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, VG_FWD,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, VG_DGRAD,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, VG_WGRAD,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC},
};

static int64_t largest(const struct backend *conv, int name, int64_t least)
{
    const struct attribute *a = backend_find(conv, name);
    int64_t most = least;
    for (int64_t i = 0; a && i < a->count; i++)
        most = ((const int64_t *)a->values)[i] > most ? ((const int64_t *)a->values)[i] : most;
    return most;
}

/* A convolution with three spatial dimensions is described as one with two: the cost model needs
 * only the products of the sizes, so the first two are multiplied. */
static struct conv_problem problem_of(const struct backend *op, int i, bool fma)
{
    const struct backend *x = backend_child(op, convolutions[i].x, 0);
    const struct backend *w = backend_child(op, convolutions[i].w, 0);
    const struct backend *y = backend_child(op, convolutions[i].y, 0);
    const struct backend *c = backend_child(op, convolutions[i].conv, 0);
    int64_t last = rank(x) - 1, in = dimension(w, 1);
    struct conv_problem q = {
        .conv = {.n = dimension(x, 0),
                 .c = dimension(x, 1),
                 .h = product_from(x, 2) / dimension(x, last),
                 .w = dimension(x, last),
                 .k = dimension(w, 0),
                 .r = product_from(w, 2) / dimension(w, last),
                 .s = dimension(w, last),
                 .p = product_from(y, 2) / dimension(y, last),
                 .q = dimension(y, last),
                 .stride = largest(c, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 1),
                 .pad = largest(c, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0),
                 .dilation = largest(c, CUDNN_ATTR_CONVOLUTION_DILATIONS, 1),
                 .groups = in > 0 ? dimension(x, 1) / in : 1,
                 .layout = channels_last(x) || channels_last(y) ? VG_NHWC : VG_NCHW},
        .data = data_type(x),
        .math = fma ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH,
        .graph = true};
    if (q.conv.groups < 1)
        q.conv.groups = 1;
    conv_choose_arithmetic(vg_profile(vg_current_device()), &q);
    return q;
}

static void add_plan(const struct conv_plan *plan, int64_t id, struct engine *e)
{
    *e = (struct engine){.id = id,
                         .workspace = (int64_t)plan->workspace,
                         .tensor = plan->tensor,
                         .deterministic = plan->deterministic,
                         .kernels = plan->kernels};
    memcpy(e->kernel, plan->kernel, sizeof e->kernel);
}

/* Lists the engines that use tensor cores first, then those with ordinary arithmetic for programs
 * that refuse TF32. */
static int conv_engines(const struct backend *op, int i, struct engine *out)
{
    const struct vg_profile *p = vg_profile(vg_current_device());
    int n = 0;
    for (int fma = 0; fma < 2; fma++) {
        struct conv_problem q = problem_of(op, i, fma);
        int first = n;
        for (int algo = 0; algo < conv_algo_count(convolutions[i].pass) && n < GRAPH_MAX_ENGINES;
             algo++) {
            struct conv_plan plan;
            conv_plan_make(p, &q, convolutions[i].pass, algo, &plan);
            if (plan.status != CUDNN_STATUS_SUCCESS || (fma && plan.tensor))
                continue;
            add_plan(&plan, algo + (fma ? FMA_ENGINE : 0), &out[n]);
            if (plan.heuristic && n > first) { /* the library's guess goes first */
                struct engine guess = out[n];
                memmove(&out[first + 1], &out[first], sizeof *out * (size_t)(n - first));
                out[first] = guess;
            }
            n++;
        }
        if (!q.tensor && !fma)
            /* The problem uses no tensor cores: the second pass would list the same engines. */
            break;
    }
    return n;
}

/* ---- graphs without a convolution ---- */

struct work {
    double flops, bytes, blocks;
    int products;
    cudnnDataType_t type; /* the type of the products' operands */
};

static void add_product(const struct backend *op, struct work *w)
{
    const struct backend *a = backend_child(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, 0);
    const struct backend *c = backend_child(op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, 0);
    int64_t m = dimension(c, rank(c) - 2);
    w->flops += 2 * elements(c) * (double)dimension(a, rank(a) - 1);
    if (w->products++ == 0) {
        w->type = data_type(a);
        w->blocks = elements(c) / (double)dimension(c, rank(c) - 1) / (double)(m > 128 ? 128 : m);
    }
}

/* True if attention is masked above the diagonal. Half of the products then need not be computed
 * (if there are as many queries as keys). */
static bool is_masked(const struct backend *op, int name)
{
    const struct backend *graph = backend_child(op, name, 0), *inner;
    for (int i = 0; (inner = backend_child(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, i)); i++)
        if ((int)inner->type == BAND_MASK)
            return true;
    return false;
}

/* Adds attention that the graph contains as one operation, as newer front ends write it. */
static void add_attention(const struct backend *op, int q_name, int k_name, int subgraph,
                          int products, struct work *w)
{
    const struct backend *q = backend_child(op, q_name, 0), *k = backend_child(op, k_name, 0);
    w->type = data_type(q);
    w->products += products;
    w->flops += 2.0 * products * elements(q) * (double)dimension(k, rank(k) - 2) *
                (is_masked(op, subgraph) ? 0.5 : 1);
    w->blocks = elements(q) / (double)dimension(q, rank(q) - 1) / 128;
}
/* Adds the bytes of an operation's real tensors, each read or written once. Virtual tensors stay
 * inside the kernel. */
static void add_tensors(const struct backend *op, struct work *w)
{
    for (size_t i = 0; i < op->attribute_count; i++) {
        const struct attribute *a = &op->attributes[i];
        for (int64_t k = 0; a->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && k < a->count; k++) {
            const struct backend *t = ((struct backend **)a->values)[k];
            if (t && t->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR &&
                !backend_number(t, CUDNN_ATTR_TENSOR_IS_VIRTUAL, 0) &&
                !backend_number(t, CUDNN_ATTR_TENSOR_IS_BY_VALUE, 0))
                w->bytes += elements(t) * (double)cudnn_type_bytes(data_type(t));
        }
    }
}

static double peak(const struct vg_profile *p, cudnnDataType_t type)
{
    double half = type == CUDNN_DATA_BFLOAT16 && p->bf16_flops > 0 ? p->bf16_flops : p->fp16_flops;
    double f = type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16 ? half : p->tf32_flops;
    return f > 0 ? f : p->fp32_flops;
}

static void add_kernel(struct engine *e, const char *name, double blocks, double ns)
{
    e->kernel[e->kernels++] = (struct vg_kernel){.name = name,
                                                 .grid = {blocks > 1 ? (unsigned)blocks : 1, 1, 1},
                                                 .block = {256, 1, 1},
                                                 .registers = 168,
                                                 .duration_ns = (int64_t)ns};
}

/* `forward` and `backward` are the shares of the arithmetic peak that published measurements of
 * attention reach at long sequences. The model assumes them for all shapes. */
static void attention(const struct vg_profile *p, const struct work *w, struct engine *e)
{
    const double forward = 0.6, backward = 0.5;
    bool is_backward = w->products > 2, hopper = p->cc_major >= 9;
    double ns = w->flops / (peak(p, w->type) * (is_backward ? backward : forward)) * 1e9;
    double memory = (double)vg_cost_memory(p, w->bytes, 1, p->pointwise_eff);
    ns = (ns > memory ? ns : memory) + p->gemm_fixed_ns;
    e->tensor = true;
    e->workspace = is_backward ? (int64_t)w->bytes : 0;
    if (!is_backward) {
        add_kernel(e,
                   hopper ? "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_kernel0_0"
                          : "cudnn_generated_fort_native_sdpa_sm80_flash_fprop_f16_kernel0_0",
                   w->blocks, ns);
        return;
    }
    const char *name = hopper
                           ? "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_kernel0_0"
                           : "cudnn_generated_fort_native_sdpa_sm80_flash_bprop_f16_kernel0_0";
    double part = (double)vg_cost_memory(p, w->bytes / 4, 1, p->pointwise_eff);
    add_kernel(e, "cudnn::fusion::compute_dot_do_o", w->blocks, part);
    add_kernel(e, name, w->blocks, ns);
    add_kernel(e, "cudnn::fusion::convert_dq_to_16bits", w->blocks, part);
}

static int other_engines(const struct work *w, struct engine *e)
{
    const struct vg_profile *p = vg_profile(vg_current_device());
    *e = (struct engine){.id = SOLE_ENGINE, .deterministic = true};
    if (w->products > 1) {
        attention(p, w, e);
        return 1;
    }
    double ns = (double)vg_cost_memory(p, w->bytes, 1, p->pointwise_eff);
    double arithmetic = w->flops / (peak(p, w->type) * p->gemm_eff) * 1e9 + p->gemm_fixed_ns;
    add_kernel(e, "cudnn_generated_fort_native_fused_kernel0_0", w->bytes / 16384,
               w->products && arithmetic > ns ? arithmetic : ns);
    return 1;
}

int graph_engines(const struct backend *graph, struct engine out[GRAPH_MAX_ENGINES])
{
    struct work w = {.type = CUDNN_DATA_FLOAT};
    int ops = 0;
    if (vg_start() != 0)
        return 0;
    for (struct backend *op; (op = backend_child(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, ops));
         ops++) {
        for (size_t i = 0; i < sizeof convolutions / sizeof *convolutions; i++)
            if (op->type == convolutions[i].type)
                return conv_engines(op, (int)i, out);
        add_tensors(op, &w);
        if (op->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
            add_product(op, &w);
        else if ((int)op->type == ATTENTION)
            add_attention(op, ATTENTION_Q, ATTENTION_K, ATTENTION_SUBGRAPH, 2, &w);
        else if ((int)op->type == ATTENTION_BACKWARD)
            add_attention(op, ATTENTION_BACKWARD_Q, ATTENTION_BACKWARD_K,
                          ATTENTION_BACKWARD_SUBGRAPH, 5, &w);
    }
    return ops ? other_engines(&w, out) : 0;
}
