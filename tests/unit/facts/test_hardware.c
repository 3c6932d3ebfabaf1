/* How near the GPU comes to its peak: what counts, once, and at which peak. */
#include "tests/unit/build_timeline.h"

enum { STEPS = 6 };

/* Each step of 10 ms multiplies matrices by cuBLAS for 5 ms: 2 x 1000^3 operations. */
static void step_of(struct builder *b, int i, int64_t type, bool sized)
{
    int64_t at = MS(10) * i;
    build_range(b, "step", at, at + MS(10) - US(1));
    build_kernel(b, "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_tn", at + US(20), at + US(40),
                 MS(5));
    build_kernel(b, "vectorized_elementwise_kernel", at + US(60), at + MS(6), MS(1));
    if (sized)
        build_call(b,
                   (struct row_call){.start_ns = at + US(10),
                                     .end_ns = at + US(40),
                                     .family = SPOOL_CALL_GEMM,
                                     .in_type = type,
                                     .dim = {1000, 1000, 1000}},
                   "cublasGemmEx");
}

static const struct hardware_facts *measured(int64_t type, bool sized)
{
    struct builder b = build_start_on("NVIDIA A100-SXM4-80GB", 8, 0);
    for (int i = 0; i < STEPS; i++)
        step_of(&b, i, type, sized);
    return &build_analyze(&b)->facts->hardware;
}

TEST(products_count)
{
    const struct hardware_facts *h = measured(SPOOL_DT_BF16, true);
    ck_assert_ptr_nonnull(h->peak);
    double steps = h->flops[PEAK_16_BITS] / 2e9;
    ck_assert(steps >= STEPS - 3 && steps <= STEPS && steps == (int)steps);
    ck_assert_int_eq(h->known_ns, (int64_t)steps * MS(5));
    ck_assert_int_eq(h->matrix_ns, h->known_ns);
    ck_assert_double_eq_tol(h->peak_ns, steps * 2e9 / 312e3, 1e-6);
}

TEST(kernels_have_their_share)
{
    struct builder b = build_start_on("NVIDIA A100-SXM4-80GB", 8, 0);
    for (int i = 0; i < STEPS; i++)
        step_of(&b, i, SPOOL_DT_BF16, true);
    const struct totals *t = &build_analyze(&b)->facts->totals;
    ck_assert_uint_eq(t->kernel_count, 2);
    ck_assert_int_eq(t->kernels[0].sized_ns, t->kernels[0].total_ns);
    ck_assert_double_eq_tol(t->kernels[0].peak_ns / (double)t->kernels[0].sized_ns,
                            2e9 / 312e3 / 5e6, 1e-9);
    ck_assert_int_eq(t->kernels[1].sized_ns, 0);
}

TEST(each_type_has_its_peak)
{
    ck_assert(measured(SPOOL_DT_F64, true)->flops[PEAK_FP64] > 0);
    ck_assert(measured(SPOOL_DT_F32, true)->flops[PEAK_TF32] > 0); /* by its name on tensor cores */
}

TEST(without_sizes_there_is_no_number)
{
    ck_assert_ptr_null(measured(SPOOL_DT_BF16, false)->peak);
}

/* The same steps with an operator around the launch. */
static const struct hardware_facts *inside_operator(const char *shapes, bool sized)
{
    struct builder b = build_start_on("NVIDIA A100-SXM4-80GB", 8, 0);
    for (int i = 0; i < STEPS; i++) {
        int64_t at = MS(10) * i;
        step_of(&b, i, SPOOL_DT_BF16, sized);
        struct row_range r = {.id = ++b.next_id,
                              .process = 1,
                              .thread = b.thread,
                              .start_ns = at + US(8),
                              .end_ns = at + US(45),
                              .depth = 1,
                              .name = build_text(&b, "aten::mm"),
                              .shapes = build_text(&b, shapes)};
        build_put(&b, ROW_RANGE, &r);
    }
    const struct hardware_facts *h = &build_analyze(&b)->facts->hardware;
    ck_assert_ptr_nonnull(h->peak);
    return h;
}

/* A library call inside an operator: the product is one. */
TEST(nothing_counts_twice)
{
    const struct hardware_facts *h =
        inside_operator("1000 x 1000 BFloat16, 1000 x 1000 BFloat16", true);
    ck_assert_double_eq_tol(h->flops[PEAK_16_BITS] / 2e9, (double)h->known_ns / (double)MS(5),
                            1e-9);
}

TEST(operators_count_without_calls)
{
    const struct hardware_facts *h =
        inside_operator("1000 x 500 BFloat16, 500 x 1000 BFloat16", false);
    ck_assert_double_eq_tol(h->flops[PEAK_16_BITS] / 1e9, (double)h->known_ns / (double)MS(5),
                            1e-9);
}

/* Autocast converts behind the point at which inputs are recorded: the kernel works in 16 bits. */
TEST(autocast_counts_as_what_ran)
{
    const struct hardware_facts *h = inside_operator("1000 x 500 float, 500 x 1000 float", false);
    ck_assert(h->flops[PEAK_16_BITS] > 0 && h->flops[PEAK_TF32] == 0 && h->flops[PEAK_FP32] == 0);
}

/* The backward pass of a convolution in one operator: each step has `kernels` for it, 2 ms and 1 ms. */
static const struct facts *backward_of(int kernels)
{
    static const char *const names[] = {"sm80_xmma_dgrad_implicit_gemm_f32f32_f32f32",
                                        "sm80_xmma_wgrad_implicit_gemm_f32f32_f32f32"};
    struct builder b = build_start_on("NVIDIA A100-SXM4-80GB", 8, 0);
    for (int i = 0; i < STEPS; i++) {
        int64_t at = MS(10) * i;
        build_range(&b, "step", at, at + MS(10) - US(1));
        for (int inner = 0; inner < 2; inner++) { /* the inner one says the same again */
            struct row_range r = {.id = ++b.next_id,
                                  .process = 1,
                                  .thread = b.thread,
                                  .start_ns = at + US(8 + inner),
                                  .end_ns = at + US(60 - inner),
                                  .depth = 1 + inner,
                                  .name = build_text(&b, "aten::convolution_backward"),
                                  .shapes = build_text(&b, "8 x 16 x 10 x 10 float, 8 x 4 x 12 x "
                                                           "12 float, 16 x 4 x 3 x 3 float")};
            build_put(&b, ROW_RANGE, &r);
        }
        for (int k = 0; k < kernels; k++)
            build_kernel(&b, names[k], at + US(20 + 10 * k), at + MS(1 + 2 * k), MS(2 - k));
    }
    return build_analyze(&b)->facts;
}

TEST(kernels_of_one_operator_share_its_arithmetic)
{
    enum { ONE_GRADIENT = 2 * 8 * 16 * 10 * 10 * 4 * 3 * 3 };
    const struct facts *both = backward_of(2), *weight = backward_of(1);
    double steps = (double)both->hardware.known_ns / (double)MS(3);
    double flops = 0, alone = 0;
    for (int i = 0; i < PEAK_TYPES; i++) {
        flops += both->hardware.flops[i];
        alone += weight->hardware.flops[i];
    }
    ck_assert_double_eq_tol(flops, 2.0 * ONE_GRADIENT * steps, 1e-3);
    ck_assert_double_eq_tol(alone, ONE_GRADIENT * (double)weight->hardware.known_ns / (double)MS(2),
                            1e-3);
    const struct kernel_total *k = both->totals.kernels;
    ck_assert_uint_eq(both->totals.kernel_count, 2);
    ck_assert_double_eq_tol(k[0].peak_ns / (double)k[0].sized_ns,
                            k[1].peak_ns / (double)k[1].sized_ns, 1e-12);
}
