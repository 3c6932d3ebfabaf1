/* What a program can observe of the virtual cuBLAS and cuBLASLt: which kernels a call launches, and
 * which results make the host wait. */
#include "tests/unit/vgpu_library_calls.h"

#include <cublasLt.h>
#include <cublasXt.h>
#include <cublas_v2.h>

#include <math.h>

#define BLAS(call) ck_assert_int_eq(call, CUBLAS_STATUS_SUCCESS)

Suite *test_vgpu_cublas_suite(void);

static cublasHandle_t blas(char **at)
{
    cublasHandle_t h;
    BLAS(cublasCreate(&h));
    ck_assert_int_eq(cudaMalloc((void **)at, 1 << 20), cudaSuccess);
    seen_count = 0;
    return h;
}

START_TEST(test_gemm)
{
    const float one = 1, zero = 0;
    char *at;
    on_device("a100-80");
    cublasHandle_t h = blas(&at);
    float *f = (float *)at;
    BLAS(cublasSgemm(h, CUBLAS_OP_T, CUBLAS_OP_N, 4096, 4096, 4096, &one, f, 4096, f, 4096, &zero,
                     f, 4096));
    ck_assert_str_eq(seen[0], "ampere_sgemm_128x128_tn");
    BLAS(cublasSetMathMode(h, CUBLAS_TF32_TENSOR_OP_MATH));
    BLAS(cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 4096, 4096, 4096, &one, f, 4096, f, 4096, &zero,
                     f, 4096));
    ck_assert_int_eq(launched("tf32f32_f32_nn_n"), 1);
    ck_assert_int_gt(seen_ns[0], 4 * seen_ns[1]);
    seen_count = 0;
    BLAS(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 4096, 4096, 4096, &one, at, CUDA_R_16BF, 4096,
                      at, CUDA_R_16BF, 4096, &zero, at, CUDA_R_16BF, 4096, CUBLAS_COMPUTE_32F,
                      CUBLAS_GEMM_DEFAULT));
    BLAS(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 4095, 4096, 4096, &one, at, CUDA_R_16BF, 4095,
                      at, CUDA_R_16BF, 4096, &zero, at, CUDA_R_16BF, 4095, CUBLAS_COMPUTE_32F,
                      CUBLAS_GEMM_DEFAULT));
    ck_assert_int_eq(launched("_align1"), 1);
    ck_assert_int_gt(seen_ns[1], seen_ns[0] * 13 / 10);
    seen_count = 0; /* few tiles, long K: cut, then added up */
    BLAS(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 128, 64, 8192, &one, at, CUDA_R_16F, 128, at,
                      CUDA_R_16F, 8192, &zero, at, CUDA_R_16F, 128, CUBLAS_COMPUTE_32F,
                      CUBLAS_GEMM_DEFAULT));
    ck_assert_int_eq(launched("splitKreduce_kernel"), 1);
    ck_assert_int_eq(
        cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, f, 4, f, 8, &zero, f, 8),
        CUBLAS_STATUS_INVALID_VALUE);
}
END_TEST

START_TEST(test_host_results_wait)
{
    char *at;
    float result = 1;
    on_device("h200");
    cublasHandle_t h = blas(&at);
    BLAS(cublasSdot(h, 1 << 18, (float *)at, 1, (float *)at, 1, &result));
    ck_assert_int_eq(launched("dot_kernel"), 1);
    ck_assert_int_eq(sync_count, 1);
    BLAS(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE));
    BLAS(cublasSdot(h, 1 << 18, (float *)at, 1, (float *)at, 1, (float *)at));
    ck_assert_int_eq(sync_count, 1);
}
END_TEST

/* Complex numbers: four products of real ones, and a result that the host waits for. The forms for
 * 64-bit sizes are the plain ones, but where the result is an index. */
START_TEST(test_complex_and_wide)
{
    const cuComplex one = {1, 0};
    const float real_one = 1;
    char *at;
    on_device("a100-80");
    cublasHandle_t h = blas(&at);
    cuComplex *c = (cuComplex *)at, dot = {1, 1};
    float *f = (float *)at, sum = 1;
    BLAS(cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 2048, 2048, 2048, &real_one, f, 2048, f, 2048,
                     &real_one, f, 2048));
    BLAS(cublasCgemm_64(h, CUBLAS_OP_N, CUBLAS_OP_C, 2048, 2048, 2048, &one, c, 2048, c, 2048, &one,
                        c, 2048));
    BLAS(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 2048, 2048, 2048, &one, c, CUDA_C_32F, 2048, c,
                      CUDA_C_32F, 2048, &one, c, CUDA_C_32F, 2048, CUBLAS_COMPUTE_32F,
                      CUBLAS_GEMM_DEFAULT));
    ck_assert_int_eq(launched("cgemm"), 2);
    ck_assert_int_eq(seen_ns[1], seen_ns[2]);
    ck_assert_int_gt(seen_ns[1], 3 * seen_ns[0]);
    ck_assert_int_lt(seen_ns[1], 5 * seen_ns[0]);
    BLAS(cublasCdotc(h, 1024, c, 1, c, 1, &dot));
    BLAS(cublasScasum(h, 1024, c, 1, &sum));
    int64_t index = -1;
    BLAS(cublasIcamin_64(h, 1024, c, 1, &index));
    ck_assert_int_eq(sync_count, 3);
    ck_assert_int_eq((int)dot.x, 0);
    ck_assert_int_eq(index, 0); /* all eight bytes */
}
END_TEST

/* Operations on a matrix take as long as its bytes, whatever the types of its numbers. */
START_TEST(test_matrices)
{
    enum { M = 8192 };
    const double one = 1;
    const cuDoubleComplex z_one = {1, 0};
    char *at;
    on_device("a100-80");
    cublasHandle_t h = blas(&at);
    double *d = (double *)at;
    cuDoubleComplex *z = (cuDoubleComplex *)at;
    BLAS(cublasDger(h, M, M, &one, d, 1, d, 1, d, M));
    BLAS(cublasZgeru(h, M, M, &z_one, z, 1, z, 1, z, M));
    BLAS(cublasDsyr2(h, CUBLAS_FILL_MODE_UPPER, M, &one, d, 1, d, 1, d, M));
    BLAS(cublasDgbmv(h, CUBLAS_OP_N, M, M, 3, 4, &one, d, 8, d, 1, &one, d, 1));
    ck_assert_int_gt(seen_ns[1], seen_ns[0] * 19 / 10);
    ck_assert_int_lt(seen_ns[2], seen_ns[0] * 6 / 10);
    ck_assert_int_lt(seen_ns[3], seen_ns[0] / 20);
    seen_count = 0;
    BLAS(cublasZher2k(h, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, 2048, 2048, &z_one, z, 2048, z, 2048,
                      &one, z, 2048));
    BLAS(cublasZherk(h, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, 2048, 2048, &one, z, 2048, &one, z,
                     2048));
    ck_assert_int_gt(seen_ns[0], seen_ns[1] * 18 / 10); /* two products */
    seen_count = 0;
    BLAS(cublasZtrsv(h, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 64, z, 64, z, 1));
    BLAS(cublasCopyEx(h, 1 << 20, at, CUDA_R_16F, 1, at, CUDA_R_16F, 1));
    BLAS(cublasDcopy(h, 1 << 20, d, 1, d, 1));
    ck_assert_int_lt(seen_ns[1], seen_ns[2]);
    double a = 3, b = -4, cosine = 0, sine = 0;
    BLAS(cublasDrotg(h, &a, &b, &cosine, &sine));
    ck_assert_double_eq_tol(fabs(a), 5, 1e-12);
    ck_assert_double_eq_tol(cosine * 3 + sine * -4, a, 1e-12);
    ck_assert_double_eq_tol(cosine * -4 - sine * 3, 0, 1e-12);
    double d1 = 1, d2 = 5, x = 2.1, y = 1.2, by[5]; /* NVIDIA's sample prints 3.10, 0.62, 1.94 */
    BLAS(cublasDrotmg(h, &d1, &d2, &x, &y, by));
    ck_assert(by[0] == 1 && fabs(d1 - 3.10) < 0.005 && fabs(d2 - 0.62) < 0.005);
    ck_assert_double_eq_tol(by[1] * 2.1 + 1.2, x, 1e-12);
    ck_assert_double_eq_tol(-2.1 + by[4] * 1.2, 0, 1e-12);
    const cublasOperation_t plain[2] = {CUBLAS_OP_N, CUBLAS_OP_N};
    const int sizes[2] = {256, 512}, counts[2] = {2, 3};
    const double ones[2] = {1, 1};
    double *pointers[5] = {d, d, d, d, d};
    BLAS(cublasDgemmGroupedBatched(
        h, plain, plain, sizes, sizes, sizes, ones, (const double *const *)pointers, sizes,
        (const double *const *)pointers, sizes, ones, pointers, sizes, 2, counts));
    ck_assert_int_ge(launched("dgemm"), 2);
    ck_assert_int_eq(cublasZgeru(NULL, M, M, &z_one, z, 1, z, 1, z, M),
                     CUBLAS_STATUS_NOT_INITIALIZED);
}
END_TEST

START_TEST(test_lt)
{
    const float one = 1, zero = 0;
    char *at;
    on_device("h200");
    BLAS(cublasDestroy(blas(&at)));
    cublasLtHandle_t h;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t r[4];
    cublasOperation_t t = CUBLAS_OP_T, back = CUBLAS_OP_N;
    size_t limit = 32 << 20, written = 0;
    int n = 0;
    BLAS(cublasLtCreate(&h));
    BLAS(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    BLAS(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &t, sizeof t));
    BLAS(cublasLtMatmulDescGetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &back, sizeof back,
                                        &written));
    ck_assert_int_eq(back, CUBLAS_OP_T);
    ck_assert_uint_eq(written, sizeof back);
    BLAS(cublasLtMatrixLayoutCreate(&a, CUDA_R_16BF, 1024, 4096, 1024));
    BLAS(cublasLtMatrixLayoutCreate(&b, CUDA_R_16BF, 1024, 2048, 1024));
    BLAS(cublasLtMatrixLayoutCreate(&d, CUDA_R_16BF, 4096, 2048, 4096));
    BLAS(cublasLtMatmulPreferenceCreate(&preference));
    BLAS(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                              &limit, sizeof limit));
    BLAS(cublasLtMatmulAlgoGetHeuristic(h, desc, a, b, d, d, preference, 4, r, &n));
    ck_assert_int_eq(n, 3);
    BLAS(cublasLtMatmul(h, desc, &one, at, a, at, b, &zero, at, d, at, d, &r[0].algo, at, limit,
                        NULL));
    BLAS(cublasLtMatmul(h, desc, &one, at, a, at, b, &zero, at, d, at, d, &r[1].algo, NULL, 0,
                        NULL));
    ck_assert_int_eq(launched("nvjet_sm90_tst_"), 2);
    ck_assert_int_gt(seen_ns[1], seen_ns[0]);
    ck_assert_int_eq(
        cublasLtMatmul(h, desc, &one, at, a, at, b, &zero, at, d, at, d, &r[0].algo, NULL, 0, NULL),
        CUBLAS_STATUS_INVALID_VALUE);
    ck_assert_int_eq(
        cublasLtMatmul(h, desc, &one, at, b, at, a, &zero, at, d, at, d, NULL, NULL, 0, NULL),
        CUBLAS_STATUS_INVALID_VALUE);
}
END_TEST

/* Descriptors on the stack, an algorithm of the program's own choice, and a change of layout. */
START_TEST(test_lt_without_create)
{
    const float one = 1, zero = 0;
    char *at;
    on_device("h200");
    BLAS(cublasDestroy(blas(&at)));
    cublasLtHandle_t h;
    cublasLtMatmulDescOpaque_t desc;
    cublasLtMatrixLayoutOpaque_t a, d;
    cublasLtMatrixTransformDescOpaque_t change;
    cublasLtMatmulAlgo_t algo;
    cublasLtMatmulHeuristicResult_t r;
    cublasOperation_t t = CUBLAS_OP_T, back = CUBLAS_OP_T;
    int ids[8], n = 0;
    uint32_t split = 3, told = 0;
    BLAS(cublasLtCreate(&h));
    for (int i = 0; i < 2; i++) { /* the second time it knows nothing of the first */
        BLAS(cublasLtMatmulDescInit_internal(&desc, sizeof desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
        BLAS(cublasLtMatmulDescGetAttribute(&desc, CUBLASLT_MATMUL_DESC_TRANSA, &back, sizeof back,
                                            NULL));
        ck_assert_int_eq(back, CUBLAS_OP_N);
        BLAS(cublasLtMatmulDescSetAttribute(&desc, CUBLASLT_MATMUL_DESC_TRANSA, &t, sizeof t));
    }
    BLAS(cublasLtMatrixLayoutInit_internal(&a, sizeof a, CUDA_R_16BF, 2048, 2048, 2048));
    BLAS(cublasLtMatrixLayoutInit_internal(&d, sizeof d, CUDA_R_16BF, 2048, 2048, 2048));
    BLAS(cublasLtMatmulAlgoGetIds(h, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF,
                                  CUDA_R_16BF, CUDA_R_16BF, 8, ids, &n));
    ck_assert_int_eq(n, 3);
    BLAS(cublasLtMatmulAlgoInit(h, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF,
                                CUDA_R_16BF, CUDA_R_16BF, ids[n - 1], &algo));
    BLAS(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &split,
                                              sizeof split));
    BLAS(cublasLtMatmulAlgoConfigGetAttribute(&algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &told,
                                              sizeof told, NULL));
    ck_assert_uint_eq(told, split);
    BLAS(cublasLtMatmulAlgoCheck(h, &desc, &a, &a, &d, &d, &algo, &r));
    ck_assert_uint_eq(r.workspaceSize, 0);
    BLAS(cublasLtMatmul(h, &desc, &one, at, &a, at, &a, &zero, at, &d, at, &d, &algo, NULL, 0,
                        NULL));
    BLAS(cublasLtMatrixTransformDescInit_internal(&change, sizeof change, CUDA_R_32F));
    BLAS(cublasLtMatrixTransform(h, &change, &one, at, &a, &zero, NULL, NULL, at, &d, NULL));
    ck_assert_int_eq(launched(""), 2);
}
END_TEST

static cublasStatus_t in_fp8(const char *model, cublasOperation_t first, cudaDataType_t type)
{
    const float one = 1, zero = 0;
    char *at;
    on_device(model);
    BLAS(cublasDestroy(blas(&at)));
    cublasLtHandle_t h;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, d;
    BLAS(cublasLtCreate(&h));
    BLAS(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    BLAS(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first));
    BLAS(cublasLtMatrixLayoutCreate(&a, type, 4096, 4096, 4096));
    BLAS(cublasLtMatrixLayoutCreate(&b, type, 4096, 4096, 4096));
    BLAS(cublasLtMatrixLayoutCreate(&d, CUDA_R_16BF, 4096, 4096, 4096));
    return cublasLtMatmul(h, desc, &one, at, a, at, b, &zero, at, d, at, d, NULL, NULL, 0, NULL);
}

/* Twice as fast as in half precision, less what the units lose; only where they are, only T N. */
START_TEST(test_fp8)
{
    const int64_t flops = (int64_t)2 * 4096 * 4096 * 4096;
    BLAS(in_fp8("h100", CUBLAS_OP_T, CUDA_R_8F_E4M3));
    ck_assert_int_eq(launched("sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn"), 1);
    ck_assert_int_gt(flops / seen_ns[0], 900000); /* FLOP/ns */
    ck_assert_int_lt(flops / seen_ns[0], 1403000);
}
END_TEST

START_TEST(test_fp8_is_for_some)
{
    ck_assert_int_eq(in_fp8("h100", CUBLAS_OP_N, CUDA_R_8F_E4M3), CUBLAS_STATUS_NOT_SUPPORTED);
}
END_TEST

START_TEST(test_fp8_needs_its_units)
{
    ck_assert_int_eq(in_fp8("a100-80", CUBLAS_OP_T, CUDA_R_8F_E5M2), CUBLAS_STATUS_NOT_SUPPORTED);
}
END_TEST

START_TEST(test_copies_with_strides)
{
    char *at;
    float in[12], out[12] = {0};
    on_device("h200");
    blas(&at);
    for (int i = 0; i < 12; i++)
        in[i] = (float)i;
    BLAS(cublasSetVector(6, sizeof(float), in, 2, at, 1)); /* every other one */
    BLAS(cublasGetVector(6, sizeof(float), at, 1, out, 1));
    ck_assert_float_eq(out[5], 10);
    BLAS(cublasSetMatrix(2, 3, sizeof(float), in, 4, at, 2)); /* the upper half of three columns */
    BLAS(cublasGetMatrix(2, 3, sizeof(float), at, 2, out, 2));
    ck_assert_float_eq(out[3], 5);
    BLAS(cublasSetMatrixAsync(2, 3, sizeof(float), in, 4, at, 2, NULL));
    ck_assert_int_eq(cublasSetMatrix(5, 3, sizeof(float), in, 4, at, 5),
                     CUBLAS_STATUS_INVALID_VALUE);
    ck_assert_int_eq(cublasSetVector(6, sizeof(float), in, 0, at, 1), CUBLAS_STATUS_INVALID_VALUE);
}
END_TEST

enum { LARGE = 1280000 };

START_TEST(test_factors_and_solves)
{
    char *at;
    const double one = 1;
    int info = 7;
    on_device("a100-80");
    cublasHandle_t h = blas(&at);
    double *d = (double *)at;
    int *pivots = (int *)(void *)(at + 65536), got[512];
    BLAS(cublasDgetrfBatched(h, 512, (double *const *)at, 512, pivots, (int *)at, 8));
    ck_assert_int_eq(cudaMemcpy(got, pivots, sizeof got, cudaMemcpyDeviceToHost), cudaSuccess);
    ck_assert_int_eq(got[511], 512);
    int *many, *back = malloc(LARGE); /* more than what copies move in any case */
    ck_assert_int_eq(cudaMalloc((void **)&many, LARGE), cudaSuccess);
    BLAS(cublasDgetrfBatched(h, 32, (double *const *)at, 32, many, (int *)at, LARGE / 128));
    ck_assert_int_eq(cudaMemcpy(back, many, LARGE, cudaMemcpyDeviceToHost), cudaSuccess);
    ck_assert_int_eq(back[LARGE / 4 - 1], 32);
    free(back);
    seen_count = 1;
    BLAS(cublasDgetrsBatched(h, CUBLAS_OP_N, 512, 1, (const double *const *)at, 512, NULL,
                             (double *const *)at, 512, &info, 8));
    ck_assert_int_eq(info, 0);
    ck_assert_int_eq(launched("getrf_batched"), 1);
    ck_assert_int_gt(seen_ns[0], seen_ns[1]);
    BLAS(cublasDtrsm(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT,
                     256, 256, &one, d, 256, d, 256));
    ck_assert_int_eq(launched("trsm"), 1);
    ck_assert_int_eq(cublasSmatinvBatched(h, 33, (const float *const *)at, 33, (float *const *)at,
                                          33, (int *)at, 1),
                     CUBLAS_STATUS_INVALID_VALUE);
}
END_TEST

START_TEST(test_products_over_devices)
{
    const float one = 1, zero = 0;
    static float host[64 * 64];
    int both[] = {0, 1}, missing[] = {5};
    cublasXtHandle_t x;
    on_device("h200,devices=2");
    BLAS(cublasXtCreate(&x));
    ck_assert_int_eq(cublasXtDeviceSelect(x, 1, missing), CUBLAS_STATUS_INVALID_VALUE);
    BLAS(cublasXtDeviceSelect(x, 2, both));
    BLAS(cublasXtSgemm(x, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &one, host, 64, host, 64, &zero,
                       host, 64));
    ck_assert_int_eq(launched("gemm"), 2); /* a band of columns on each */
    BLAS(cublasXtDestroy(x));
}
END_TEST

Suite *test_vgpu_cublas_suite(void)
{
    Suite *suite = suite_create("vgpu_cublas");
    TCase *t = tcase_create("vgpu_cublas");
    tcase_add_test(t, test_gemm);
    tcase_add_test(t, test_copies_with_strides);
    tcase_add_test(t, test_factors_and_solves);
    tcase_add_test(t, test_products_over_devices);
    tcase_add_test(t, test_host_results_wait);
    tcase_add_test(t, test_complex_and_wide);
    tcase_add_test(t, test_matrices);
    tcase_add_test(t, test_lt);
    tcase_add_test(t, test_lt_without_create);
    tcase_add_test(t, test_fp8);
    tcase_add_test(t, test_fp8_is_for_some);
    tcase_add_test(t, test_fp8_needs_its_units);
    suite_add_tcase(suite, t);
    return suite;
}
