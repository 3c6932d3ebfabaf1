/* Kernels that compilers generate from directives: GCC's kernels, which are declared before they
 * are defined, in which the first lane loads for all, or which leave all work to a function behind
 * a pointer. */
#include "tests/unit/vgpu_program.h"

#include <cuda.h>

Suite *test_vgpu_directives_suite(void);

static const char ptx[] =
    ".version 6.3\n.target sm_30\n.address_size 64\n"
    ".entry inline$_omp_fn$0 (.param .u64 %in_ar0);\n"
    ".entry inline$_omp_fn$0 (.param .u64 %in_ar0)\n"
    "{ .reg .u64 %ar0; ld.param.u64 %ar0,[%in_ar0];\n"
    "  .reg .u64 %r<9>; .reg .u32 %s<9>; .reg .f32 %f<4>; .reg .pred %p<4>;\n"
    "  mov.u32 %s1,%tid.x; setp.ne.u32 %p1,%s1,0; @ %p1 bra $L5;\n"
    "  ld.u64 %r1,[%ar0]; ld.u32 %s2,[%ar0+8];\n"
    "$L5: bar.warp.sync 0xffffffff;\n"
    "  shfl.sync.idx.b32 %s2,%s2,0,31,0xffffffff;\n"
    "  mov.b64 {%s3,%s4},%r1; shfl.sync.idx.b32 %s3,%s3,0,31,0xffffffff;\n"
    "  shfl.sync.idx.b32 %s4,%s4,0,31,0xffffffff; mov.b64 %r1,{%s3,%s4};\n"
    "$L3: ld.f32 %f1,[%r1]; fma.rn.f32 %f2,%f1,%f1,%f2; add.u32 %s1,%s1,32;\n"
    "  setp.lt.u32 %p2,%s1,%s2; @ %p2 bra $L3;\n"
    "  ret; }\n"
    ".visible .entry away$_omp_fn$0 (.param .u64 %arg, .param .u64 %stack, .param .u64 %sz)\n"
    "{ .reg .u64 %R<4>; mov.u64 %R0,away; ld.param.u64 %R1,[%arg];\n"
    "  { .param .u64 %P<2>; st.param.u64 [%P0],%R0; st.param.u64 [%P1],%R1;\n"
    "  call.uni gomp_nvptx_main,(%P0,%P1); }\n  ret.uni; }\n";

/* Of one launch, in ms. */
static double ms_of(CUmodule m, const char *name, unsigned blocks, void **args)
{
    CUfunction f;
    CUevent from, to;
    float ms;
    OK(cuModuleGetFunction(&f, m, name));
    OK(cuEventCreate(&from, 0));
    OK(cuEventCreate(&to, 0));
    for (int i = 0; i < 2; i++) { /* the second finds its estimate */
        OK(cuEventRecord(from, NULL));
        OK(cuLaunchKernel(f, blocks, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
        OK(cuEventRecord(to, NULL));
        OK(cuEventSynchronize(to));
    }
    OK(cuEventElapsedTime(&ms, from, to));
    return (double)ms;
}

START_TEST(work_behind_directives_is_found)
{
    enum { BYTES = 256 << 20 };
    struct {
        CUdeviceptr array;
        uint64_t n;
    } table = {.n = 32000000};
    CUdeviceptr of_table, stack;
    CUcontext c;
    CUmodule m;
    uint64_t size = 1 << 20;
    choose("a100-80,noise=0");
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&c, 0));
    OK(cuCtxSetCurrent(c));
    OK(cuMemAlloc(&table.array, BYTES));
    OK(cuMemAlloc(&of_table, sizeof table));
    OK(cuMemAlloc(&stack, 1 << 30));
    OK(cuMemcpyHtoD(of_table, &table, sizeof table));
    OK(cuModuleLoadData(&m, ptx));
    void *args[] = {&of_table, &stack, &size};
    double turns = 1e6, all_ms = BYTES / 2.039e12 * 1e3;
    ck_assert_double_gt(ms_of(m, "inline$_omp_fn$0", 1, args), turns * 4 / 1.41e9 * 1e3);
    double ms = ms_of(m, "away$_omp_fn$0", 108, args);
    ck_assert_double_gt(ms, all_ms);
    ck_assert_double_lt(ms, all_ms * 1.3);
}
END_TEST

Suite *test_vgpu_directives_suite(void)
{
    Suite *s = suite_create("vgpu_directives");
    TCase *t = tcase_create("core");
    tcase_add_test(t, work_behind_directives_is_found);
    suite_add_tcase(s, t);
    return s;
}
