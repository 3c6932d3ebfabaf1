/* Fills the steps of cases about what blocks the host. */
#ifndef GPUPROF_TESTS_RULES_HOST_H
#define GPUPROF_TESTS_RULES_HOST_H

#include "tests/unit/rule_case.h"

#define QUIET(a, ...) case_quiet(a, (const char *const[]){__VA_ARGS__, NULL})

/* A copy that blocks the host for 3 ms of the step. */
static inline void fill_copy(struct builder *b, int64_t at, int64_t from)
{
    build_copy(b, COPY_H2D, from, MEMORY_DEVICE, true, 20 << 20, at, MS(3), at + US(10),
               MS(3) - US(20));
    build_kernel(b, case_gemm, at + MS(3), at + MS(3) + US(10), US(6980));
}

#endif
