/* cuDNN's graph API: finds out what an execution plan computes while the program builds it.
 *
 * The hooks only read what passes through them; they call no function of cuDNN. Each descriptor of
 * interest gets a node, which holds what the descriptor tells about the later call, as a CALL
 * record. When the program sets one descriptor as an attribute of another, the other's node takes
 * this over: tensors -> operation -> operation graph -> (heuristics ->) engine -> engine
 * configuration -> plan. Executing a plan takes one look-up. A plan whose building was not seen is
 * recorded without shapes. */
#include <string.h>

#include "agent/libs/preload_cudnn.h"

enum { NODES = 4096, PROBES = 64, SPINS = 10000, RANK = 5 };

/* Positions in spool_rec_call.dim. */
enum { N, C, H, W, K, R, S, STRIDE, PAD, DILATION, GROUPS };
enum { GEMM_M, GEMM_N, GEMM_K, GEMM_BATCH };

static struct node {
    const void *key; /* NULL: never used; GONE: destroyed */
    struct spool_rec_call about;
    int64_t dim[RANK], stride[RANK]; /* of a tensor */
    int rank;
    int32_t filter_channels; /* of an operation: input channels that one output channel sees */
} nodes[NODES];
static const char gone;
#define GONE ((const void *)&gone)

/* Programs rarely build plans, and not within a step, so a lock does no harm. A thread that does
 * not get it soon gives up. */
static atomic_flag lock = ATOMIC_FLAG_INIT;

static bool lock_take(void)
{
    for (int i = 0; i < SPINS; i++)
        if (!atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
            return true;
    return false;
}

static void lock_give(void)
{
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

static struct node *node_of(const void *key, bool make)
{
    size_t at = (size_t)(((uintptr_t)key * 0x9e3779b97f4a7c15ull) >> 52);
    struct node *reuse = NULL;
    for (size_t i = 0; key && i < PROBES; i++) {
        struct node *n = &nodes[(at + i) % NODES];
        if (n->key == key)
            return n;
        if (!reuse && (n->key == NULL || n->key == GONE))
            reuse = n;
        if (n->key == NULL)
            break;
    }
    if (!make || !reuse || !key)
        return NULL;
    memset(reuse, 0, sizeof *reuse);
    reuse->key = key;
    reuse->about.algo = -1;
    return reuse;
}

static uint8_t layout_of(const struct node *t)
{
    if (t->rank < 3)
        return SPOOL_LAYOUT_UNKNOWN;
    return cudnn_layout(t->dim[1], t->stride[1], t->stride[t->rank - 1]);
}

/* ---- what one attribute tells ---- */

struct setting {
    struct node *to;
    int64_t count;
    const void *values;
    int which; /* for the setter: a family of calls, a position in dim, or a matrix */
};

static const struct node *descriptor(const struct setting *s, int64_t i)
{
    const void *key;
    if (i >= s->count)
        return NULL;
    memcpy(&key, (const char *)s->values + i * (int64_t)sizeof key, sizeof key);
    return node_of(key, false);
}

static int32_t first_int(const struct setting *s, size_t size)
{
    int64_t wide = 0;
    int32_t narrow = 0;
    if (s->count < 1)
        return 0;
    if (size == sizeof wide)
        memcpy(&wide, s->values, sizeof wide);
    else
        memcpy(&narrow, s->values, sizeof narrow);
    return size == sizeof wide ? (int32_t)wide : narrow;
}

static void copy_dims(const struct setting *s, int64_t *to)
{
    int64_t n = s->count < RANK ? s->count : RANK;
    memcpy(to, s->values, (size_t)n * sizeof *to);
    s->to->rank = (int)n;
}

static void set_dims(struct setting *s)
{
    copy_dims(s, s->to->dim);
}

static void set_strides(struct setting *s)
{
    copy_dims(s, s->to->stride);
}

/* No attribute tells the groups: a filter of a grouped convolution sees one group's channels. */
static void put_groups(struct node *n)
{
    if (n->filter_channels > 0 && n->about.dim[C] % n->filter_channels == 0)
        n->about.dim[GROUPS] = n->about.dim[C] / n->filter_channels;
}

static void set_x(struct setting *s)
{
    const struct node *x = descriptor(s, 0);
    struct spool_rec_call *a = &s->to->about;
    a->family = (uint8_t)s->which;
    if (!x || x->rank < 4)
        return;
    a->in_type = x->about.in_type;
    a->in_layout = layout_of(x);
    a->dim[N] = (int32_t)x->dim[0];
    a->dim[C] = (int32_t)x->dim[1];
    a->dim[H] = (int32_t)x->dim[x->rank - 2];
    a->dim[W] = (int32_t)x->dim[x->rank - 1];
    put_groups(s->to);
}

static void set_w(struct setting *s)
{
    const struct node *w = descriptor(s, 0);
    struct spool_rec_call *a = &s->to->about;
    if (!w || w->rank < 4)
        return;
    a->weight_type = w->about.in_type;
    a->weight_layout = layout_of(w);
    a->dim[K] = (int32_t)w->dim[0];
    a->dim[R] = (int32_t)w->dim[w->rank - 2];
    a->dim[S] = (int32_t)w->dim[w->rank - 1];
    s->to->filter_channels = (int32_t)w->dim[1];
    put_groups(s->to);
}

static void set_y(struct setting *s)
{
    const struct node *y = descriptor(s, 0);
    if (y)
        s->to->about.out_type = y->about.in_type;
}

static void set_conv(struct setting *s)
{
    const struct node *c = descriptor(s, 0);
    if (!c)
        return;
    s->to->about.compute_type = c->about.compute_type;
    for (int i = STRIDE; i <= DILATION; i++)
        s->to->about.dim[i] = c->about.dim[i];
}

static void set_matrix(struct setting *s)
{
    const struct node *m = descriptor(s, 0);
    struct spool_rec_call *a = &s->to->about;
    a->family = SPOOL_CALL_GEMM;
    if (!m || m->rank < 2)
        return;
    int32_t rows = (int32_t)m->dim[m->rank - 2], cols = (int32_t)m->dim[m->rank - 1];
    uint8_t layout = m->stride[m->rank - 1] == 1 ? SPOOL_LAYOUT_ROW : SPOOL_LAYOUT_COL;
    if (s->which == 'A') {
        a->in_type = m->about.in_type;
        a->in_layout = layout;
        a->dim[GEMM_M] = rows;
        a->dim[GEMM_K] = cols;
        a->dim[GEMM_BATCH] = m->rank > 2 ? (int32_t)m->dim[0] : 1;
    } else {
        a->weight_type = m->about.in_type;
        a->weight_layout = layout;
        a->dim[GEMM_N] = cols;
    }
}

/* Copies what `from` knows, but keeps the number of an engine that `to` has. */
static void inherit(struct node *to, const struct node *from)
{
    if (!to || !from)
        return;
    int32_t algo = to->about.algo;
    to->about = from->about;
    if (to->about.algo < 0)
        to->about.algo = algo;
}

/* In a fused graph, the convolution or the product stands for the whole. */
static void set_graph(struct setting *s)
{
    for (int64_t i = 0; i < s->count; i++) {
        const struct node *op = descriptor(s, i);
        if (op && op->about.family != SPOOL_CALL_OTHER) {
            inherit(s->to, op);
            return;
        }
    }
}

static void set_in_type(struct setting *s)
{
    s->to->about.in_type = cudnn_dtype(first_int(s, sizeof(int32_t)));
}

static void set_compute_type(struct setting *s)
{
    s->to->about.compute_type = cudnn_dtype(first_int(s, sizeof(int32_t)));
}

static void set_dim(struct setting *s)
{
    s->to->about.dim[s->which] = first_int(s, sizeof(int64_t));
}

static void set_algo(struct setting *s)
{
    s->to->about.algo = first_int(s, sizeof(int64_t));
}

static const struct {
    int attribute;
    void (*set)(struct setting *s);
    int which;
} setters[] = {
    {CUDNN_ATTR_TENSOR_DATA_TYPE, set_in_type, 0},
    {CUDNN_ATTR_TENSOR_DIMENSIONS, set_dims, 0},
    {CUDNN_ATTR_TENSOR_STRIDES, set_strides, 0},
    {CUDNN_ATTR_CONVOLUTION_COMP_TYPE, set_compute_type, 0},
    {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, set_dim, STRIDE},
    {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, set_dim, PAD},
    {CUDNN_ATTR_CONVOLUTION_DILATIONS, set_dim, DILATION},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, set_x, SPOOL_CALL_CONV_FWD},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, set_x, SPOOL_CALL_CONV_DGRAD},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, set_x, SPOOL_CALL_CONV_WGRAD},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, set_w, 0},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, set_w, 0},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, set_w, 0},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, set_y, 0},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, set_y, 0},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, set_y, 0},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, set_conv, 0},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, set_conv, 0},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, set_conv, 0},
    {CUDNN_ATTR_OPERATION_MATMUL_ADESC, set_matrix, 'A'},
    {CUDNN_ATTR_OPERATION_MATMUL_BDESC, set_matrix, 'B'},
    {CUDNN_ATTR_OPERATION_MATMUL_CDESC, set_y, 0},
    {CUDNN_ATTR_OPERATIONGRAPH_OPS, set_graph, 0},
    {CUDNN_ATTR_ENGINE_GLOBAL_INDEX, set_algo, 0},
};

static void set_attribute(struct setting *s, int attribute)
{
    for (size_t i = 0; i < AGENT_ARRAY_LEN(setters); i++)
        if (setters[i].attribute == attribute) {
            s->which = setters[i].which;
            setters[i].set(s);
            return;
        }
    /* The remaining attributes: ENGINE_OPERATION_GRAPH, ENGINEHEUR_..., ENGINECFG_ENGINE and
     * ..._ENGINE_CONFIG. */
    inherit(s->to, descriptor(s, 0));
}

static bool of_interest(int attribute)
{
    return (attribute >= CUDNN_ATTR_CONVOLUTION_COMP_TYPE &&
            attribute <= CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) ||
           attribute == CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH ||
           attribute == CUDNN_ATTR_ENGINECFG_ENGINE ||
           attribute == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG ||
           (attribute >= CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC &&
            attribute <= CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY) ||
           attribute == CUDNN_ATTR_OPERATIONGRAPH_OPS ||
           (attribute >= CUDNN_ATTR_TENSOR_DATA_TYPE && attribute <= CUDNN_ATTR_TENSOR_STRIDES) ||
           attribute == CUDNN_ATTR_ENGINE_OPERATION_GRAPH ||
           attribute == CUDNN_ATTR_ENGINE_GLOBAL_INDEX ||
           (attribute >= CUDNN_ATTR_OPERATION_MATMUL_ADESC &&
            attribute <= CUDNN_ATTR_OPERATION_MATMUL_CDESC);
}

/* ---- the hooks ---- */

AGENT_EXPORT cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor_,
                                                    cudnnBackendAttributeName_t name,
                                                    cudnnBackendAttributeType_t type, int64_t count,
                                                    const void *values)
{
    static struct hook hook = {.name = "cudnnBackendSetAttribute", .library = HOOK_CUDNN};
    __typeof__(cudnnBackendSetAttribute) *real =
        (__typeof__(cudnnBackendSetAttribute) *)hook_real(&hook);
    if (!real)
        return CUDNN_STATUS_NOT_INITIALIZED;
    cudnnStatus_t status = real(descriptor_, name, type, count, values);
    if (status == CUDNN_STATUS_SUCCESS && agent.dir && values && count > 0 &&
        of_interest((int)name) && lock_take()) {
        struct setting s = {node_of(descriptor_, true), count, values, 0};
        if (s.to)
            set_attribute(&s, (int)name);
        lock_give();
    }
    return status;
}

/* Heuristics return engine configurations for their graph, which inherit what is known of it. */
AGENT_EXPORT cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor_,
                                                    cudnnBackendAttributeName_t name,
                                                    cudnnBackendAttributeType_t type, int64_t want,
                                                    int64_t *got, void *values)
{
    static struct hook hook = {.name = "cudnnBackendGetAttribute", .library = HOOK_CUDNN};
    __typeof__(cudnnBackendGetAttribute) *real =
        (__typeof__(cudnnBackendGetAttribute) *)hook_real(&hook);
    if (!real)
        return CUDNN_STATUS_NOT_INITIALIZED;
    cudnnStatus_t status = real(descriptor_, name, type, want, got, values);
    if (status == CUDNN_STATUS_SUCCESS && agent.dir && name == CUDNN_ATTR_ENGINEHEUR_RESULTS &&
        got && values && lock_take()) {
        const struct node *heuristics = node_of(descriptor_, false);
        for (int64_t i = 0; heuristics && i < *got && i < want; i++)
            inherit(node_of(((void **)values)[i], true), heuristics);
        lock_give();
    }
    return status;
}

AGENT_EXPORT cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor_)
{
    static struct hook hook = {.name = "cudnnBackendDestroyDescriptor", .library = HOOK_CUDNN};
    __typeof__(cudnnBackendDestroyDescriptor) *real =
        (__typeof__(cudnnBackendDestroyDescriptor) *)hook_real(&hook);
    if (!real)
        return CUDNN_STATUS_NOT_INITIALIZED;
    if (agent.dir && lock_take()) {
        struct node *n = node_of(descriptor_, false);
        if (n)
            n->key = GONE;
        lock_give();
    }
    return real(descriptor_);
}

static void fill(struct spool_rec_call *r, const void *plan)
{
    if (!lock_take())
        return;
    const struct node *n = node_of(plan, false);
    if (n) {
        struct spool_rec head = r->head;
        uint32_t function = r->function;
        *r = n->about;
        r->head = head;
        r->function = function;
    }
    lock_give();
}

CUDNN_HOOK(cudnnBackendExecute,
           (cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack),
           (handle, plan, pack), fill(rec, plan))
