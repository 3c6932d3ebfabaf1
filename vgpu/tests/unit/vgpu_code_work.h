/* Estimates a kernel in PTX and returns what was counted. */
#ifndef GPUPROF_TESTS_VGPU_CODE_WORK_H
#define GPUPROF_TESTS_VGPU_CODE_WORK_H

#include "cost/cost_code.h"
#include "ptx/ptx.h"

#include <check.h>

static inline struct code_work work_of(const char *ptx, const char *name, unsigned blocks,
                                       unsigned threads, void *const *args)
{
    struct ptx_kernel *k = ptx_read(ptx, name);
    struct ptx_launch l = {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .args = args};
    struct code_work w;
    ck_assert_ptr_nonnull(k);
    ck_assert(vg_code_sample(k, &l, &w));
    ptx_free(k);
    return w;
}

#endif
