/* The edit of the memory layout of images (channels last). */
#include "tests/unit/edit_case.h"
#include "analyzer/queries/kernels/shapes.h"
#include "tests/unit/rule_case.h"

static void fill_layouts(struct builder *b, int64_t at)
{
    static const char *const names[] = {
        "void cudnn::engines_precompiled::nchwToNhwcKernel<float>()",
        "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32",
        "void implicit_convolve_sgemm<float>()", "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>()"};
    for (int i = 0; i < 4; i++)
        build_kernel(b, names[i], at + US(10 * i), at + US(100) + MS(i), MS(1));
    build_sync(b, at + US(100), MS(4) - US(10));
}

static bool on_cuda_cores(const struct facts *f, uint32_t op)
{
    return strstr(tl_text(f->tl, f->tl->ops[op].full_name), "sgemm") != NULL;
}

/* Of 5 ms one is the host's. The conversion goes, the NHWC kernel stays as it is; the convolution
 * on CUDA cores becomes one on tensor cores, or stays, or, in FP32, one that suits it less. */
TEST(another_layout_spares_conversions_and_may_open_tensor_cores)
{
    struct bench x = bench_start(MS(5), fill_layouts);
    struct edit plain = {.kind = &edit_layout};
    struct edit picked = {.kind = &edit_layout, .at.ops = on_cuda_cores};
    ck_assert_int_le(llabs(with(&x, plain, &unlucky) - MS(6.3)), US(20));
    ck_assert_int_le(llabs(with(&x, plain, &lucky) - MS(3.85)), US(20));
    plain.layout.best = 0.5; /* a guess of the library's may turn out better in the other layout */
    ck_assert_int_le(llabs(with(&x, plain, &lucky) - MS(3.35)), US(20));
    ck_assert_int_le(llabs(with(&x, picked, &unlucky) - MS(4.3)), US(20));
    ck_assert_int_le(llabs(with(&x, picked, &lucky) - MS(2.91)), US(20));
}

static void call_of(struct builder *b, int64_t at, int64_t family, int64_t layout,
                    const char *function)
{
    struct row_call c = {.start_ns = at,
                         .end_ns = at + US(9),
                         .family = family,
                         .in_type = SPOOL_DT_BF16,
                         .in_layout = layout,
                         .dim = {64, 64, 56, 56, 256, 1, 1, 1, 0, 1, 1}};
    build_call(b, c, function);
}

/* A normalisation of 51 MB at a fortieth of an A100's rate, a product of odd rows, and a conversion
 * for a convolution whose tensors are in NHWC. */
static void fill_calls(struct builder *b, int64_t at)
{
    call_of(b, at, SPOOL_CALL_NORM, SPOOL_LAYOUT_NCHW, "cudnnBatchNormalizationForwardTraining");
    build_kernel(b, "void cudnn::bn_fw_tr_1C11_kernel_NCHW<__nv_bfloat16>()", at + US(2),
                 at + US(100), MS(1));
    call_of(b, at + US(10), SPOOL_CALL_CONV_FWD, SPOOL_LAYOUT_NCHW, "cudnnConvolutionForward");
    build_kernel(b, "cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_nn_align2", at + US(12),
                 at + US(100) + MS(1), MS(1));
    call_of(b, at + US(20), SPOOL_CALL_CONV_FWD, SPOOL_LAYOUT_NHWC, "cudnnConvolutionForward");
    build_kernel(b, "void cudnn::engines_precompiled::nhwcToNchwKernel<__nv_bfloat16>()",
                 at + US(22), at + US(100) + MS(2), MS(1));
    build_kernel(b, "long_one", at + US(40), at + US(100) + MS(3), MS(1));
    build_sync(b, at + US(100), MS(4) - US(10));
}

static void fill_groups(struct builder *b, int64_t at)
{
    struct row_call c = {.start_ns = at,
                         .end_ns = at + US(9),
                         .family = SPOOL_CALL_CONV_FWD,
                         .in_type = SPOOL_DT_F16,
                         .in_layout = SPOOL_LAYOUT_NCHW,
                         .dim = {64, 96, 56, 56, 96, 3, 3, 1, 1, 1, 2}};
    build_call(b, c, "cudnnBackendExecute");
    build_kernel(b, "void conv2d_grouped_direct_kernel<__half>()", at + US(2), at + US(100), MS(1));
    build_kernel(b, "long_one", at + US(40), at + US(1100), MS(3));
    build_sync(b, at + US(100), MS(4) - US(10));
}

/* Of a millisecond in groups of 48 channels two come on top, or none. */
TEST(wide_groups_may_take_several_times_as_long)
{
    struct bench x = bench_start(MS(5), fill_groups);
    struct edit edit = {.kind = &edit_layout,
                        .at.op_calls = query_op_calls(x.b.a->facts, &x.b.a->arena)};
    int64_t before = with(&x, (struct edit){.kind = NULL}, &middle);
    ck_assert_int_le(llabs(with(&x, edit, &middle) - before - MS(2)), US(20));
    ck_assert_int_le(llabs(with(&x, edit, &lucky) - before), US(20));
}

/* 25 us of bytes take 63 at 40 % of the rate, and the kernel's 3; the product keeps a third. */
TEST(sizes_tell_what_normalisation_takes_and_calls_what_is_in_nhwc_already)
{
    struct bench x = bench_start(MS(5), fill_calls);
    struct edit edit = {.kind = &edit_layout,
                        .at.op_calls = query_op_calls(x.b.a->facts, &x.b.a->arena)};
    int64_t before = with(&x, (struct edit){.kind = NULL}, &middle);
    ck_assert_int_le(llabs(before - with(&x, edit, &middle) - US(934 + 680)), US(20));
    edit.at.op_calls =
        NULL; /* by names alone the product keeps 0.4, and the conversion goes, too */
    ck_assert_int_le(llabs(before - with(&x, edit, &middle) - US(600 + 600 + 1000)), US(20));
}

static void fill_calls_of_pytorch(struct builder *b, int64_t at)
{
    if (at == MS(100))
        build_meta(b, "framework", "pytorch");
    fill_calls(b, at);
}

/* PyTorch's kernel is limited by the multiprocessors: with twice their clock it takes half. */
TEST(normalisation_of_pytorch_goes_by_multiprocessors)
{
    struct bench x = bench_start(MS(5), fill_calls_of_pytorch);
    struct edit edit = {.kind = &edit_layout,
                        .at.op_calls = query_op_calls(x.b.a->facts, &x.b.a->arena)};
    struct row_device *v = &x.b.t->devices[0];
    v->clock_khz /= 2;
    int64_t slow = with(&x, edit, &middle);
    v->clock_khz *= 2;
    int64_t fast = with(&x, edit, &middle);
    ck_assert_ptr_eq(x.b.a->facts->device, v);
    ck_assert_int_gt(slow, fast + US(80));
    v->clock_khz *= 100; /* no faster than memory */
    ck_assert_int_gt(with(&x, edit, &middle), fast - US(120));
}

static void fill_torch(struct builder *b, int64_t at)
{
    static const char *const names[] = {
        "void at::native::batch_norm_backward_kernel<c10::BFloat16, float, float, int>()",
        "void at::native::batch_norm_backward_elemt_channels_last_kernel<4, c10::BFloat16>()",
        "void cudnn::bn_bw_1C11_kernel_new<__nv_bfloat16, float, float2, 128, true, 1>()",
        "void cudnn::bn_bw_1C11_singleread<__nv_bfloat16, 512, true, 1, 2, 0>()"};
    for (int i = 0; i < 4; i++)
        build_kernel(b, names[i], at + US(10 * i), at + US(100) + MS(i), MS(1));
    build_sync(b, at + US(100), MS(4) - US(10));
}

/* 0.55, all (it is in NHWC), 0.4 and all of a millisecond. */
TEST(names_tell_normalisation_that_is_slow_in_nchw)
{
    struct bench x = bench_start(MS(5), fill_torch);
    int64_t before = with(&x, (struct edit){.kind = NULL}, &middle);
    int64_t saved = before - with(&x, (struct edit){.kind = &edit_layout}, &middle);
    ck_assert_int_le(llabs(saved - US(450 + 600)), US(10));
}

/* The host sets the pace: 20 convolutions of 1x1 a step, each launched within its call. */
static void fill_slow_calls(struct builder *b, int64_t at)
{
    for (int i = 0; i < 20; i++) {
        int64_t from = at + US(100) * i;
        call_of(b, from, SPOOL_CALL_CONV_FWD, SPOOL_LAYOUT_NCHW, "cudnnConvolutionForward");
        build_kernel(b, "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc", from,
                     from + US(20), US(10));
    }
    build_sync(b, at + US(2000), US(10));
}

static void fill_slow_calls_torch(struct builder *b, int64_t at)
{
    if (at == MS(100))
        build_meta(b, "framework", "pytorch");
    fill_slow_calls(b, at);
}

TEST(calls_of_products_in_nhwc_may_take_the_host_longer)
{
    struct bench x = bench_start(US(2100), fill_slow_calls);
    struct edit edit = {.kind = &edit_layout,
                        .at.op_calls = query_op_calls(x.b.a->facts, &x.b.a->arena)};
    int64_t before = with(&x, (struct edit){.kind = NULL}, &middle);
    ck_assert_int_le(llabs(with(&x, edit, &lucky) - before), US(10));
    ck_assert_int_le(llabs(with(&x, edit, &unlucky) - before - US(1400)), US(10));
    x = bench_start(US(2100), fill_slow_calls_torch);
    edit.at.op_calls = query_op_calls(x.b.a->facts, &x.b.a->arena);
    ck_assert_int_le(llabs(with(&x, edit, &unlucky) - before), US(10));
}
