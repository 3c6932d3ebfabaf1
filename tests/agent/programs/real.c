/* real cudnn|descriptors|cublaslt LIBRARY: builds descriptors with the real cuDNN and cuBLASLt,
 * which load and answer without a GPU. Then it makes the calls that need a GPU with a NULL handle:
 * they fail, after the agent has seen their arguments. Exit status 77: the library is not
 * installed. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <cublasLt.h>
#include <cudnn.h>

/* As a program that is linked against the library: the first definition in the search order. */
#define FN(name) ((__typeof__(&(name)))dlsym(RTLD_DEFAULT, #name))
#define TRY(name, ...)                                                                             \
    do {                                                                                           \
        int rc_ = (int)FN(name)(__VA_ARGS__);                                                      \
        if (rc_ != 0) {                                                                            \
            printf("%s: %d\n", #name, rc_);                                                        \
            failed = 1;                                                                            \
        }                                                                                          \
    } while (0)

static int failed;

static cudnnBackendDescriptor_t tensor(int64_t id, const int64_t *dim, const int64_t *stride)
{
    cudnnBackendDescriptor_t d = NULL;
    cudnnDataType_t type = CUDNN_DATA_HALF;
    int64_t alignment = 16;
    TRY(cudnnBackendCreateDescriptor, CUDNN_BACKEND_TENSOR_DESCRIPTOR, &d);
    TRY(cudnnBackendSetAttribute, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    TRY(cudnnBackendSetAttribute, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dim);
    TRY(cudnnBackendSetAttribute, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, stride);
    TRY(cudnnBackendSetAttribute, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
    TRY(cudnnBackendSetAttribute, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1,
        &alignment);
    TRY(cudnnBackendFinalize, d);
    return d;
}

static cudnnBackendDescriptor_t convolution(void)
{
    cudnnBackendDescriptor_t d = NULL;
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    int64_t dims = 2, pad[2] = {1, 1}, stride[2] = {2, 2}, dilation[2] = {1, 1};
    TRY(cudnnBackendCreateDescriptor, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, &d);
    TRY(cudnnBackendSetAttribute, d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1,
        &dims);
    TRY(cudnnBackendSetAttribute, d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
        &type);
    TRY(cudnnBackendSetAttribute, d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
        1, &mode);
    TRY(cudnnBackendSetAttribute, d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, pad);
    TRY(cudnnBackendSetAttribute, d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2,
        pad);
    TRY(cudnnBackendSetAttribute, d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2,
        dilation);
    TRY(cudnnBackendSetAttribute, d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2,
        stride);
    TRY(cudnnBackendFinalize, d);
    return d;
}

static void put(cudnnBackendDescriptor_t to, cudnnBackendAttributeName_t name,
                cudnnBackendDescriptor_t what)
{
    TRY(cudnnBackendSetAttribute, to, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &what);
}

/* 32 x 64 x 56 x 56, channels last, by 128 filters of 3 x 3 with stride 2, in four groups. */
static void use_cudnn(void)
{
    static const int64_t x[] = {32, 64, 56, 56}, xs[] = {56 * 56 * 64, 1, 56 * 64, 64};
    static const int64_t w[] = {128, 16, 3, 3}, ws[] = {9 * 16, 1, 3 * 16, 16};
    static const int64_t y[] = {32, 128, 28, 28}, ys[] = {28 * 28 * 128, 1, 28 * 128, 128};
    cudnnBackendDescriptor_t op = NULL, graph = NULL;
    double alpha = 1, beta = 0;
    TRY(cudnnBackendCreateDescriptor, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, &op);
    put(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tensor('x', x, xs));
    put(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, tensor('w', w, ws));
    put(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, tensor('y', y, ys));
    put(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution());
    TRY(cudnnBackendSetAttribute, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
        CUDNN_TYPE_DOUBLE, 1, &alpha);
    TRY(cudnnBackendSetAttribute, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
        CUDNN_TYPE_DOUBLE, 1, &beta);
    TRY(cudnnBackendFinalize, op);
    TRY(cudnnBackendCreateDescriptor, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, &graph);
    put(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, op);
    printf("execute fails: %d\n", FN(cudnnBackendExecute)(NULL, graph, NULL) != 0);
}

static void convolve(cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                     cudnnConvolutionDescriptor_t conv, cudnnTensorDescriptor_t y)
{
    float one = 1, zero = 0;
    if (FN(cudnnConvolutionForward)(NULL, &one, x, &one, w, &one, conv, 1, NULL, 0, &zero, y,
                                    &zero) == 0)
        failed = 1;
}

/* The same descriptors in several calls, and set anew between them: each time another one, and at
 * last one in the place of one that was destroyed. */
static void use_descriptors(void)
{
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t conv;
    TRY(cudnnCreateTensorDescriptor, &x);
    TRY(cudnnCreateTensorDescriptor, &y);
    TRY(cudnnCreateFilterDescriptor, &w);
    TRY(cudnnCreateConvolutionDescriptor, &conv);
    TRY(cudnnSetTensor4dDescriptor, x, CUDNN_TENSOR_NCHW, CUDNN_DATA_HALF, 8, 16, 32, 32);
    TRY(cudnnSetTensor4dDescriptor, y, CUDNN_TENSOR_NCHW, CUDNN_DATA_HALF, 8, 64, 32, 32);
    TRY(cudnnSetFilter4dDescriptor, w, CUDNN_DATA_HALF, CUDNN_TENSOR_NCHW, 64, 16, 3, 3);
    TRY(cudnnSetConvolution2dDescriptor, conv, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
        CUDNN_DATA_FLOAT);
    convolve(x, w, conv, y);
    convolve(x, w, conv, y);
    TRY(cudnnSetTensor4dDescriptor, x, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 9, 16, 32, 32);
    convolve(x, w, conv, y);
    TRY(cudnnSetFilter4dDescriptor, w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 65, 16, 5, 5);
    convolve(x, w, conv, y);
    TRY(cudnnSetConvolution2dDescriptor, conv, 2, 2, 3, 3, 1, 1, CUDNN_CROSS_CORRELATION,
        CUDNN_DATA_HALF);
    TRY(cudnnSetConvolutionGroupCount, conv, 4);
    convolve(x, w, conv, y);
    TRY(cudnnDestroyTensorDescriptor, x);
    TRY(cudnnCreateTensorDescriptor, &x);
    TRY(cudnnSetTensorNdDescriptor, x, CUDNN_DATA_FLOAT, 4, (int[]){7, 16, 32, 32},
        (int[]){16 * 32 * 32, 32 * 32, 32, 1});
    convolve(x, w, conv, y);
    convolve(x, w, conv, y);
}

static void use_cublaslt(void)
{
    cublasLtMatmulDesc_t desc = NULL;
    cublasLtMatrixLayout_t a = NULL, b = NULL, c = NULL;
    cublasOperation_t transposed = CUBLAS_OP_T;
    float one = 1, zero = 0;
    int batch = 3;
    TRY(cublasLtMatmulDescCreate, &desc, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F);
    TRY(cublasLtMatmulDescSetAttribute, desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
        sizeof transposed);
    TRY(cublasLtMatrixLayoutCreate, &a, CUDA_R_16BF, 512, 256, 512); /* k x m, transposed */
    TRY(cublasLtMatrixLayoutCreate, &b, CUDA_R_16BF, 512, 128, 512);
    TRY(cublasLtMatrixLayoutCreate, &c, CUDA_R_32F, 256, 128, 256);
    TRY(cublasLtMatrixLayoutSetAttribute, c, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
        sizeof batch);
    printf("matmul fails: %d\n", FN(cublasLtMatmul)(NULL, desc, &one, NULL, a, NULL, b, &zero, NULL,
                                                    c, NULL, c, NULL, NULL, 4096, NULL) != 0);
}

int main(int argc, char **argv)
{
    if (argc != 3 || !dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL)) {
        printf("skipped: %s\n", argc == 3 ? dlerror() : "usage");
        return 77;
    }
    if (strcmp(argv[1], "cudnn") == 0)
        use_cudnn();
    else if (strcmp(argv[1], "descriptors") == 0)
        use_descriptors();
    else
        use_cublaslt();
    return failed;
}
