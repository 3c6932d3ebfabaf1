/* Cases of the rule own-matrix-kernels: when it fires, when it is silent or suppressed, and when it
 * cannot tell. No trainer plants it: the trainers leave products to libraries. */
#include "tests/unit/rule_case.h"

static const char *kernel;

/* 6 ms of it in a step of 10, and a product of cuBLAS. */
static void fill(struct builder *b, int64_t at)
{
    build_kernel(b, kernel, at + US(10), at + US(500), MS(6));
    build_kernel(b, case_gemm, at + US(20), at + US(6500), MS(2));
}

TEST(test_own)
{
    static const char *const own[] = {
        "_Z22matmul_forward_kernel4PfPKfS1_S1_ii",
        "matrixMultiply(float const*, float const*, float*, int, int)",
        "_Z30dweight_dbias_backward_kernel1ILi64ELi64EEvPfS0_S0_S0_iiiii",
        "void conv2d_k3_forward_kernel3<8, 256>(float*, float*, ns::view<float>, int)",
        "sgemm_naive",
        "matrixMultKernel(float*, float*, float*, int)",
        "_Z9mm_kernelPfS_S_i",
        "dense_forward(float const*, float const*, float*)",
        "matmul_block_tensor(float*)"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        kernel = own[i];
        const struct advice *a = case_advice(fill);
        const struct outcome *o = case_first(a, "own-matrix-kernels", MS(6));
        ck_assert(o->upper_bound);
        ck_assert_double_eq_tol(case_value(o, "their GPU time"), 6, 0.01);
        case_does(o, ACTION_USE_LIBRARY_KERNELS);
    }
}

/* Libraries' kernels, with a namespace and without; bias, norms and pictures' kernels. */
TEST(test_others)
{
    static const char *const others[] = {
        "void cutlass::Kernel2<cutlass_80_tensorop_gemm>(Params)",
        "_ZN2at6native12_GLOBAL__N_131conv_depthwise2d_forward_kernelIfEEvv",
        "void gemmk1_kernel<int, float, 256, 5, false>(cublasGemmk1Params)",
        "implicit_convolve_sgemm",
        "sgemm_128x128x8_NN_vec",
        "conv2d_grouped_direct_kernel",
        "my_wmma_gemm_kernel(__half const*, float*)",
        "_Z28matmul_backward_bias_kernel9IfLb1EEvPT_PKS0_iii",
        "_Z20layernorm_forward_kernelPfS_",
        "blur(uchar4*, int)"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        kernel = others[i];
        case_verdict(case_advice(fill), "own-matrix-kernels", RULE_SILENT);
    }
}

/* 4 % of the step. */
static void fill_little(struct builder *b, int64_t at)
{
    build_kernel(b, kernel, at + US(10), at + US(500), US(400));
    build_kernel(b, case_gemm, at + US(20), at + MS(1), MS(8));
}

static void fill_called(struct builder *b, int64_t at)
{
    int64_t correlation = build_api(b, "cudaLaunchKernel", at + US(10), CALL_NS);
    build_kernel_of(b, kernel, correlation, at + US(500), MS(6), 64);
    struct row_call call = {.start_ns = at + US(9), .end_ns = at + US(30)};
    build_call(b, call, "cublasSgemm_v2");
    build_kernel(b, case_gemm, at + US(40), at + US(6500), MS(2));
}

TEST(test_not_its_own)
{
    kernel = "matmul(float const*, float*)";
    case_verdict(case_advice(fill_little), "own-matrix-kernels", RULE_SILENT);
    case_verdict(case_advice_with(fill, "exe", "/usr/bin/python3.11"), "own-matrix-kernels",
                 RULE_SILENT);
    case_verdict(case_advice(fill_called), "own-matrix-kernels", RULE_SILENT);
}

TEST(test_cannot_tell)
{
    kernel = "matmul(float const*, float*)";
    case_cannot_tell(fill, "copies,api,ranges", "own-matrix-kernels");
}

static const char *operator_of;

static void fill_operator(struct builder *b, int64_t at)
{
    build_range(b, operator_of, at, at + US(30));
    build_kernel(b, kernel, at + US(10), at + US(500), MS(6));
    build_range(b, "aten::mm", at + US(31), at + US(40));
    build_kernel(b, case_gemm, at + US(32), at + US(6500), MS(2));
}

/* PyTorch's operators and compiled code call libraries; an extension's operator may not. */
TEST(test_extension_of_pytorch)
{
    static const struct {
        const char *name;
        bool own;
    } operators[] = {
        {"my_ext::linear", true}, {"aten::linear", false}, {"Torch-Compiled Region: 0/0", false}};
    kernel = "linear_forward_kernel(float const*, float const*, float*, int, int)";
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        operator_of = operators[i].name;
        case_verdict(case_advice_with(fill_operator, "framework", "pytorch"), "own-matrix-kernels",
                     operators[i].own ? RULE_FIRES : RULE_SILENT);
    }
}

static bool with_operators;

/* An extension that registers no operator: its launch, on a thread without marks, lies in no
 * range. */
static void fill_bare(struct builder *b, int64_t at)
{
    b->thread = 2;
    build_kernel(b, kernel, at + US(10), at + US(500), MS(6));
    b->thread = 1;
    if (with_operators)
        build_range(b, "aten::mm", at + US(31), at + US(40));
    build_kernel(b, case_gemm, at + US(32), at + US(6500), MS(2));
}

TEST(test_extension_without_operators)
{
    kernel = "linear_forward_kernel(float const*, float const*, float*, int, int)";
    for (int i = 0; i < 2; i++) {
        struct builder b = build_start();
        with_operators = i;
        build_thread(&b, 2, "extension");
        build_meta(&b, "framework", "pytorch");
        case_loop(&b, fill_bare);
        case_verdict(build_analyze(&b), "own-matrix-kernels",
                     with_operators ? RULE_FIRES : RULE_SILENT);
    }
}

static int64_t host_ns; /* what the host works in a step before it waits for the GPU */

static void fill_beside_host(struct builder *b, int64_t at)
{
    build_kernel(b, "matmul_naive", at + US(10), at + US(30), MS(6));
    build_sync(b, at + host_ns, host_ns < MS(6) ? MS(6.03) - host_ns : US(5));
}

/* Without the kernel a step takes as long as its host: that bounds what a faster one saves. */
TEST(test_bound_by_the_host)
{
    struct builder b = build_start();
    host_ns = MS(9.9);
    case_loop(&b, fill_beside_host);
    const struct outcome *o = case_outcome(build_predict(&b), "own-matrix-kernels");
    ck_assert_int_le(o->saves_high_ns, US(200));
    b = build_start();
    host_ns = US(40);
    case_loop(&b, fill_beside_host);
    o = case_outcome(build_predict(&b), "own-matrix-kernels");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert(o->upper_bound);
    ck_assert_int_gt(o->saves_high_ns, MS(5.8));
}
