/* cuDNN's recurrent layers: LSTM, GRU and plain cells, with several layers and both directions. A
 * layer is a product over the whole sequence, then a product and a cell kernel for each position.
 * The backward pass does the same in reverse order; the gradient of the weights is two products.
 * The persistent algorithms, which keep the weights on the multiprocessors, are not modelled, so a
 * sequence takes longer than with them. The names of the cell kernels follow cuDNN's style from
 * memory; no recording confirms them. */
#include "shims/cudnn/shim_cudnn.h"

#include <stdlib.h>

struct cudnnRNNStruct {
    bool set;
    cudnnRNNMode_t mode;
    cudnnDataType_t type;
    cudnnMathType_t math;
    bool biased;
    int input, hidden, projected, layers, directions;
};

struct cudnnRNNDataStruct {
    bool set;
    cudnnDataType_t type;
    int length, batch, width;
};

cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t *out)
{
    NEED(out);
    *out = calloc(1, sizeof **out);
    return *out ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED;
}

cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t r)
{
    free(r);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t r, cudnnRNNAlgo_t algo,
                                       cudnnRNNMode_t mode, cudnnRNNBiasMode_t bias,
                                       cudnnDirectionMode_t direction, cudnnRNNInputMode_t input,
                                       cudnnDataType_t type, cudnnDataType_t compute,
                                       cudnnMathType_t math, int32_t input_size, int32_t hidden,
                                       int32_t projected, int32_t layers,
                                       cudnnDropoutDescriptor_t dropout, uint32_t flags)
{
    (void)algo, (void)input, (void)compute, (void)dropout, (void)flags;
    NEED(r && input_size > 0 && hidden > 0 && layers > 0);
    *r = (struct cudnnRNNStruct){.set = true,
                                 .mode = mode,
                                 .type = type,
                                 .math = math,
                                 .biased = bias != CUDNN_RNN_NO_BIAS,
                                 .input = input_size,
                                 .hidden = hidden,
                                 .projected = projected > 0 ? projected : hidden,
                                 .layers = layers,
                                 .directions = direction == CUDNN_BIDIRECTIONAL ? 2 : 1};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t *out)
{
    NEED(out);
    *out = calloc(1, sizeof **out);
    return *out ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED;
}

cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t d)
{
    free(d);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t d, cudnnDataType_t type,
                                        cudnnRNNDataLayout_t layout, int length, int batch,
                                        int width, const int lengths[], void *fill)
{
    (void)layout, (void)lengths, (void)fill;
    NEED(d && length > 0 && batch > 0 && width > 0);
    *d = (struct cudnnRNNDataStruct){true, type, length, batch, width};
    return CUDNN_STATUS_SUCCESS;
}

/* ---- sizes ---- */

static int gates(const struct cudnnRNNStruct *r)
{
    return r->mode == CUDNN_LSTM ? 4 : r->mode == CUDNN_GRU ? 3 : 1;
}

static int inputs_of(const struct cudnnRNNStruct *r, int pseudo)
{
    return pseudo < r->directions ? r->input : r->projected * r->directions;
}

static bool projects(const struct cudnnRNNStruct *r)
{
    return r->projected != r->hidden;
}

/* Elements of the matrices of a pseudo-layer (one layer in one direction): those for the input, for
 * the state and for the projection. */
static size_t matrices(const struct cudnnRNNStruct *r, int pseudo)
{
    size_t rows = (size_t)gates(r) * (size_t)r->hidden;
    return rows * (size_t)(inputs_of(r, pseudo) + r->projected) +
           (projects(r) ? (size_t)r->projected * (size_t)r->hidden : 0);
}

static size_t matrices_before(const struct cudnnRNNStruct *r, int pseudo)
{
    size_t n = 0;
    for (int i = 0; i < pseudo; i++)
        n += matrices(r, i);
    return n;
}

cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t h, cudnnRNNDescriptor_t r, size_t *bytes)
{
    NEED(h && r && r->set && bytes);
    int all = r->layers * r->directions;
    size_t biases = r->biased ? (size_t)(2 * gates(r) * r->hidden * all) : 0;
    *bytes = (matrices_before(r, all) + biases) * cudnn_type_bytes(r->type);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t h, cudnnRNNDescriptor_t r,
                                        cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t x,
                                        size_t *workspace, size_t *reserve)
{
    NEED(h && r && r->set && x && x->set);
    size_t layer = (size_t)x->length * (size_t)x->batch * (size_t)gates(r) * (size_t)r->hidden *
                   cudnn_type_bytes(r->type);
    if (workspace)
        *workspace = layer * (size_t)r->directions;
    if (reserve)
        *reserve = mode == CUDNN_FWD_MODE_TRAINING
                       ? 2 * layer * (size_t)r->directions * (size_t)r->layers
                       : 0;
    return CUDNN_STATUS_SUCCESS;
}

/* Describes a matrix in `t` and stores its address in `at`; the caller may leave out either. */
static cudnnStatus_t place(cudnnTensorDescriptor_t t, void **at, cudnnDataType_t type, int rows,
                           int columns, const void *space, size_t elements)
{
    if (t)
        *t = (struct cudnnTensorStruct){.set = true,
                                        .type = type,
                                        .nd = 3,
                                        .dim = {1, rows, columns},
                                        .stride = {rows * columns, columns, 1}};
    if (at)
        *at = (char *)(uintptr_t)space + elements * cudnn_type_bytes(type);
    return CUDNN_STATUS_SUCCESS;
}

/* In the space of the weights, the matrices of a pseudo-layer lie gate by gate, those for the input
 * before those for the state. All biases follow after all matrices. */
cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t h, cudnnRNNDescriptor_t r, int32_t pseudo,
                                      size_t bytes, const void *space, int32_t id,
                                      cudnnTensorDescriptor_t m, void **m_at,
                                      cudnnTensorDescriptor_t b, void **b_at)
{
    (void)bytes;
    NEED(h && r && r->set && id >= 0 && pseudo >= 0);
    int g = gates(r), all = r->layers * r->directions, in = inputs_of(r, pseudo);
    NEED(pseudo < all && id < 2 * g + projects(r));
    size_t hidden = (size_t)r->hidden, before = matrices_before(r, pseudo);
    size_t state = before + (size_t)g * hidden * (size_t)in;
    if (b)
        *b = (struct cudnnTensorStruct){0};
    if (b_at)
        *b_at = NULL;
    if (r->biased && id < 2 * g)
        place(b, b_at, r->type, r->hidden, 1, space,
              matrices_before(r, all) + (size_t)(pseudo * 2 * g + id) * hidden);
    if (id < g)
        return place(m, m_at, r->type, r->hidden, in, space,
                     before + (size_t)id * hidden * (size_t)in);
    if (id < 2 * g)
        return place(m, m_at, r->type, r->hidden, r->projected, space,
                     state + (size_t)(id - g) * hidden * (size_t)r->projected);
    return place(m, m_at, r->type, r->projected, r->hidden, space,
                 state + (size_t)g * hidden * (size_t)r->projected);
}

/* ---- the two passes and the gradient of the weights ---- */

static cudnnStatus_t product(cudnnHandle_t h, const struct cudnnRNNStruct *r, int64_t m, int64_t n,
                             int64_t k)
{
    const struct vg_profile *p = cudnn_profile(h);
    struct vg_product g = {
        .type = cudnn_dtype(r->type), .m = m, .n = n, .k = k, .batch = 1, .align = 8};
    if (g.type == VG_F32 && r->math != CUDNN_FMA_MATH && p->tf32_flops > 0)
        g.type = VG_TF32;
    return vg_product_launch((struct vg_stream *)h->stream, p, &g, 0) == 0
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_EXECUTION_FAILED;
}

static cudnnStatus_t cell(cudnnHandle_t h, const struct cudnnRNNStruct *r, int batch, bool backward)
{
    static const char *const names[][2] = {{"elemWiseRNNcell", "elemWiseRNNcell_bp"},
                                           {"LSTM_elementWise_fp", "LSTM_elementWise_bp1"},
                                           {"GRU_elementWise_fp", "GRU_elementWise_bp1"}};
    int which = r->mode == CUDNN_LSTM ? 1 : r->mode == CUDNN_GRU ? 2 : 0;
    int64_t elements = (int64_t)batch * r->hidden;
    double bytes = (double)elements * (gates(r) + 2) * (double)cudnn_type_bytes(r->type);
    const struct vg_profile *p = cudnn_profile(h);
    return cudnn_launch_flat(h, names[which][backward], elements, 256,
                             vg_cost_memory(p, bytes, backward ? 2 : 1, p->pointwise_eff));
}

/* Launches, for each layer, a product over the whole sequence and, for each position, a product and
 * a cell kernel. */
static cudnnStatus_t pass(cudnnHandle_t h, const struct cudnnRNNStruct *r,
                          const struct cudnnRNNDataStruct *x, bool backward)
{
    NEED(h && r && r->set && x && x->set);
    cudnnStatus_t bad = CUDNN_STATUS_SUCCESS;
    int64_t rows = (int64_t)gates(r) * r->hidden;
    for (int layer = 0; layer < r->layers * r->directions && !bad; layer++) {
        bad = product(h, r, rows, (int64_t)x->length * x->batch, inputs_of(r, layer));
        for (int i = 0; i < x->length && !bad; i++) {
            bad = product(h, r, rows, x->batch, r->projected);
            if (!bad)
                bad = cell(h, r, x->batch, backward);
            if (!bad && projects(r))
                bad = product(h, r, r->projected, x->batch, r->hidden);
        }
    }
    return bad;
}

cudnnStatus_t cudnnRNNForward(cudnnHandle_t h, cudnnRNNDescriptor_t r, cudnnForwardMode_t mode,
                              const int32_t lengths[], cudnnRNNDataDescriptor_t x, const void *at_x,
                              cudnnRNNDataDescriptor_t y, void *at_y, cudnnTensorDescriptor_t hd,
                              const void *hx, void *hy, cudnnTensorDescriptor_t cd, const void *cx,
                              void *cy, size_t weight_bytes, const void *weights, size_t work_bytes,
                              void *work, size_t reserve_bytes, void *reserve)
{
    (void)mode, (void)lengths, (void)at_x, (void)y, (void)at_y, (void)hd, (void)hx, (void)hy;
    (void)cd, (void)cx, (void)cy, (void)weight_bytes, (void)weights, (void)work_bytes, (void)work;
    (void)reserve_bytes, (void)reserve;
    return pass(h, r, x, false);
}

cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t h, cudnnRNNDescriptor_t r,
                                      const int32_t lengths[], cudnnRNNDataDescriptor_t y,
                                      const void *at_y, const void *dy, cudnnRNNDataDescriptor_t x,
                                      void *dx, cudnnTensorDescriptor_t hd, const void *hx,
                                      const void *dhy, void *dhx, cudnnTensorDescriptor_t cd,
                                      const void *cx, const void *dcy, void *dcx,
                                      size_t weight_bytes, const void *weights, size_t work_bytes,
                                      void *work, size_t reserve_bytes, void *reserve)
{
    (void)lengths, (void)y, (void)at_y, (void)dy, (void)dx, (void)hd, (void)hx, (void)dhy;
    (void)dhx, (void)cd, (void)cx, (void)dcy, (void)dcx, (void)weight_bytes, (void)weights;
    (void)work_bytes, (void)work, (void)reserve_bytes, (void)reserve;
    return pass(h, r, x, true);
}

cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t h, cudnnRNNDescriptor_t r,
                                         cudnnWgradMode_t add, const int32_t lengths[],
                                         cudnnRNNDataDescriptor_t x, const void *at_x,
                                         cudnnTensorDescriptor_t hd, const void *hx,
                                         cudnnRNNDataDescriptor_t y, const void *at_y,
                                         size_t weight_bytes, void *dweights, size_t work_bytes,
                                         void *work, size_t reserve_bytes, void *reserve)
{
    (void)add, (void)lengths, (void)at_x, (void)hd, (void)hx, (void)y, (void)at_y;
    (void)weight_bytes, (void)dweights, (void)work_bytes, (void)work, (void)reserve_bytes;
    (void)reserve;
    NEED(h && r && r->set && x && x->set);
    cudnnStatus_t bad = CUDNN_STATUS_SUCCESS;
    int64_t rows = (int64_t)gates(r) * r->hidden, all = (int64_t)x->length * x->batch;
    for (int layer = 0; layer < r->layers * r->directions && !bad; layer++) {
        bad = product(h, r, rows, inputs_of(r, layer), all);
        if (!bad)
            bad = product(h, r, rows, r->projected, all);
    }
    return bad;
}
