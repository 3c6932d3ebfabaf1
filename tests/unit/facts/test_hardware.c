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
