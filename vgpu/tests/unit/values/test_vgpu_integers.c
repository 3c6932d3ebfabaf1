/* Integers that PyTorch's kernels compute and that a program reads back. */
#include "tests/unit/vgpu_program.h"

#include <stdbool.h>
#include <string.h>

/* arange(2, ..., 3) of 8 bytes; cumsum() of it; a leftover of numbers sums up to nothing. */
START_TEST(ranges_and_running_sums_are_written)
{
    static const char range, scan;
    choose("h100");
    int64_t from[2] = {2, 3}, is[4];
    float others[2] = {1, 2};
    int32_t n = 4;
    char *to, *sums, state[32] = "";
    OK(cudaMalloc((void **)&to, 64));
    sums = to + 32;
    void *args[] = {&n, from, &to};
    run_named(
        &range,
        "_ZN50_GLOBAL__N__2fa45684_17_RangeFactories_cu_38772b0829elementwise_kernel_with_index"
        "IiZZZN2at6native15arange_cuda_outERKN3c106ScalarES6_S6_RNS1_6TensorEENKUlvE_clEvENKUlvE2_"
        "clEvEUllE_EEvT_T0_PN15function_traitsISD_E11result_typeE",
        args);
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == 2 && is[1] == 5 && is[2] == 8 && is[3] == 11);
    void *of_scan[] = {&to, &sums, state, &n, state, state, &n};
    run_named(
        &scan,
        "_ZN14at_cuda_detail3cub6detail4scan16DeviceScanKernelINS2_10policy_hubIllljSt4plusIlEE"
        "10Policy1000EPKlPlNS0_13ScanTileStateIlLb1EEES6_NS0_8NullTypeEjlLb0ESE_EEvT0_T1_T2_iT3_T4_"
        "T5_",
        of_scan);
    OK(cudaMemcpy(is, sums, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == 2 && is[1] == 7 && is[2] == 15 && is[3] == 26);
    OK(cudaMemcpy(to, others, sizeof others, cudaMemcpyHostToDevice));
    OK(cudaLaunchKernel(&scan, (dim3){1, 1, 1}, (dim3){128, 1, 1}, of_scan, 0, NULL));
    OK(cudaMemcpy(is, sums, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == 0 && is[3] == 0);
}
END_TEST

#define FACTORY(function, types, lambdas)                                                          \
    "_ZN50_GLOBAL__N__2fa45684_17_RangeFactories_cu_38772b0829elementwise_kernel_with_index"       \
    "IiZZZN2at6native" function "ERKN3c106Scalar" types "RNS1_6TensorEENKUlv" lambdas              \
    "_clEvEUllE_EEvT_T0_PN15function_traitsISD_E11result_typeE"
static const struct {
    float start, end;
    int64_t steps;
    float step;
    int64_t half;
} f32_space = {-1, 1, 5, 0.5f, 2};
static const struct {
    uint16_t start, end;
    int64_t steps;
    uint16_t step;
    int64_t half;
} b16_space = {0xbf80, 0x3f80, 5, 0x3f00, 2};
static const struct {
    int64_t start, end, steps;
    float step;
    int64_t half;
} i64_space = {0, 9, 4, 3, 2};
static const struct {
    float start, end, base;
    int64_t steps;
    float step;
    int64_t half;
} log_space = {0, 3, 10, 4, 1, 2};
static const float sums[2] = {0, 0.25f};
static const struct {
    const char *name;
    void *function;
    int32_t n;
    size_t bytes;
    const void *is;
} cases[] = {
    {FACTORY("17linspace_cuda_out", "ES6_l", "E0_clEvENKUlvE0"), (void *)&f32_space, 5, 20,
     (const float[]){-1, -0.5f, 0, 0.5f, 1}},
    {FACTORY("17linspace_cuda_out", "ES6_l", "E0_clEvENKUlvE4"), (void *)&b16_space, 5, 10,
     (const uint16_t[]){0xbf80, 0xbf00, 0, 0x3f00, 0x3f80}},
    {FACTORY("17linspace_cuda_out", "ES6_l", "E_clEvENKUlvE2"), (void *)&i64_space, 4, 32,
     (const int64_t[]){0, 3, 6, 9}},
    {FACTORY("17logspace_cuda_out", "ES6_ld", "E0_clEvENKUlvE0"), (void *)&log_space, 4, 16,
     (const float[]){1, 10, 100, 1000}},
    {FACTORY("15arange_cuda_out", "S6_S6_", "E_clEvENKUlvE5"), (void *)sums, 4, 16,
     (const float[]){0, 0.25f, 0.5f, 0.75f}},
};

/* linspace(-1, 1, 5) in FP32, BF16 and whole numbers; logspace(0, 3, 4); arange(0, ..., 0.25). */
START_TEST(numbers_are_generated)
{
    static const char stub[5];
    char *to, got[64], dirt[64];
    choose("h100");
    memset(dirt, 0x7b, sizeof dirt);
    OK(cudaMalloc((void **)&to, 64));
    for (size_t i = 0; i < 5; i++) {
        int32_t n = cases[i].n;
        void *args[] = {&n, cases[i].function, &to};
        OK(cudaMemcpy(to, dirt, sizeof dirt, cudaMemcpyHostToDevice));
        run_named(&stub[i], cases[i].name, args);
        OK(cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost));
        ck_assert_msg(memcmp(got, cases[i].is, cases[i].bytes) == 0, "case %zu", i);
        ck_assert_int_eq(got[cases[i].bytes], 0x7b);
    }
}
END_TEST

/* 0, 0, 2, 2, 2 for 2, 0 and 3 repeats. */
START_TEST(repeated_numbers_are_written)
{
    static const char repeat;
    choose("h100");
    int64_t repeats[6] = {2, 0, 3, 2, 2, 5}, n = 3, results = 5, is[5];
    char *to, *ends, *list;
    OK(cudaMalloc((void **)&to, 256));
    ends = to + 24;
    list = to + 64;
    OK(cudaMemcpy(to, repeats, sizeof repeats, cudaMemcpyHostToDevice));
    void *args[] = {&to, &ends, &list, &n, &results};
    run_named(&repeat, "_Z19compute_cuda_kernelIlEvPKT_PKlPS0_ll", args);
    OK(cudaMemcpy(is, list, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == 0 && is[1] == 0 && is[2] == 2 && is[3] == 2 && is[4] == 2);
}
END_TEST

/* Two columns and one of 8 bytes, each 2 rows, become rows of three. */
START_TEST(joined_tensors_are_written)
{
    static const char cat;
    choose("h100");
    enum { MOST = 64 };
    struct {
        char *of[MOST];
        uint32_t offset[MOST], size[MOST], elements[MOST];
        bool contiguous[MOST];
        uint32_t shapes[MOST][8];
    } in = {.offset = {0, 2}, .size = {2, 1}, .elements = {4, 2}, .contiguous = {true, true}};
    struct {
        uint32_t size[4], stride[4];
    } out = {{2, 3}, {3, 1}};
    int64_t left[4] = {1, 2, 3, 4}, right[2] = {8, 9}, is[6];
    int32_t dim = 1;
    uint32_t stride = 1;
    char *to;
    OK(cudaMalloc((void **)&to, 256));
    in.of[0] = to + 64;
    in.of[1] = to + 128;
    OK(cudaMemcpy(in.of[0], left, sizeof left, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(in.of[1], right, sizeof right, cudaMemcpyHostToDevice));
    void *args[] = {&to, &in, &out, &dim, &stride};
    name_kernel(&cat, "_ZN2at6native40_GLOBAL__N__f1f992fe_8_Shape_cu_49f7391c19CatArrayBatchedCopy"
                      "INS1_10OpaqueTypeILj8EEEjLi2ELi64ELi64EEEvPT_NS1_25CatArrInputTensorMetadata"
                      "IS5_T0_XT2_EXT3_EEENS1_16TensorSizeStrideIS8_Lj4EEEiS8_");
    OK(cudaLaunchKernel(&cat, (dim3){1, 2, 1}, (dim3){128, 1, 1}, args, 0, NULL));
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == 1 && is[1] == 2 && is[2] == 8 && is[3] == 3 && is[4] == 4 && is[5] == 9);
}
END_TEST

/* The inverse of a permutation; an index out of range ends it. */
START_TEST(scattered_integers_are_written)
{
    static const char scatter;
    choose("h100");
    struct {
        int32_t dims;
        uint32_t sizes[25][3], strides[25][3];
        char *index;
        int64_t size, how;
        char *to;
        int64_t stride, elements;
        char *from;
    } p = {.dims = 1, .size = 3, .stride = 1, .elements = 3};
    int64_t order[3] = {2, 0, 1}, count[3] = {0, 1, 2}, is[3];
    int32_t n = 3;
    char *to;
    OK(cudaMalloc((void **)&to, 256));
    p.sizes[0][0] = 3;
    p.strides[0][1] = p.strides[0][2] = 8;
    p.to = to;
    p.index = to + 64;
    p.from = to + 128;
    OK(cudaMemcpy(p.index, order, sizeof order, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(p.from, count, sizeof count, cudaMemcpyHostToDevice));
    void *args[] = {&n, &p};
    run_named(
        &scatter,
        "_ZN2at6native34_scatter_gather_elementwise_kernelILi128ELi8EZNS0_36_cuda_scatter_gather_"
        "internal_kernelILb1ENS0_10OpaqueTypeILi8EEElEclINS0_12TensorAssignEEEvRNS_14TensorIterator"
        "ElllRKT_EUliE_EEviT1_",
        args);
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == 1 && is[1] == 2 && is[2] == 0);
    order[0] = 3;
    OK(cudaMemcpy(p.index, order, sizeof order, cudaMemcpyHostToDevice));
    OK(cudaMemset(to, 0, sizeof is));
    OK(cudaLaunchKernel(&scatter, (dim3){1, 1, 1}, (dim3){128, 1, 1}, args, 0, NULL));
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == 0 && is[1] == 0);
}
END_TEST

/* A transposed tensor of 2 by 3 becomes one without gaps. */
START_TEST(strided_integers_are_copied)
{
    static const char copy;
    choose("h100");
    struct {
        int32_t dims;
        uint32_t sizes[25][3], strides[25][2];
        char *at[2];
    } p = {.dims = 2};
    int64_t x[6] = {0, 1, 2, 3, 4, 5}, is[6];
    int32_t n = 6;
    char *to;
    OK(cudaMalloc((void **)&to, 256));
    OK(cudaMemcpy(to + 128, x, sizeof x, cudaMemcpyHostToDevice));
    p.sizes[0][0] = 2;
    p.sizes[1][0] = 3;
    p.strides[0][0] = 8;
    p.strides[1][0] = 16;
    p.strides[0][1] = 24;
    p.strides[1][1] = 8;
    p.at[0] = to;
    p.at[1] = to + 128;
    void *args[] = {&n, &p};
    run_named(
        &copy,
        "_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastIZZZNS0_23"
        "direct_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_clEvENKUlvE2_clEvEUllE_EEvS"
        "4_RKT_EUliE_EEviT1_",
        args);
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == 0 && is[1] == 3 && is[2] == 1 && is[3] == 4 && is[4] == 2 && is[5] == 5);
}
END_TEST

/* A mask selects what is set; bytes that are no flags select nothing. */
START_TEST(masks_select)
{
    static const char counts, selects;
    choose("h100");
    int32_t n = 6, count[2];
    int64_t first = 0, is[3];
    char *to, *flags, *list, *length, state[32] = "", other[6] = {0, 1, 9};
    OK(cudaMalloc((void **)&to, 256));
    flags = to + 16;
    list = to + 64;
    length = to + 8;
    OK(cudaMemcpy(flags, "\0\1\0\0\1\1", 6, cudaMemcpyHostToDevice));
    void *of_count[] = {&flags, &to, &n, state, state, state};
    run_named(
        &counts,
        "_ZN14at_cuda_detail3cub6detail6reduce28DeviceReduceSingleTileKernelINS2_10policy_hub"
        "IiyN4cuda3std3__44plusIvEEE10Policy1000EN6thrust45THRUST_300001_SM_750NS18transform_"
        "iteratorIN2at6native43_GLOBAL__N__a_10_Nonzero_cu_cba1aaa09NonZeroOpIbEEPKbNSD_11use_"
        "defaultESM_EEPiyS9_iiNS7_10__identityEEEvT0_T1_T2_T3_T4_T6_",
        of_count);
    void *of_select[] = {&first, &flags, &list, &length, state, state, state, &n, state, state};
    run_named(
        &selects,
        "_ZN14at_cuda_detail3cub6detail6select23DeviceSelectSweepKernelINS2_10policy_hubIlbiLb"
        "0EEEN6thrust45THRUST_300001_SM_750NS17counting_iteratorIlNS9_11use_defaultESB_SB_EEN"
        "S9_18transform_iteratorIN2at6native43_GLOBAL__N__a_10_Nonzero_cu_cba1aaa09NonZeroOpIb"
        "EEPKbSB_SB_EEPlPiNS0_13ScanTileStateIiLb1EEEEEvT0_T1_T2_T3_T4_",
        of_select);
    OK(cudaMemcpy(&count[0], to, 4, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(&count[1], length, 4, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(is, list, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(count[0] == 3 && count[1] == 3 && is[0] == 1 && is[1] == 4 && is[2] == 5);
    OK(cudaMemcpy(flags, other, 6, cudaMemcpyHostToDevice));
    OK(cudaLaunchKernel(&counts, (dim3){1, 1, 1}, (dim3){128, 1, 1}, of_count, 0, NULL));
    OK(cudaMemcpy(&count[0], to, 4, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(count[0], 0);
}
END_TEST

/* tensor[[2, -1]]; an index out of range ends it. */
START_TEST(indexed_elements_are_copied)
{
    static const char by_index;
    choose("h100");
    struct {
        int32_t dims;
        uint32_t sizes[25][3], strides[25][3];
        char *to, *from;
        int64_t count;
        char *index[25];
        int64_t size[25], stride[25];
    } p = {.dims = 1, .count = 1, .size = {4}, .stride = {8}};
    int64_t x[4] = {10, 11, 12, 13}, is[2];
    int64_t index[2] = {2, -1}, n = 2;
    char *to;
    OK(cudaMalloc((void **)&to, 256));
    p.sizes[0][0] = 2;
    p.strides[0][0] = 8;
    p.strides[0][2] = 8;
    p.to = to;
    p.from = to + 64;
    p.index[0] = to + 128;
    OK(cudaMemcpy(p.from, x, sizeof x, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(p.index[0], index, sizeof index, cudaMemcpyHostToDevice));
    void *args[] = {&n, &p};
    run_named(
        &by_index,
        "_ZN2at6native24index_elementwise_kernelILi128ELi4EZNS0_16gpu_index_kernelIZNS0_17index_"
        "kernel_implINS0_10OpaqueTypeILi8EEEEEvRNS_18TensorIteratorBaseEN3c108ArrayRefIlEESA_E"
        "UlPcPKclE_EEvS7_SA_SA_RKT_bEUliE_EEvlT1_",
        args);
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == 12 && is[1] == 13);
    index[0] = 4;
    OK(cudaMemset(to, 0, sizeof is));
    OK(cudaMemcpy(p.index[0], index, sizeof index, cudaMemcpyHostToDevice));
    OK(cudaLaunchKernel(&by_index, (dim3){1, 1, 1}, (dim3){128, 1, 1}, args, 0, NULL));
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == 0 && is[1] == 0);
}
END_TEST

Suite *test_vgpu_integers_suite(void);

Suite *test_vgpu_integers_suite(void)
{
    Suite *s = suite_create("vgpu_integers");
    TCase *t = tcase_create("vgpu_integers");
    tcase_add_test(t, ranges_and_running_sums_are_written);
    tcase_add_test(t, numbers_are_generated);
    tcase_add_test(t, repeated_numbers_are_written);
    tcase_add_test(t, joined_tensors_are_written);
    tcase_add_test(t, scattered_integers_are_written);
    tcase_add_test(t, strided_integers_are_copied);
    tcase_add_test(t, masks_select);
    tcase_add_test(t, indexed_elements_are_copied);
    suite_add_tcase(s, t);
    return s;
}
