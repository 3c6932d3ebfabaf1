/* Integers and masks that PyTorch's kernels compute element by element and that a program reads
 * back. */
#include "tests/unit/vgpu_program.h"

#include <string.h>

#define VECTORIZED(functor, n)                                                                     \
    "_ZN2at6native29vectorized_elementwise_kernelILi8E" functor "St5arrayIPcLm" n "ELb0EEEviT0_"   \
    "T1_"

/* x > 5, x == y, x <= y, and masks of both; one value of which two checks are told holds
 * both. */
START_TEST(integers_are_compared)
{
    static const char greater, equal, less, both, inverse;
    choose("h100");
    struct {
        int32_t how;
        int64_t scalar;
    } than_five = {1, 5}, is_equal = {0, 0}, at_most = {2, 0};
    int64_t x[4] = {4, 5, 6, 7}, y[4] = {4, 0, 6, 1};
    int32_t n = 4;
    char *to, flags[20];
    OK(cudaMalloc((void **)&to, 256));
    OK(cudaMemset(to, 7, 256));
    OK(cudaMemcpy(to + 64, x, sizeof x, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(to + 96, y, sizeof y, cudaMemcpyHostToDevice));
    char *at[3] = {to, to + 64, to + 96};
    void *args[] = {&n, &than_five, at};
    run_named(&greater,
              VECTORIZED("ZNS0_21compare_scalar_kernelIlEEvRNS_18TensorIteratorBaseENS0_50_GLOBAL__"
                         "N__3_17_CompareKernels_cu_8f1b29aa6OpTypeET_EUllE_",
                         "2"),
              args);
    at[0] = to + 4;
    args[1] = &is_equal;
    run_named(&equal,
              VECTORIZED("NS0_13BinaryFunctorIllbNS0_51_GLOBAL__N__6_23_CompareEQKernel_cu_d8008c96"
                         "16CompareEqFunctorIlEEEE",
                         "3"),
              args);
    at[0] = to + 16;
    args[1] = &at_most;
    run_named(&less,
              "_ZN2at6native27unrolled_elementwise_kernelINS0_50_GLOBAL__N__3_17_CompareKernels_cu_"
              "8f1b29aa14CompareFunctorIlEESt5arrayIPcLm3EELi4E23TrivialOffsetCalculatorILi2EjES8_"
              "ILi1EjENS0_6memory15LoadWithoutCastENSB_16StoreWithoutCastEEEviT_T0_T2_T3_T4_T5_",
              args);
    at[0] = to + 8;
    at[1] = to;
    at[2] = to + 4;
    run_named(&both, VECTORIZED("NS0_13BinaryFunctorIbbbNS0_17BitwiseAndFunctorIbEEEE", "3"), args);
    at[0] = to + 12;
    run_named(&inverse,
              VECTORIZED("ZNS0_23bitwise_not_kernel_cudaERNS_18TensorIteratorBaseEEUlbE_", "2"),
              args);
    OK(cudaMemcpy(flags, to, sizeof flags, cudaMemcpyDeviceToHost));
    ck_assert_mem_eq(flags, "\0\0\1\1\1\0\1\0\0\0\1\0\1\1\0\0\1\0\1\0", 20);
}
END_TEST

/* x + 2 y */
START_TEST(integers_are_added)
{
    static const char add;
    choose("h100");
    int64_t x[4] = {4, 5, 6, 7}, y[4] = {4, 0, 6, 1}, twice = 2, sums[4];
    int32_t n = 4;
    char *to;
    OK(cudaMalloc((void **)&to, 256));
    OK(cudaMemcpy(to + 64, x, sizeof x, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(to + 96, y, sizeof y, cudaMemcpyHostToDevice));
    char *at[3] = {to + 128, to + 64, to + 96};
    void *args[] = {&n, &twice, at};
    run_named(&add, VECTORIZED("NS0_15CUDAFunctor_addIlEE", "3"), args);
    OK(cudaMemcpy(sums, to + 128, sizeof sums, cudaMemcpyDeviceToHost));
    ck_assert(sums[0] == 12 && sums[1] == 5 && sums[2] == 18 && sums[3] == 9);
}
END_TEST

#define WHERE(operands)                                                                            \
    "_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastIZZZNS0_49_"         \
    "GLOBAL__N__0_16_TensorCompare_cu_71e06f4e17where_kernel_implERNS_14TensorIteratorEEN"         \
    "KUlvE_clEvENKUlvE2_clEvE" operands "_EEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_"

/* where(): of PyTorch 2.14 at to + 72 and of 2.11 at to + 96, by the mask at to + 320. */
static void choose_by_mask(int32_t n, char *to)
{
    static const char choose_by, chose_by;
    struct {
        int32_t dims;
        uint32_t sizes[25][3], strides[25][4];
        char *at[4];
    } p = {.dims = 1, .at = {to + 72, to + 320, to + 256, to + 24}};
    uint32_t strides[4] = {8, 1, 8, 8};
    p.sizes[0][0] = 3;
    memcpy(p.strides[0], strides, sizeof strides);
    void *args[] = {&n, &p};
    run_named(&choose_by, WHERE("UlbmmE"), args);
    p.at[0] = to + 96;
    run_named(&chose_by, WHERE("UlbllE"), args);
}

/* where() of a few numbers moves them: of 4 bytes and of 2. */
START_TEST(numbers_are_chosen)
{
    static const char wide, narrow;
    choose("h100");
    float x[2] = {1.5f, 2.5f}, y[2] = {-1, -2}, is[2];
    uint16_t half[2];
    int32_t n = 2, none = 0;
    char *to;
    OK(cudaMalloc((void **)&to, 512));
    OK(cudaMemcpy(to + 64, "\0\1", 2, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(to + 128, x, sizeof x, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(to + 192, y, sizeof y, cudaMemcpyHostToDevice));
    char *at[4] = {to, to + 64, to + 128, to + 192};
    void *args[] = {&n, &none, at};
    run_named(&wide, VECTORIZED("ZZZNS0_a17where_kernel_implERNS_EUlbjjE_", "4"), args);
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == y[0] && is[1] == x[1]);
    run_named(&narrow, VECTORIZED("ZZZNS0_a17where_kernel_implERNS_EUlbttE_", "4"), args);
    OK(cudaMemcpy(half, to, sizeof half, cudaMemcpyDeviceToHost));
    ck_assert(half[0] == 0 && half[1] == 0x3fc0);
}
END_TEST

/* A mask beside integers of 8 bytes: cast as it is loaded, filled, chosen by; rounded down by 4. */
START_TEST(masks_and_integers_go_together)
{
    static const char both, fill, divide;
    choose("h100");
    enum { BOOL = 11, I64 = 4 };
    struct {
        int8_t types[2];
        uint32_t bytes[2];
    } load = {{I64, BOOL}, {8, 1}};
    struct {
        int8_t type;
        uint32_t bytes;
    } store = {I64, 8};
    int64_t x[3] = {1, 1, -5}, is[5][3], nine = 9, by[2] = {0, 4};
    int32_t n = 3, none = 0;
    char *to;
    OK(cudaMalloc((void **)&to, 512));
    OK(cudaMemcpy(to + 256, x, sizeof x, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(to + 320, "\1\0\1", 3, cudaMemcpyHostToDevice));
    char *at[3] = {to, to + 256, to + 320};
    void *args[] = {&n, &none, at, &none, &none, &load, &store};
    run_named(&both,
              "_ZN2at6native27unrolled_elementwise_kernelINS0_13BinaryFunctorIlllNS0_"
              "17BitwiseAndFunctorIlEEEESt5arrayIPcLm3EELi4E23TrivialOffsetCalculatorILi2EjES9_ILi1"
              "EjENS0_6memory12LoadWithCastILi2EEENSC_13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_",
              args);
    at[0] = to + 24;
    args[1] = &nine;
    run_named(&fill,
              VECTORIZED("ZZZNS0_44_GLOBAL__N__b_11_Indexing_cu_89862edb18masked_fill_kernelERNS_14"
                         "TensorIteratorERKN3c106ScalarEENKUlvE_clEvENKUlvE2_clEvEUllbE_",
                         "3"),
              args);
    at[0] = to + 48;
    args[1] = by;
    run_named(&divide,
              VECTORIZED("NS0_13BUnaryFunctorIlllZZZNS0_15binary_internal21div_floor_kernel_cudaER"
                         "NS_18TensorIteratorBaseEENKUlvE_clEvENKUlvE2_clEvEUlllE_EE",
                         "2"),
              args);
    choose_by_mask(n, to);
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0][0] == 1 && is[0][1] == 0 && is[0][2] == 1);
    ck_assert(is[1][0] == 9 && is[1][1] == 1 && is[1][2] == 9);
    ck_assert(is[2][0] == 0 && is[2][1] == 0 && is[2][2] == -2);
    ck_assert(is[3][0] == 1 && is[3][1] == 1 && is[3][2] == -5);
    ck_assert_mem_eq(is[4], is[3], sizeof is[3]);
}
END_TEST

#define CONVERTING "ZNS0_27converting_copy_kernel_cudaI"

/* To integers and numbers of 8 bytes, as PyTorch does since 2.15. */
START_TEST(flags_and_ints_are_converted)
{
    static const char flags, ints, by_offsets, numbers;
    choose("h100");
    struct {
        int32_t dims;
        uint32_t sizes[25][3], strides[25][2];
        char *at[2];
    } p = {.dims = 1, .sizes = {{4}}, .strides = {{8, 2}}};
    int64_t is[3][4];
    double number[4];
    int32_t n = 4, none = 0, were[4] = {-5, 70000, 0, 9};
    char *to;
    OK(cudaMalloc((void **)&to, 512));
    OK(cudaMemcpy(to + 256, "\1\0\1\1\0\7\1\0", 8, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(to + 320, were, sizeof were, cudaMemcpyHostToDevice));
    char *at[2] = {to, to + 256};
    void *args[] = {&n, &none, at}, *strided[] = {&n, &p};
    run_named(&flags, VECTORIZED(CONVERTING "blEEvRNS_18TensorIteratorBaseEEUlbE_", "2"), args);
    at[0] = to + 32;
    at[1] = to + 320;
    run_named(&ints, VECTORIZED(CONVERTING "ilEEvRNS_18TensorIteratorBaseEEUliE_", "2"), args);
    p.at[0] = to + 64;
    p.at[1] = to + 256;
    run_named(
        &by_offsets,
        "_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastI" CONVERTING
        "blEEvRNS_18TensorIteratorBaseEEUlbE_EEvS5_RKT_EUliE_EEviT1_",
        strided);
    at[0] = to + 96;
    at[1] = to + 256;
    run_named(&numbers, VECTORIZED(CONVERTING "bdEEvRNS_18TensorIteratorBaseEEUlbE_", "2"), args);
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(number, to + 96, sizeof number, cudaMemcpyDeviceToHost));
    ck_assert(is[0][0] == 1 && is[0][1] == 0 && is[0][2] == 1 && is[0][3] == 1);
    ck_assert(is[1][0] == -5 && is[1][1] == 70000 && is[1][2] == 0 && is[1][3] == 9);
    ck_assert(is[2][0] == 1 && is[2][1] == 1 && is[2][2] == 0 && is[2][3] == 1);
    ck_assert(number[0] == 1 && number[1] == 0 && number[2] == 1 && number[3] == 1);
}
END_TEST

Suite *test_vgpu_elements_suite(void);

Suite *test_vgpu_elements_suite(void)
{
    Suite *s = suite_create("vgpu_elements");
    TCase *t = tcase_create("vgpu_elements");
    tcase_add_test(t, integers_are_compared);
    tcase_add_test(t, integers_are_added);
    tcase_add_test(t, masks_and_integers_go_together);
    tcase_add_test(t, numbers_are_chosen);
    tcase_add_test(t, flags_and_ints_are_converted);
    suite_add_tcase(s, t);
    return s;
}
