/* Fills the steps of cases about kernels in a phase of the step: gradient unscaling, type casts. */
#ifndef GPUPROF_TESTS_RULES_PHASE_H
#define GPUPROF_TESTS_RULES_PHASE_H

#include "tests/unit/rule_case.h"

static const char unscale[] =
    "void at::native::amp_non_finite_check_and_unscale_cuda_kernel<float>";

static const char cast[] = "void at::native::unrolled_elementwise_kernel<at::native::"
                           "direct_copy_kernel_cuda(at::TensorIteratorBase&)>";

/* `n` consecutive kernels of `each_ns`, queued ahead; then a product that fills the step up to 9.85
 * ms. */
static inline void many(struct builder *b, const char *name, int64_t at, int n, int64_t each_ns)
{
    int64_t gpu = at + US(100);
    for (int i = 0; i < n; i++) {
        build_kernel(b, name, at + US(5) * i, gpu, each_ns);
        gpu += each_ns;
    }
    build_kernel(b, case_gemm, at + US(5) * n, gpu, at + US(9950) - gpu);
}

/* A product; the host waits for it and works 2 ms with the result; then another product. */
static inline void waits_inside(struct builder *b, int64_t at, const char *range)
{
    build_kernel(b, case_gemm, at + US(10), at + US(100), MS(5));
    build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, false, 4, at + US(20), US(5090),
               at + US(5101), US(2));
    build_range(b, range, at + US(15), at + US(7110));
    build_kernel(b, case_gemm, at + US(7115), at + US(7123), US(2820));
}

static inline void fill_unscale(struct builder *b, int64_t at)
{
    many(b, unscale, at, 60, US(10));
}

static inline void fill_casts(struct builder *b, int64_t at)
{
    many(b, cast, at, 100, US(5));
}

#endif
