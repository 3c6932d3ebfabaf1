/* The results of PyTorch's checks of one value: they say that it is an ordinary positive number. */
#include "tests/unit/vgpu_program.h"

#include <math.h>
#include <string.h>

#define COMPARES(functor, types, n)                                                                \
    "_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_13" functor "I" types                    \
    "NS0_51_GLOBAL__N__a_23_CompareEQKernel_cu_b16CompareEqFunctorIfEEEESt5arrayIPcLm" n           \
    "ELb0EEEviT0_T1_"

/* x == x, x != x; abs(x) == inf, != inf: of one value, as isfinite() and isinf() ask; a
 * mask of bytes that are no flags. */
START_TEST(checks_of_one_value_are_written)
{
    static const char same, scalar, both;
    choose("h100");
    struct {
        int32_t how;
        float with;
    } functor = {0, (float)HUGE_VAL};
    int32_t n = 1;
    char *to, is[4];
    OK(cudaMalloc((void **)&to, 64));
    OK(cudaMemset(to, 7, 64));
    char *at[3] = {to, to + 16, to + 16};
    void *args[] = {&n, &functor, at};
    run_named(&same, COMPARES("BinaryFunctor", "ffb", "3"), args);
    at[0] = to + 1;
    functor.how = 1;
    OK(cudaLaunchKernel(&same, (dim3){1, 1, 1}, (dim3){128, 1, 1}, args, 0, NULL));
    at[0] = to + 2;
    run_named(&scalar, COMPARES("AUnaryFunctor", "ffb", "2"), args);
    at[0] = to + 3;
    functor.how = 0;
    OK(cudaLaunchKernel(&scalar, (dim3){1, 1, 1}, (dim3){128, 1, 1}, args, 0, NULL));
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == 1 && is[1] == 0 && is[2] == 1 && is[3] == 0);
    at[2] = to + 32; /* two values: nobody knows */
    at[0] = to + 4;
    OK(cudaLaunchKernel(&same, (dim3){1, 1, 1}, (dim3){128, 1, 1}, args, 0, NULL));
    at[0] = to + 5;
    run_named(&both,
              "_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_13BinaryFunctorIbbbNS0_"
              "17BitwiseAndFunctorIbEEEESt5arrayIPcLm3EELb0EEEviT0_T1_",
              args);
    at[0] = to + 6;
    n = 2; /* a mask, of bytes that are no flags */
    OK(cudaLaunchKernel(&both, (dim3){1, 1, 1}, (dim3){128, 1, 1}, args, 0, NULL));
    OK(cudaMemcpy(is, to + 4, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == 7 && is[1] == 0 && is[2] == 0 && is[3] == 0);
}
END_TEST

/* The same in BF16 and FP16, whose scalars are as wide as their numbers. */
START_TEST(halves_are_checked)
{
    static const char brain, half;
    choose("h100");
    struct {
        int32_t how;
        uint16_t with;
    } functor = {0, 0x7f80}, finite = {0, 0x7bff}; /* infinite; FP16's largest */
    int32_t n = 1;
    char *to, is[4];
    OK(cudaMalloc((void **)&to, 64));
    OK(cudaMemset(to, 7, 64));
    char *at[2] = {to, to + 16};
    void *args[] = {&n, &functor, at};
    run_named(&brain, COMPARES("AUnaryFunctor", "N3c108BFloat16ES4_b", "2"), args);
    at[0] = to + 1;
    functor.how = 1;
    functor.with = 0x7c00;
    run_named(&half, COMPARES("AUnaryFunctor", "N3c104HalfES4_b", "2"), args);
    at[0] = to + 2;
    args[1] = &finite;
    OK(cudaLaunchKernel(&half, (dim3){1, 1, 1}, (dim3){128, 1, 1}, args, 0, NULL));
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == 0 && is[1] == 1 && is[2] == 7);
}
END_TEST

/* x > 0, x > 2, x < 0, of one value. */
START_TEST(one_value_is_compared_with_numbers)
{
    static const char greater;
    choose("h100");
    struct {
        int32_t how;
        float with;
    } functor = {1, 0};
    int32_t n = 1;
    char *to, is[3];
    OK(cudaMalloc((void **)&to, 64));
    OK(cudaMemset(to, 7, 64));
    char *at[2] = {to, to + 16};
    void *args[] = {&n, &functor, at};
    run_named(
        &greater,
        "_ZN2at6native29vectorized_elementwise_kernelILi8EZNS0_21compare_scalar_kernelIfEEvRNS_"
        "18TensorIteratorBaseENS0_50_GLOBAL__N__30bf7ff7_17_CompareKernels_cu_8f1b29aa6OpTypeE"
        "T_EUlfE_St5arrayIPcLm2EELb0EEEviT0_T1_",
        args);
    functor.with = 2;
    at[0] = to + 1;
    OK(cudaLaunchKernel(&greater, (dim3){1, 1, 1}, (dim3){128, 1, 1}, args, 0, NULL));
    functor.with = 0;
    functor.how = 3; /* less */
    at[0] = to + 2;
    OK(cudaLaunchKernel(&greater, (dim3){1, 1, 1}, (dim3){128, 1, 1}, args, 0, NULL));
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == 1 && is[1] == 7 && is[2] == 0);
}
END_TEST

#define POWER(type)                                                                                \
    "_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_51_GLOBAL__N__a_12_PowKernel_cu_"       \
    "b29pow_tensor_scalar_kernel_implI" type type "EEvRNS_18TensorIteratorBaseET0_EUl" type        \
    "E_St5arrayIPcLm2EELb0EEEviS6_T1_"

/* The root at the end of a norm, and whether that is infinite, in FP64. */
START_TEST(a_function_of_one_number_is_0)
{
    static const char root, twice, infinite;
    choose("h100");
    struct {
        int64_t how;
        double with;
    } functor = {0, HUGE_VAL};
    int32_t n = 1;
    char *to, is[32];
    OK(cudaMalloc((void **)&to, 64));
    OK(cudaMemset(to, 7, 64));
    char *at[2] = {to, to + 32};
    void *args[] = {&n, &functor, at};
    run_named(&root, POWER("d"), args);
    at[0] = at[1] = to + 16; /* in place: it stays */
    run_named(&twice, POWER("f"), args);
    at[0] = to + 24;
    run_named(&infinite, COMPARES("AUnaryFunctor", "ddb", "2"), args);
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++)
        ck_assert(is[i] == 0 && is[8 + i] == 7 && is[16 + i] == 7);
    ck_assert(is[24] == 0 && is[25] == 7);
}
END_TEST

Suite *test_vgpu_checks_suite(void);

Suite *test_vgpu_checks_suite(void)
{
    Suite *s = suite_create("vgpu_checks");
    TCase *t = tcase_create("vgpu_checks");
    tcase_add_test(t, checks_of_one_value_are_written);
    tcase_add_test(t, halves_are_checked);
    tcase_add_test(t, one_value_is_compared_with_numbers);
    tcase_add_test(t, a_function_of_one_number_is_0);
    suite_add_tcase(s, t);
    return s;
}
