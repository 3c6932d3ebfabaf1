/* How cuDNN computes each convolution: its first guess (heuristic), or the fastest of those it
 * measures (find). Layers of the same shape share the answer.
 *
 * Math types: fp32 asks for FMA, which keeps tensor cores out; the default for float is TF32; half
 * types ask for tensor cores. An answer holds for the math type that it came with; fp32 insists on
 * FMA, because the default would let TF32 in.
 */
#include "reference_workloads/conv/model.h"

enum { MAX_ANSWERS = 16 };

struct answer { /* what the three passes' result structs have in common */
    int algorithm;
    cudnnStatus_t status;
    size_t memory;
    cudnnMathType_t math;
};

static cudnnMathType_t wanted_math(const struct model *m)
{
    switch (m->config->precision) {
    case PRECISION_FP32:
        return CUDNN_FMA_MATH;
    case PRECISION_TF32:
        return CUDNN_DEFAULT_MATH;
    default:
        return CUDNN_TENSOR_OP_MATH;
    }
}

#define COPY_ANSWERS(results, count, answers)                                                      \
    for (int i_ = 0; i_ < (count); i_++)                                                           \
        (answers)[i_] = (struct answer)                                                            \
        {                                                                                          \
            (int)(results)[i_].algo, (results)[i_].status, (results)[i_].memory,                   \
                (results)[i_].mathType                                                             \
        }

/* Each pass: fills `answers`, best first, and returns how many. */
static int ask_forward(struct model *m, struct unit *u, struct answer *answers)
{
    cudnnConvolutionFwdAlgoPerf_t r[MAX_ANSWERS];
    int n = 0;
    if (m->config->cudnn_find)
        cudnnCheck(cudnnFindConvolutionForwardAlgorithmEx(
            m->cudnn, u->x_desc, u->x, u->w_desc, model_weight(m, u->weight), u->conv[PASS_FORWARD],
            u->y_desc, u->conv_out, MAX_ANSWERS, &n, r, m->workspace, m->workspace_bytes));
    else
        cudnnCheck(cudnnGetConvolutionForwardAlgorithm_v7(
            m->cudnn, u->x_desc, u->w_desc, u->conv[PASS_FORWARD], u->y_desc, MAX_ANSWERS, &n, r));
    COPY_ANSWERS(r, n, answers);
    return n;
}

static int ask_data(struct model *m, struct unit *u, struct answer *answers)
{
    cudnnConvolutionBwdDataAlgoPerf_t r[MAX_ANSWERS];
    int n = 0;
    if (m->config->cudnn_find)
        cudnnCheck(cudnnFindConvolutionBackwardDataAlgorithmEx(
            m->cudnn, u->w_desc, model_weight(m, u->weight), u->y_desc, u->conv_out,
            u->conv[PASS_DATA], u->x_desc, m->grad[0], MAX_ANSWERS, &n, r, m->workspace,
            m->workspace_bytes));
    else
        cudnnCheck(cudnnGetConvolutionBackwardDataAlgorithm_v7(
            m->cudnn, u->w_desc, u->y_desc, u->conv[PASS_DATA], u->x_desc, MAX_ANSWERS, &n, r));
    COPY_ANSWERS(r, n, answers);
    return n;
}

static int ask_filter(struct model *m, struct unit *u, struct answer *answers)
{
    cudnnConvolutionBwdFilterAlgoPerf_t r[MAX_ANSWERS];
    int n = 0;
    if (m->config->cudnn_find)
        cudnnCheck(cudnnFindConvolutionBackwardFilterAlgorithmEx(
            m->cudnn, u->x_desc, u->x, u->y_desc, u->conv_out, u->conv[PASS_FILTER], u->w_desc,
            model_gradient(m, u->weight), MAX_ANSWERS, &n, r, m->workspace, m->workspace_bytes));
    else
        cudnnCheck(cudnnGetConvolutionBackwardFilterAlgorithm_v7(
            m->cudnn, u->x_desc, u->y_desc, u->conv[PASS_FILTER], u->w_desc, MAX_ANSWERS, &n, r));
    COPY_ANSWERS(r, n, answers);
    return n;
}

static void choose(struct model *m, struct unit *u, enum pass pass)
{
    static int (*const ask[PASS_COUNT])(struct model *, struct unit *,
                                        struct answer *) = {ask_forward, ask_data, ask_filter};
    struct answer answers[MAX_ANSWERS];
    cudnnCheck(cudnnSetConvolutionMathType(u->conv[pass], wanted_math(m)));
    int n = ask[pass](m, u, answers);
    if (m->config->cudnn_find) /* again: the first time, loading the kernels was measured too */
        n = ask[pass](m, u, answers);
    for (int i = 0; i < n; i++) {
        const struct answer *a = &answers[i];
        if (a->status != CUDNN_STATUS_SUCCESS || a->memory > m->workspace_bytes)
            continue;
        if (m->config->precision == PRECISION_FP32 && a->math == CUDNN_TENSOR_OP_MATH)
            continue;
        u->algorithm[pass] = (struct algorithm){
            a->algorithm, m->config->precision == PRECISION_FP32 ? CUDNN_FMA_MATH : a->math};
        return;
    }
    die(1, "cuDNN has no algorithm for %s within %zu MB\n---> HINT: try a larger --workspace-mb",
        u->name, m->workspace_bytes >> 20);
}

static int same_shape(const struct unit *a, const struct unit *b)
{
    return a->c == b->c && a->h == b->h && a->k == b->k && a->size == b->size &&
           a->stride == b->stride;
}

void model_choose_algorithms(struct model *m)
{
    for (int i = 0; i < m->unit_count; i++) {
        struct unit *u = &m->units[i];
        int twin = 0;
        while (twin < i && !same_shape(u, &m->units[twin]))
            twin++;
        for (int pass = 0; pass < PASS_COUNT; pass++) {
            if (i == 0 && pass == PASS_DATA)
                continue; /* the pictures need no gradient */
            if (twin < i)
                u->algorithm[pass] = m->units[twin].algorithm[pass];
            else
                choose(m, u, pass);
            cudnnCheck(cudnnSetConvolutionMathType(u->conv[pass], u->algorithm[pass].math));
        }
    }
}
