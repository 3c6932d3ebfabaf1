/* Names and helpers for cases about GPU kernels. */
#ifndef GPUPROF_TESTS_RULES_GPU_H
#define GPUPROF_TESTS_RULES_GPU_H

#include "tests/unit/rule_case.h"

#define QUIET(a, ...) case_quiet(a, (const char *const[]){__VA_ARGS__, NULL})

static const char conv[] =
    "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage3_"
    "warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn";

#endif
