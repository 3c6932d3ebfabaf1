/* cuDNN's search on the virtual GPU includes the time that the library computes on the host before
 * it launches. */
#include "tests/unit/vgpu_library_calls.h"

#include <cudnn.h>

#define DNN(call) ck_assert_int_eq(call, CUDNN_STATUS_SUCCESS)

Suite *test_vgpu_cudnn_search_suite(void);

struct layer {
    cudnnHandle_t h;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t c;
    char *at; /* stands for every tensor */
};

/* 1x1 over 14 x 14 in BF16 and NHWC, 64 channels to 256. */
static struct layer layer(int images)
{
    struct layer l;
    DNN(cudnnCreate(&l.h));
    DNN(cudnnCreateTensorDescriptor(&l.x));
    DNN(cudnnCreateTensorDescriptor(&l.y));
    DNN(cudnnCreateFilterDescriptor(&l.w));
    DNN(cudnnCreateConvolutionDescriptor(&l.c));
    DNN(cudnnSetTensor4dDescriptor(l.x, CUDNN_TENSOR_NHWC, CUDNN_DATA_BFLOAT16, images, 64, 14,
                                   14));
    DNN(cudnnSetTensor4dDescriptor(l.y, CUDNN_TENSOR_NHWC, CUDNN_DATA_BFLOAT16, images, 256, 14,
                                   14));
    DNN(cudnnSetFilter4dDescriptor(l.w, CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_NHWC, 256, 64, 1, 1));
    DNN(cudnnSetConvolution2dDescriptor(l.c, 0, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
                                        CUDNN_DATA_FLOAT));
    DNN(cudnnSetConvolutionMathType(l.c, CUDNN_TENSOR_OP_MATH));
    ck_assert_int_eq(cudaMalloc((void **)&l.at, 1 << 20), cudaSuccess);
    seen_count = 0;
    return l;
}

static int found(const struct layer *l)
{
    cudnnConvolutionFwdAlgoPerf_t r[8];
    int n = 0;
    DNN(cudnnFindConvolutionForwardAlgorithmEx(l->h, l->x, l->at, l->w, l->at, l->c, l->y, l->at, 8,
                                               &n, r, l->at, 1 << 30));
    return (int)r[0].algo;
}

static int64_t takes(const struct layer *l, int algo)
{
    const float one = 1, zero = 0;
    DNN(cudnnConvolutionForward(l->h, &one, l->x, l->at, l->w, l->at, l->c,
                                (cudnnConvolutionFwdAlgo_t)algo, l->at, 1 << 30, &zero, l->y,
                                l->at));
    return seen_ns[seen_count - 1];
}

/* Four images: by ordinary arithmetic in some us, by tensor cores in fewer, but after 118 us of the
 * host's. With many images the kernel decides. */
START_TEST(the_hosts_time_counts)
{
    on_device("h200");
    struct layer few = layer(4), many = layer(256);
    ck_assert_int_eq(found(&few), CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM);
    ck_assert_int_gt(takes(&few, 0), takes(&few, 1));
    ck_assert_int_eq(found(&many), CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM);
}
END_TEST

START_TEST(other_profiles_have_no_such_time)
{
    on_device("a100-80");
    struct layer few = layer(4);
    ck_assert_int_eq(found(&few), CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM);
}
END_TEST

Suite *test_vgpu_cudnn_search_suite(void)
{
    Suite *suite = suite_create("vgpu_cudnn_search");
    TCase *t = tcase_create("vgpu_cudnn_search");
    tcase_add_test(t, the_hosts_time_counts);
    tcase_add_test(t, other_profiles_have_no_such_time);
    suite_add_tcase(suite, t);
    return suite;
}
