/* Names of kernels: how a mangled one is shown, and what it tells about the kernel. */
#include "tests/unit/test.h"
#include "tests/unit/build_timeline.h"

#include "analyzer/timeline/demangle.h"

#include <stdint.h>

static const struct {
    const char *recorded, *shown;
} shown[] = {
    {"_Z10add_kernelPfS_i", "add_kernel"},
    {"_Z7add_vecIfLi4EEvPT_i", "add_vec<float, 4>"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEENS_"
     "6detail5ArrayIPcLi3"
     "EEEEEviT0_T1_",
     "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, Array<char*, 3>>"},
    {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, "
     "float)",
     "vectorized_layer_norm_kernel<float, float>"},
    {"volta_sgemm_128x64_nn", "volta_sgemm_128x64_nn"},
    {"_ZN7cutlass6KernelI21cutlass_80_simt_sgemmEEvNT_6ParamsE", "Kernel<cutlass_80_simt_sgemm>"},
    /* too long: arguments go, from the inside; the tiles stay */
    {"void cutlass::Kernel<cutlass::gemm::kernel::Gemm<cutlass::gemm::threadblock::MmaMultistage<"
     "cutlass::gemm::GemmShape<128, 128, 16>, cutlass::transform::PredicatedTileAccessIterator<"
     "cutlass::MatrixShape<128, 16>, float, cutlass::layout::RowMajor, 1>, int>, "
     "cutlass::epilogue::threadblock::Epilogue<cutlass::gemm::GemmShape<128, 128, 16>, float>, "
     "cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>, false> >(T1::Params)",
     "Kernel<Gemm<MmaMultistage<GemmShape<128, 128, 16>, ...>, ...> >"},
    {"void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int>, "
     "cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90TmaGmmaWarpSpecialized<"
     "4, cute::tuple<cute::C<1>, cute::C<2>, cute::C<1> > >, cutlass::half_t>, void, void> >(int)",
     "device_kernel<GemmUniversal<tuple<...>, CollectiveMma<...>, void, void> >"},
    {"a_name_without_arguments_"
     "012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012"
     "34567890123456789(int)",
     "a_name_without_arguments_"
     "012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012"
     "34..."},
    {"_ZN3fooXXbroken", "foo"},
    {"_Z", "_Z"},
    {"", "(unnamed)"},
    {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
     "ncclDevKernel_AllReduce_Sum_f32_RING_LL"},
};

TEST_EACH(kernel_names_are_readable, 0, (int)(sizeof shown / sizeof *shown))
{
    char out[256];
    kernel_display_name(shown[_i].recorded, out, sizeof out);
    ck_assert_str_eq(out, shown[_i].shown);
}

TEST_EACH(demangler_survives_nonsense, 0, 5)
{
    uint64_t x = 2463534242u + (uint64_t)_i;
    static const char letters[] = "NKEILSTZPRFADv0123456789_Ulcdtif";
    char name[80], out[256];
    for (int i = 0; i < 2000; i++) {
        strcpy(name, "_Z");
        size_t n = 2 + (size_t)(build_random(&x) % 70);
        for (size_t k = 2; k < n; k++)
            name[k] = letters[build_random(&x) % (int64_t)(sizeof letters - 1)];
        name[n] = '\0';
        kernel_display_name(name, out, sizeof out);
        ck_assert_uint_gt(strlen(out), 0);
    }
}

TEST(types_are_read_from_mangled_names)
{
    struct builder b = build_start();
    build_kernel(&b, "_ZN5cudnn3cnn12dgrad_engineIfLi512ELi6ELi5ELi3ELi3ELi3ELb0EEEviiiPKT_i",
                 US(1), US(10), US(5));
    const struct op *o = &build_finish(&b)->ops[0];
    ck_assert_str_eq(tl_text(b.t, o->name), "dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>");
    ck_assert_uint_eq(o->class.dtype, SPOOL_DT_F32);
    ck_assert_uint_eq(o->class.tensor, TRI_NO);
    ck_assert_uint_eq(o->class.pass, PASS_DGRAD);
}
