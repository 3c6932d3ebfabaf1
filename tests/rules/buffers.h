/* Fills the steps of the cases of broadcast-buffers and device-copies: an exchange of gradients,
 * and broadcasts at the start of a step. */
#ifndef GPUPROF_TESTS_RULES_BUFFERS_H
#define GPUPROF_TESTS_RULES_BUFFERS_H

#include "tests/unit/rule_case.h"

static const char reduce[] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage)";

static const char broadcast[] = "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage)";

static const char id[] = "broadcast-buffers";

enum { COPIES = 10 };

/* One kernel packs buffers, `kernel` sends them in `length`, and copies unpack them one by one. */
static inline void send(struct builder *b, const char *kernel, int64_t at, int64_t length)
{
    build_kernel(b, "void at::native::CatArrayBatchedCopy<float, unsigned int, 1>(int)", at,
                 at + US(8), US(10));
    build_kernel(b, kernel, at + US(5), at + US(20), length);
    for (int i = 0; i < COPIES; i++)
        build_copy(b, COPY_D2D, MEMORY_DEVICE, MEMORY_DEVICE, true, 256, at + US(10 + 5 * i), US(4),
                   at + US(20) + length + US(8 * i), US(7));
}

static inline void compute(struct builder *b, int64_t at, int64_t from, int64_t until)
{
    build_kernel(b, case_gemm, at + US(90), at + from, until - from);
    build_kernel(b, reduce, at + US(95), at + until, US(600));
}

static inline void fill_start(struct builder *b, int64_t at)
{
    send(b, broadcast, at + US(2), US(60));
    compute(b, at, US(165), MS(9.3));
}

#endif
