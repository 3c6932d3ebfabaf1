/* Measures how fast this card does the work of training: matrix products by type, size and
 * alignment; convolutions by type, layout and pass; batch normalisation by layout and form of call.
 * Prints NAME<TAB>VALUE<TAB>UNIT: TFLOP/s for products and convolutions, GB/s for normalisation
 * (bytes of the tensor, counted in 3 passes forward and 5 backward). The algorithms are those that
 * cuDNN's own search chooses within 256 MiB. Takes about twenty seconds; exit status 77 without a
 * GPU. */
#include "vgpu/tests/calibrate/measure.h"

#include <cublas_v2.h>
#include <cudnn.h>
#include <stdbool.h>
#include <string.h>

enum { TRIES = 5, WORKSPACE = 256 << 20 };

#define CHECK_LIB(call, good)                                                                      \
    do {                                                                                           \
        int status_ = (int)(call);                                                                 \
        if (status_ != (int)(good)) {                                                              \
            fprintf(stderr, "%s:%d: status %d\n", __FILE__, __LINE__, status_);                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define CHECK_BLAS(call) CHECK_LIB(call, CUBLAS_STATUS_SUCCESS)
#define CHECK_DNN(call)  CHECK_LIB(call, CUDNN_STATUS_SUCCESS)

struct precision {
    const char *name;
    cudaDataType_t cuda;
    cudnnDataType_t dnn;
    cudnnMathType_t math;
    cublasComputeType_t compute;
    size_t size;
};

static const struct precision precisions[] = {
    {"fp32", CUDA_R_32F, CUDNN_DATA_FLOAT, CUDNN_FMA_MATH, CUBLAS_COMPUTE_32F, 4},
    {"tf32", CUDA_R_32F, CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, CUBLAS_COMPUTE_32F_FAST_TF32, 4},
    {"fp16", CUDA_R_16F, CUDNN_DATA_HALF, CUDNN_TENSOR_OP_MATH, CUBLAS_COMPUTE_32F, 2},
    {"bf16", CUDA_R_16BF, CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_OP_MATH, CUBLAS_COMPUTE_32F, 2},
};

struct box { /* one card's handles and memory */
    cublasHandle_t blas;
    cudnnHandle_t dnn;
    cudaEvent_t begin, end;
    char *x, *y, *w, *workspace;
    size_t bytes; /* of each of x, y, w */
};

typedef void work(struct box *b, const void *job);

/* Seconds of GPU time of the work: the least of TRIES, as one card has one speed and many
 * disturbances. */
static double seconds(struct box *b, work *run, const void *job)
{
    float best = 0;
    run(b, job);
    for (int i = 0; i < TRIES; i++) {
        float ms;
        CHECK_CUDA(cudaEventRecord(b->begin, NULL));
        run(b, job);
        CHECK_CUDA(cudaEventRecord(b->end, NULL));
        CHECK_CUDA(cudaEventSynchronize(b->end));
        CHECK_CUDA(cudaEventElapsedTime(&ms, b->begin, b->end));
        best = i == 0 || ms < best ? ms : best;
    }
    return best / 1e3;
}

/* ---- matrix products ---- */

struct product {
    const struct precision *p;
    int m, n, k;
};

static void run_product(struct box *b, const void *job)
{
    const struct product *g = job;
    float one = 1, zero = 0;
    CHECK_BLAS(cublasGemmEx(b->blas, CUBLAS_OP_N, CUBLAS_OP_N, g->m, g->n, g->k, &one, b->x,
                            g->p->cuda, g->m, b->w, g->p->cuda, g->k, &zero, b->y, g->p->cuda, g->m,
                            g->p->compute, CUBLAS_GEMM_DEFAULT));
}

static void products(struct box *b)
{
    static const int sizes[] = {512, 1024, 2048, 4096, 8192, 4095};
    for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            struct product g = {&precisions[i], sizes[s], sizes[s], sizes[s]};
            double n = sizes[s];
            char name[64];
            snprintf(name, sizeof name, "gemm_%s_%d", g.p->name, sizes[s]);
            print_figure(name, 2 * n * n * n / seconds(b, run_product, &g) / 1e12, "TFLOP/s");
        }
    }
}

/* ---- convolutions ---- */

enum pass { FORWARD, DGRAD, WGRAD };
static const char *const pass_name[] = {"fprop", "dgrad", "wgrad"};

struct convolution {
    enum pass pass;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t c;
    cudnnConvolutionFwdAlgoPerf_t forward;
    cudnnConvolutionBwdDataAlgoPerf_t dgrad;
    cudnnConvolutionBwdFilterAlgoPerf_t wgrad;
};

static void run_convolution(struct box *b, const void *job)
{
    const struct convolution *c = job;
    float one = 1, zero = 0;
    if (c->pass == FORWARD)
        CHECK_DNN(cudnnConvolutionForward(b->dnn, &one, c->x, b->x, c->w, b->w, c->c,
                                          c->forward.algo, b->workspace, WORKSPACE, &zero, c->y,
                                          b->y));
    else if (c->pass == DGRAD)
        CHECK_DNN(cudnnConvolutionBackwardData(b->dnn, &one, c->w, b->w, c->y, b->y, c->c,
                                               c->dgrad.algo, b->workspace, WORKSPACE, &zero, c->x,
                                               b->x));
    else
        CHECK_DNN(cudnnConvolutionBackwardFilter(b->dnn, &one, c->x, b->x, c->y, b->y, c->c,
                                                 c->wgrad.algo, b->workspace, WORKSPACE, &zero,
                                                 c->w, b->w));
}

/* cuDNN measures all its algorithms and gives the best; false where it has none for this type and
 * layout. */
static bool measure_algorithms(struct box *b, struct convolution *c)
{
    int found = 0, status;
    if (c->pass == FORWARD) {
        status = (int)cudnnFindConvolutionForwardAlgorithmEx(b->dnn, c->x, b->x, c->w, b->w, c->c,
                                                             c->y, b->y, 1, &found, &c->forward,
                                                             b->workspace, WORKSPACE);
        return !status && found && c->forward.status == CUDNN_STATUS_SUCCESS &&
               !cudnnSetConvolutionMathType(c->c, c->forward.mathType);
    }
    if (c->pass == DGRAD) {
        status = (int)cudnnFindConvolutionBackwardDataAlgorithmEx(
            b->dnn, c->w, b->w, c->y, b->y, c->c, c->x, b->x, 1, &found, &c->dgrad, b->workspace,
            WORKSPACE);
        return !status && found && c->dgrad.status == CUDNN_STATUS_SUCCESS &&
               !cudnnSetConvolutionMathType(c->c, c->dgrad.mathType);
    }
    status = (int)cudnnFindConvolutionBackwardFilterAlgorithmEx(b->dnn, c->x, b->x, c->y, b->y,
                                                                c->c, c->w, b->w, 1, &found,
                                                                &c->wgrad, b->workspace, WORKSPACE);
    return !status && found && c->wgrad.status == CUDNN_STATUS_SUCCESS &&
           !cudnnSetConvolutionMathType(c->c, c->wgrad.mathType);
}

/* Measures twice: the first time includes loading the kernels, which hides the best of them. */
static bool choose(struct box *b, struct convolution *c, cudnnMathType_t math)
{
    CHECK_DNN(cudnnSetConvolutionMathType(c->c, math));
    measure_algorithms(b, c);
    CHECK_DNN(cudnnSetConvolutionMathType(c->c, math));
    return measure_algorithms(b, c);
}

struct shape { /* a layer of ResNet-50 at batch 64 */
    const char *name;
    int in, out, side, filter;
};
static const struct shape shapes[] = {{"3x3_64_56", 64, 64, 56, 3},
                                      {"1x1_256_56", 64, 256, 56, 1},
                                      {"3x3_256_14", 256, 256, 14, 3},
                                      {"1x1_2048_7", 512, 2048, 7, 1}};

static void convolution(struct box *b, const struct shape *s, const struct precision *p, bool nhwc)
{
    enum { BATCH = 64 };
    struct convolution c;
    cudnnTensorFormat_t format = nhwc ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
    CHECK_DNN(cudnnCreateTensorDescriptor(&c.x));
    CHECK_DNN(cudnnCreateTensorDescriptor(&c.y));
    CHECK_DNN(cudnnCreateFilterDescriptor(&c.w));
    CHECK_DNN(cudnnCreateConvolutionDescriptor(&c.c));
    CHECK_DNN(cudnnSetTensor4dDescriptor(c.x, format, p->dnn, BATCH, s->in, s->side, s->side));
    CHECK_DNN(cudnnSetTensor4dDescriptor(c.y, format, p->dnn, BATCH, s->out, s->side, s->side));
    CHECK_DNN(cudnnSetFilter4dDescriptor(c.w, p->dnn, format, s->out, s->in, s->filter, s->filter));
    CHECK_DNN(cudnnSetConvolution2dDescriptor(c.c, s->filter / 2, s->filter / 2, 1, 1, 1, 1,
                                              CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    double flops = 2.0 * BATCH * s->in * s->out * s->side * s->side * s->filter * s->filter;
    for (int pass = FORWARD; pass <= WGRAD; pass++) {
        char name[96];
        snprintf(name, sizeof name, "conv_%s_%s_%s_%s", s->name, p->name, nhwc ? "nhwc" : "nchw",
                 pass_name[pass]);
        c.pass = (enum pass)pass;
        if (choose(b, &c, p->math))
            print_figure(name, flops / seconds(b, run_convolution, &c) / 1e12, "TFLOP/s");
        else
            printf("%s\tnone\tno algorithm\n", name);
    }
    CHECK_DNN(cudnnDestroyConvolutionDescriptor(c.c));
    CHECK_DNN(cudnnDestroyFilterDescriptor(c.w));
    CHECK_DNN(cudnnDestroyTensorDescriptor(c.y));
    CHECK_DNN(cudnnDestroyTensorDescriptor(c.x));
}

/* ---- batch normalisation ---- */

struct normalisation {
    cudnnBatchNormMode_t mode;
    cudnnTensorDescriptor_t x, parameters;
    float *
        scale; /* scale, shift, means, variances and gradients in turn, a row of 2048 floats each */
    bool backward;
    bool extended; /* by the calls that take a workspace and a reserve */
};

/* The reserve is the second half of the workspace. */
static int normalise_extended(struct box *b, const struct normalisation *n, float *const *row)
{
    enum { HALF = WORKSPACE / 2 };
    const cudnnBatchNormOps_t ops = CUDNN_BATCHNORM_OPS_BN;
    float one = 1, zero = 0;
    if (!n->backward)
        return (int)cudnnBatchNormalizationForwardTrainingEx(
            b->dnn, n->mode, ops, &one, &zero, n->x, b->x, NULL, NULL, n->x, b->y, n->parameters,
            row[0], row[1], 0.1, row[2], row[3], 1e-5, row[4], row[5], NULL, b->workspace, HALF,
            b->workspace + HALF, HALF);
    return (int)cudnnBatchNormalizationBackwardEx(
        b->dnn, n->mode, ops, &one, &zero, &one, &zero, n->x, b->x, NULL, NULL, n->x, b->y, NULL,
        NULL, n->x, b->w, n->parameters, row[0], NULL, row[6], row[7], 1e-5, row[4], row[5], NULL,
        b->workspace, HALF, b->workspace + HALF, HALF);
}

static int normalise(struct box *b, const struct normalisation *n)
{
    float one = 1, zero = 0, *at = n->scale;
    float *row[8];
    for (int i = 0; i < 8; i++)
        row[i] = at + 2048 * i;
    if (n->extended)
        return normalise_extended(b, n, row);
    if (!n->backward)
        return (int)cudnnBatchNormalizationForwardTraining(
            b->dnn, n->mode, &one, &zero, n->x, b->x, n->x, b->y, n->parameters, row[0], row[1],
            0.1, row[2], row[3], 1e-5, row[4], row[5]);
    return (int)cudnnBatchNormalizationBackward(b->dnn, n->mode, &one, &zero, &one, &zero, n->x,
                                                b->x, n->x, b->y, n->x, b->w, n->parameters, row[0],
                                                row[6], row[7], 1e-5, row[4], row[5]);
}

static void run_normalisation(struct box *b, const void *job)
{
    CHECK_DNN(normalise(b, job));
}

static void normalisations(struct box *b)
{
    enum { BATCH = 64, CHANNELS = 256, SIDE = 56 };
    struct normalisation n;
    CHECK_CUDA(cudaMalloc((void **)&n.scale, 8 * 2048 * sizeof(float)));
    CHECK_CUDA(cudaMemset(n.scale, 0, 8 * 2048 * sizeof(float)));
    CHECK_DNN(cudnnCreateTensorDescriptor(&n.x));
    CHECK_DNN(cudnnCreateTensorDescriptor(&n.parameters));
    for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++) {
        const struct precision *p = &precisions[i];
        for (int kind = 0; kind < 4 && strcmp(p->name, "tf32") != 0; kind++) {
            static const char *const kinds[] = {"nchw", "nhwc", "nhwc_persistent", "nhwc_ex"};
            n.extended = kind == 3;
            n.mode = kind >= 2 ? CUDNN_BATCHNORM_SPATIAL_PERSISTENT : CUDNN_BATCHNORM_SPATIAL;
            CHECK_DNN(cudnnSetTensor4dDescriptor(n.x, kind ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
                                                 p->dnn, BATCH, CHANNELS, SIDE, SIDE));
            CHECK_DNN(cudnnDeriveBNTensorDescriptor(n.parameters, n.x, n.mode));
            for (int back = 0; back < 2; back++) {
                char name[64];
                snprintf(name, sizeof name, "bn_%s_%s_%s", p->name, kinds[kind],
                         back ? "backward" : "forward");
                n.backward = back;
                int status = normalise(b, &n);
                double bytes =
                    (back ? 5.0 : 3.0) * BATCH * CHANNELS * SIDE * SIDE * (double)p->size;
                if (status)
                    printf("%s\tnone\tstatus %d\n", name, status);
                else
                    print_figure(name, bytes / seconds(b, run_normalisation, &n) / 1e9, "GB/s");
            }
        }
    }
    CHECK_DNN(cudnnDestroyTensorDescriptor(n.parameters));
    CHECK_DNN(cudnnDestroyTensorDescriptor(n.x));
    CHECK_CUDA(cudaFree(n.scale));
}

int main(void)
{
    struct box b = {.bytes = (size_t)8192 * 8192 * 4};
    measure_start();
    CHECK_BLAS(cublasCreate(&b.blas));
    CHECK_DNN(cudnnCreate(&b.dnn));
    CHECK_CUDA(cudaEventCreate(&b.begin));
    CHECK_CUDA(cudaEventCreate(&b.end));
    char **memory[] = {&b.x, &b.y, &b.w};
    for (int i = 0; i < 3; i++) {
        CHECK_CUDA(cudaMalloc((void **)memory[i], b.bytes));
        CHECK_CUDA(cudaMemset(*memory[i], 0x3c,
                              b.bytes)); /* small numbers in every type: zeros would run faster */
    }
    CHECK_CUDA(cudaMalloc((void **)&b.workspace, WORKSPACE));
    products(&b);
    for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int nhwc = 0; nhwc < 2; nhwc++)
                convolution(&b, &shapes[s], &precisions[i], nhwc);
    normalisations(&b);
    return 0;
}
