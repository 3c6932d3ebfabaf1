/* What a program can observe of the virtual cuDNN: which kernels a call launches, what it refuses,
 * which algorithm it guesses and which the search finds. */
#include "tests/unit/vgpu_library_calls.h"

#include <cudnn.h>

#define DNN(call) ck_assert_int_eq(call, CUDNN_STATUS_SUCCESS)

Suite *test_vgpu_cudnn_suite(void);

struct layer {
    cudnnHandle_t h;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t c;
    char *at; /* stands for every tensor */
};

static struct layer layer(cudnnDataType_t type, cudnnTensorFormat_t format, int size, int window,
                          int stride, cudnnMathType_t math)
{
    struct layer l;
    int n, k, p, q, channels = 64;
    DNN(cudnnCreate(&l.h));
    DNN(cudnnCreateTensorDescriptor(&l.x));
    DNN(cudnnCreateTensorDescriptor(&l.y));
    DNN(cudnnCreateFilterDescriptor(&l.w));
    DNN(cudnnCreateConvolutionDescriptor(&l.c));
    DNN(cudnnSetTensor4dDescriptor(l.x, format, type, 32, channels, size, size));
    DNN(cudnnSetFilter4dDescriptor(l.w, type, format, channels, channels, window, window));
    DNN(cudnnSetConvolution2dDescriptor(l.c, window / 2, window / 2, stride, stride, 1, 1,
                                        CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    DNN(cudnnSetConvolutionMathType(l.c, math));
    DNN(cudnnGetConvolution2dForwardOutputDim(l.c, l.x, l.w, &n, &k, &p, &q));
    ck_assert_int_eq(p, (size + 2 * (window / 2) - window) / stride + 1);
    DNN(cudnnSetTensor4dDescriptor(l.y, format, type, n, k, p, q));
    ck_assert_int_eq(cudaMalloc((void **)&l.at, 1 << 20), cudaSuccess);
    seen_count = 0;
    return l;
}

static cudnnStatus_t forward(const struct layer *l, int algo, size_t workspace)
{
    const float one = 1, zero = 0;
    return cudnnConvolutionForward(l->h, &one, l->x, l->at, l->w, l->at, l->c,
                                   (cudnnConvolutionFwdAlgo_t)algo, l->at, workspace, &zero, l->y,
                                   l->at);
}

static const size_t PLENTY = (size_t)1 << 40;

START_TEST(test_half_nchw_converts)
{
    on_device("a100-80");
    struct layer l = layer(CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_NCHW, 56, 3, 1, CUDNN_TENSOR_OP_MATH);
    DNN(forward(&l, 1, PLENTY));
    ck_assert_int_eq(seen_count, 4);
    ck_assert_int_eq(launched("nchwToNhwcKernel"), 2);
    ck_assert_int_eq(launched("nhwcToNchwKernel"), 1);
    ck_assert_int_eq(launched("sm80_xmma_fprop_implicit_gemm_bf16bf16"), 1);
    struct layer last =
        layer(CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_NHWC, 56, 3, 1, CUDNN_TENSOR_OP_MATH);
    DNN(forward(&last, 1, PLENTY));
    ck_assert_int_eq(seen_count, 1);
    ck_assert_int_eq(launched("_nhwc_"), 1);
}
END_TEST

START_TEST(test_tf32_nchw_converts_but_pointwise)
{
    const float one = 1, zero = 0;
    on_device("a100-80");
    struct layer l = layer(CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 56, 3, 1, CUDNN_DEFAULT_MATH);
    DNN(forward(&l, 1, PLENTY)); /* writes NCHW by itself */
    ck_assert_int_eq(launched("nchwToNhwcKernel"), 2);
    ck_assert_int_eq(launched("nhwcToNchwKernel"), 0);
    ck_assert_int_eq(launched("tf32f32_f32_nhwckrsc_nchw"), 1);
    seen_count = 0;
    DNN(cudnnConvolutionBackwardData(l.h, &one, l.w, l.at, l.y, l.at, l.c,
                                     CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, l.at, PLENTY, &zero, l.x,
                                     l.at));
    ck_assert_int_eq(launched("nhwcToNchwKernel"), 1);
    struct layer one_by_one =
        layer(CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 56, 1, 1, CUDNN_DEFAULT_MATH);
    DNN(forward(&one_by_one, 1, PLENTY));
    ck_assert_int_eq(seen_count, 1);
    ck_assert_int_eq(launched("tf32"), 1);
    struct layer strided = layer(CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 56, 1, 2, CUDNN_DEFAULT_MATH);
    DNN(forward(&strided, 1, PLENTY));
    ck_assert_int_eq(launched("nchwToNhwcKernel"), 1); /* a filter of 1x1 lies alike in both */
}
END_TEST

START_TEST(test_math_type)
{
    on_device("a100-80");
    struct layer fma = layer(CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 56, 3, 1, CUDNN_FMA_MATH);
    DNN(forward(&fma, 1, PLENTY));
    ck_assert_int_eq(launched("ampere_scudnn"), 1);
    ck_assert_int_eq(launched("Kernel"), launched("computeOffsetsKernel"));
    int64_t slow = device_ns();
    setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
    struct layer off = layer(CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, 56, 3, 1, CUDNN_DEFAULT_MATH);
    DNN(forward(&off, 1, PLENTY));
    ck_assert_int_eq(launched("scudnn"), 1);
    unsetenv("NVIDIA_TF32_OVERRIDE");
    struct layer tf32 = layer(CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, 56, 3, 1, CUDNN_DEFAULT_MATH);
    DNN(forward(&tf32, 1, PLENTY));
    ck_assert_int_eq(launched("tf32f32"), 1);
    ck_assert_int_gt(slow, 2 * device_ns());
}
END_TEST

START_TEST(test_volta)
{
    on_device("v100");
    struct layer l = layer(CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 56, 1, 1, CUDNN_DEFAULT_MATH);
    DNN(forward(&l, 1, PLENTY));
    ck_assert_int_eq(launched("volta_scudnn_128x64_relu_interior_nn_v1"), 1);
    struct layer half = layer(CUDNN_DATA_HALF, CUDNN_TENSOR_NHWC, 56, 3, 1, CUDNN_TENSOR_OP_MATH);
    DNN(forward(&half, 1, PLENTY));
    ck_assert_int_eq(launched("s884cudnn"), 1);
    struct layer plain = layer(CUDNN_DATA_HALF, CUDNN_TENSOR_NHWC, 56, 3, 1, CUDNN_DEFAULT_MATH);
    DNN(forward(&plain, 1, PLENTY)); /* before Ampere tensor cores are asked for */
    ck_assert_int_eq(launched("s884cudnn"), 0);
    struct layer bf16 =
        layer(CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_NHWC, 56, 3, 1, CUDNN_TENSOR_OP_MATH);
    ck_assert_int_eq(forward(&bf16, 1, PLENTY), CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH);
}
END_TEST

START_TEST(test_refusals)
{
    on_device("h200");
    struct layer l = layer(CUDNN_DATA_HALF, CUDNN_TENSOR_NCHW, 56, 3, 1, CUDNN_TENSOR_OP_MATH);
    size_t need = 0;
    DNN(cudnnGetConvolutionForwardWorkspaceSize(
        l.h, l.x, l.w, l.c, l.y, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, &need));
    ck_assert_uint_gt(need, 0);
    ck_assert_int_eq(forward(&l, 1, need - 1), CUDNN_STATUS_BAD_PARAM);
    ck_assert_int_eq(seen_count, 0);
    DNN(forward(&l, 1, need));
    ck_assert_int_eq(forward(&l, 3, PLENTY), CUDNN_STATUS_NOT_SUPPORTED); /* DIRECT: never was */
    ck_assert_int_eq(forward(&l, 99, PLENTY), CUDNN_STATUS_BAD_PARAM);
    DNN(cudnnSetTensor4dDescriptor(l.y, CUDNN_TENSOR_NCHW, CUDNN_DATA_HALF, 32, 64, 55, 56));
    ck_assert_int_eq(forward(&l, 1, PLENTY), CUDNN_STATUS_BAD_PARAM);
    DNN(cudnnSetTensor4dDescriptor(l.y, CUDNN_TENSOR_NCHW, CUDNN_DATA_HALF, 32, 64, 56, 56));
    DNN(cudnnSetFilter4dDescriptor(l.w, CUDNN_DATA_HALF, CUDNN_TENSOR_NHWC, 64, 64, 3, 3));
    ck_assert_int_eq(forward(&l, 1, PLENTY), CUDNN_STATUS_NOT_SUPPORTED);
    ck_assert_int_eq(
        cudnnSetTensor4dDescriptor(l.x, CUDNN_TENSOR_NCHW, CUDNN_DATA_HALF, 32, 0, 1, 1),
        CUDNN_STATUS_BAD_PARAM);
    ck_assert_str_eq(cudnnGetErrorString(CUDNN_STATUS_BAD_PARAM), "CUDNN_STATUS_BAD_PARAM");
}
END_TEST

/* A program refuses a cuDNN that is older than the one it was built with. */
START_TEST(test_version_is_later_than_programs_ask_for)
{
    int major = 0, minor = 0, patch = -1;
    DNN(cudnnGetProperty(MAJOR_VERSION, &major));
    DNN(cudnnGetProperty(MINOR_VERSION, &minor));
    DNN(cudnnGetProperty(PATCH_LEVEL, &patch));
    ck_assert_int_eq(major, CUDNN_MAJOR);
    ck_assert_int_eq(minor, 99);
    ck_assert_uint_eq(cudnnGetVersion(), (size_t)(major * 10000 + minor * 100 + patch));
}
END_TEST

/* The first answer of a guess against the first of a search. */
static void guess_and_find(const struct layer *l, size_t limit,
                           cudnnConvolutionFwdAlgoPerf_t *guess,
                           cudnnConvolutionFwdAlgoPerf_t *found)
{
    cudnnConvolutionFwdAlgoPerf_t r[8];
    int n = 0;
    DNN(cudnnGetConvolutionForwardAlgorithm_v7(l->h, l->x, l->w, l->c, l->y, 8, &n, r));
    ck_assert_int_eq(n, 8);
    *guess = r[0];
    DNN(cudnnFindConvolutionForwardAlgorithmEx(l->h, l->x, l->at, l->w, l->at, l->c, l->y, l->at, 8,
                                               &n, r, l->at, limit));
    ck_assert_int_eq(n, 8);
    *found = r[0];
    for (int i = 1; i < n; i++)
        if (r[i].status == CUDNN_STATUS_SUCCESS) {
            ck_assert_uint_le(r[i].memory, limit);
            ck_assert(r[i].time >= r[i - 1].time);
        }
}

START_TEST(test_guess_is_slower_than_search)
{
    static const struct {
        const char *device;
        cudnnDataType_t type;
        cudnnTensorFormat_t format;
        cudnnMathType_t math;
        cudnnMathType_t answer;
    } cases[] = {
        {"a100-80", CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_NHWC, CUDNN_TENSOR_OP_MATH,
         CUDNN_TENSOR_OP_MATH},
        {"a100-80", CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, CUDNN_DEFAULT_MATH, CUDNN_DEFAULT_MATH},
        {"a100-80", CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, CUDNN_FMA_MATH, CUDNN_FMA_MATH},
        {"v100", CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, CUDNN_DEFAULT_MATH, CUDNN_DEFAULT_MATH},
    };
    on_device(cases[_i].device);
    struct layer l = layer(cases[_i].type, cases[_i].format, 28, 3, 1, cases[_i].math);
    cudnnConvolutionFwdAlgoPerf_t guess, found;
    guess_and_find(&l, PLENTY, &guess, &found);
    ck_assert_int_gt(seen_count, 1); /* the search really ran them */
    ck_assert_int_eq(found.mathType, cases[_i].answer);
    ck_assert_int_ne(guess.algo, found.algo);
    seen_count = 0;
    DNN(forward(&l, (int)guess.algo, PLENTY));
    int64_t slow = device_ns();
    const char *slow_name = seen[seen_count - 1];
    seen_count = 0;
    DNN(forward(&l, (int)found.algo, PLENTY));
    ck_assert_str_ne(seen[seen_count - 1], slow_name);
    double factor = (double)slow / (double)device_ns();
    ck_assert_msg(factor > 1.02 && factor < 1.35, "a guess costs %.2f of the best", factor);
}
END_TEST

START_TEST(test_workspace_limit_removes_candidates)
{
    on_device("a100-80");
    struct layer l = layer(CUDNN_DATA_HALF, CUDNN_TENSOR_NCHW, 56, 3, 1, CUDNN_TENSOR_OP_MATH);
    cudnnConvolutionFwdAlgoPerf_t guess, free_choice, tight;
    guess_and_find(&l, PLENTY, &guess, &free_choice);
    guess_and_find(&l, 1024, &guess, &tight);
    ck_assert_uint_le(tight.memory, 1024);
    ck_assert(tight.time > 1.5f * free_choice.time);
}
END_TEST

START_TEST(test_host_of_convolutions)
{
    on_device("h200");
    for (int window = 1; window <= 3; window += 2) {
        struct layer l =
            layer(CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_NHWC, 56, window, 1, CUDNN_TENSOR_OP_MATH);
        const struct vg_profile *p = vg_profile(0);
        int64_t from = vg_now_ns();
        DNN(forward(&l, 1, PLENTY));
        double least = window == 1 ? p->cudnn_product_host_ns : p->cudnn_conv_host_ns;
        ck_assert_int_ge(vg_now_ns() - from, (int64_t)(least + p->launch_library_host_ns));
    }
}
END_TEST

static void norm_params(const struct layer *l, cudnnTensorDescriptor_t *params)
{
    DNN(cudnnCreateTensorDescriptor(params));
    DNN(cudnnDeriveBNTensorDescriptor(*params, l->x, CUDNN_BATCHNORM_SPATIAL_PERSISTENT));
}

START_TEST(test_plain_norm_strides)
{
    const float one = 1, zero = 0;
    const cudnnBatchNormMode_t mode = CUDNN_BATCHNORM_SPATIAL_PERSISTENT;
    cudnnTensorDescriptor_t params;
    on_device("h200");
    struct layer plain =
        layer(CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_NHWC, 56, 1, 1, CUDNN_TENSOR_OP_MATH);
    norm_params(&plain, &params);
    DNN(cudnnBatchNormalizationForwardTraining(plain.h, mode, &one, &zero, plain.x, plain.at,
                                               plain.y, plain.at, params, plain.at, plain.at, 0.1,
                                               plain.at, plain.at, 1e-5, plain.at, plain.at));
    DNN(cudnnBatchNormalizationBackward(plain.h, mode, &one, &zero, &one, &zero, plain.x, plain.at,
                                        plain.y, plain.at, plain.x, plain.at, params, plain.at,
                                        plain.at, plain.at, 1e-5, plain.at, plain.at));
    ck_assert_int_eq(launched("bn_fw_tr_1C11_singlereadI13__nv_bfloat16"), 1);
    ck_assert_int_eq(launched("bn_bw_1C11_singlereadI13__nv_bfloat16"), 1);
    int64_t slow = device_ns();
    struct layer l = layer(CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_NHWC, 56, 1, 1, CUDNN_TENSOR_OP_MATH);
    norm_params(&l, &params);
    DNN(cudnnBatchNormalizationForwardTrainingEx(
        l.h, mode, CUDNN_BATCHNORM_OPS_BN, &one, &zero, l.x, l.at, NULL, NULL, l.y, l.at, params,
        l.at, l.at, 0.1, l.at, l.at, 1e-5, l.at, l.at, NULL, l.at, 1 << 20, NULL, 0));
    DNN(cudnnBatchNormalizationBackwardEx(l.h, mode, CUDNN_BATCHNORM_OPS_BN, &one, &zero, &one,
                                          &zero, l.x, l.at, NULL, NULL, l.y, l.at, NULL, NULL, l.x,
                                          l.at, params, l.at, NULL, l.at, l.at, 1e-5, l.at, l.at,
                                          NULL, l.at, 1 << 20, NULL, 0));
    ck_assert_int_eq(launched("batchnorm_fwtr_nhwc_semiPersist"), 1);
    ck_assert_int_eq(launched("batchnorm_bwtr_nhwc_semiPersist"), 1);
    ck_assert_int_gt(slow, 20 * device_ns());
}
END_TEST

START_TEST(test_norm)
{
    const float one = 1, zero = 0;
    on_device("a100-80");
    struct layer l = layer(CUDNN_DATA_HALF, CUDNN_TENSOR_NHWC, 56, 1, 1, CUDNN_TENSOR_OP_MATH);
    cudnnTensorDescriptor_t params;
    cudnnActivationDescriptor_t relu;
    size_t reserve = 0, workspace = 0;
    norm_params(&l, &params);
    DNN(cudnnCreateActivationDescriptor(&relu));
    DNN(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0));
    cudnnBatchNormOps_t fused = CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION;
    DNN(cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
        l.h, CUDNN_BATCHNORM_SPATIAL_PERSISTENT, fused, relu, l.x, &reserve));
    DNN(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
        l.h, CUDNN_BATCHNORM_SPATIAL_PERSISTENT, fused, l.x, l.y, l.y, params, relu, &workspace));
    ck_assert_uint_gt(reserve, 0);
    DNN(cudnnBatchNormalizationBackwardEx(l.h, CUDNN_BATCHNORM_SPATIAL_PERSISTENT, fused, &one,
                                          &zero, &one, &zero, l.x, l.at, l.y, l.at, l.y, l.at, l.y,
                                          l.at, l.x, l.at, params, l.at, l.at, l.at, l.at, 1e-5,
                                          l.at, l.at, relu, l.at, workspace, l.at, reserve));
    ck_assert_int_eq(launched("batchnorm_add_relu_bwtr_nhwc_semiPersist"), 1);
    struct layer first = layer(CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 56, 1, 1, CUDNN_DEFAULT_MATH);
    ck_assert_int_eq(
        cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
            first.h, CUDNN_BATCHNORM_SPATIAL_PERSISTENT, fused, relu, first.x, &reserve),
        CUDNN_STATUS_NOT_SUPPORTED);
    DNN(cudnnBatchNormalizationForwardTraining(
        first.h, CUDNN_BATCHNORM_SPATIAL, &one, &zero, first.x, first.at, first.y, first.at, params,
        first.at, first.at, 0.1, NULL, NULL, 1e-5, NULL, NULL));
    ck_assert_int_eq(launched("bn_fw_tr_1C11_kernel_NCHW"), 1);
}
END_TEST

START_TEST(test_other_layers)
{
    const float one = 1, zero = 0;
    on_device("a100-80");
    struct layer l = layer(CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, 56, 1, 1, CUDNN_DEFAULT_MATH);
    cudnnPoolingDescriptor_t pool;
    cudnnTensorDescriptor_t small, bias;
    int n, c, h, w;
    DNN(cudnnCreatePoolingDescriptor(&pool));
    DNN(cudnnSetPooling2dDescriptor(pool, CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN, 3, 3, 1, 1, 2,
                                    2));
    DNN(cudnnGetPooling2dForwardOutputDim(pool, l.x, &n, &c, &h, &w));
    ck_assert_int_eq(h, 28);
    DNN(cudnnCreateTensorDescriptor(&small));
    DNN(cudnnSetTensor4dDescriptor(small, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, n, c, h, w));
    DNN(cudnnPoolingForward(l.h, pool, &one, l.x, l.at, &zero, small, l.at));
    ck_assert_int_eq(launched("pooling_fw_kernel_max_nhwc"), 1);
    ck_assert_int_eq(cudnnPoolingForward(l.h, pool, &one, l.x, l.at, &zero, l.y, l.at),
                     CUDNN_STATUS_BAD_PARAM);
    DNN(cudnnCreateTensorDescriptor(&bias));
    DNN(cudnnSetTensor4dDescriptor(bias, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, 1, 64, 1, 1));
    DNN(cudnnAddTensor(l.h, &one, bias, l.at, &one, l.y, l.at));
    ck_assert_int_eq(launched("op_generic_tensor_kernel"), 1);
    DNN(cudnnConvolutionBackwardBias(l.h, &one, l.y, l.at, &zero, bias, l.at));
    ck_assert_int_eq(launched("calc_bias_diff"), 1);
    ck_assert_int_eq(cudnnAddTensor(l.h, &one, small, l.at, &one, l.y, l.at),
                     CUDNN_STATUS_BAD_PARAM);
}
END_TEST

START_TEST(a_spatial_transformer_is_a_grid_and_samples)
{
    const float one = 1, zero = 0;
    cudnnSpatialTransformerDescriptor_t s;
    int dim[4] = {32, 64, 56, 56};
    on_device("a100-80");
    struct layer l = layer(CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 56, 1, 1, CUDNN_DEFAULT_MATH);
    DNN(cudnnCreateSpatialTransformerDescriptor(&s));
    ck_assert_int_eq(cudnnSpatialTfGridGeneratorForward(l.h, s, l.at, l.at),
                     CUDNN_STATUS_BAD_PARAM); /* nothing is set */
    ck_assert_int_eq(
        cudnnSetSpatialTransformerNdDescriptor(s, CUDNN_SAMPLER_BILINEAR, CUDNN_DATA_FLOAT, 5, dim),
        CUDNN_STATUS_NOT_SUPPORTED);
    DNN(cudnnSetSpatialTransformerNdDescriptor(s, CUDNN_SAMPLER_BILINEAR, CUDNN_DATA_FLOAT, 4,
                                               dim));
    DNN(cudnnSpatialTfGridGeneratorForward(l.h, s, l.at, l.at));
    DNN(cudnnSpatialTfSamplerForward(l.h, s, &one, l.x, l.at, l.at, &zero, l.y, l.at));
    DNN(cudnnSpatialTfSamplerBackward(l.h, s, &one, l.x, l.at, &zero, l.x, l.at, &one, l.y, l.at,
                                      l.at, &zero, l.at));
    ck_assert_int_eq(launched("spatial_tf_grid_generator"), 1);
    ck_assert_int_eq(launched("spatial_sampler"), 2);
    ck_assert_int_gt(seen_ns[seen_count - 1], seen_ns[seen_count - 2]);
    DNN(cudnnDestroySpatialTransformerDescriptor(s));
}
END_TEST

Suite *test_vgpu_cudnn_suite(void)
{
    Suite *suite = suite_create("vgpu_cudnn");
    TCase *t = tcase_create("vgpu_cudnn");
    tcase_add_test(t, test_half_nchw_converts);
    tcase_add_test(t, a_spatial_transformer_is_a_grid_and_samples);
    tcase_add_test(t, test_tf32_nchw_converts_but_pointwise);
    tcase_add_test(t, test_math_type);
    tcase_add_test(t, test_volta);
    tcase_add_test(t, test_refusals);
    tcase_add_test(t, test_version_is_later_than_programs_ask_for);
    tcase_add_loop_test(t, test_guess_is_slower_than_search, 0, 4);
    tcase_add_test(t, test_workspace_limit_removes_candidates);
    tcase_add_test(t, test_host_of_convolutions);
    tcase_add_test(t, test_norm);
    tcase_add_test(t, test_plain_norm_strides);
    tcase_add_test(t, test_other_layers);
    suite_add_tcase(suite, t);
    return suite;
}
