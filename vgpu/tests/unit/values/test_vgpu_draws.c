/* Random indices that a program draws and reads back: they are in range. */
#include "tests/unit/vgpu_program.h"

START_TEST(random_integers_are_in_range)
{
    static const char draw;
    choose("h100");
    struct {
        char *to;
        int32_t stride;
        uint64_t range;
        int64_t base;
    } into = {.stride = 8, .range = 6, .base = 3};
    int64_t n = 100, is[101];
    char state[64] = "", function = 0;
    OK(cudaMalloc((void **)&into.to, sizeof is));
    OK(cudaMemset(into.to, 0x7f, sizeof is));
    void *args[] = {&n, state, &function, &into};
    run_named(&draw,
              "_ZN2at6native60_GLOBAL__N__ea_27_DistributionRandomKernel_cu_f88cee4443distribution_"
              "elementwise_grid_stride_kernelIjLi4EZZZNS0_9templates4cuda21random_from_to_kernelIPN"
              "S_17CUDAGeneratorImplEEEvRNS_18TensorIteratorBaseEmlT_ENKUlvE_clEvENKUlvE2_clEvEUlP2"
              "4curandStatePhilox4_32_10E0_ZNS1_27distribution_nullary_kernelIlj5uint4S7_SF_ZZZS5_E"
              "E",
              args);
    OK(cudaMemcpy(is, into.to, sizeof is, cudaMemcpyDeviceToHost));
    unsigned seen = 0;
    for (int i = 0; i < n; i++) {
        ck_assert(is[i] >= 3 && is[i] < 9);
        seen |= 1u << is[i];
    }
    ck_assert_uint_eq(seen, 0x1f8);
    ck_assert_int_eq(is[n], 0x7f7f7f7f7f7f7f7f);
}
END_TEST

START_TEST(a_permutation_has_each_number)
{
    static const char permute;
    choose("h100");
    int64_t is[4];
    int32_t n = 3, mask = 0;
    char *to, *keys;
    OK(cudaMalloc((void **)&to, 256));
    OK(cudaMemset(to, 0x7f, 256));
    keys = to + 128;
    void *args[] = {&keys, &to, &mask, &n};
    run_named(&permute,
              "_ZN44_GLOBAL__N__19e67faa_11_Randperm_cu_4012db6537randperm_handle_duplicate_keys_"
              "kernelIiN2at6native44_GLOBAL__N__19e67faa_11_Randperm_cu_4012db6510OpaqueTypeILi8EEE"
              "EEvPT_PT0_S6_iNS1_15PhiloxCudaStateE",
              args);
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == 0 && is[1] == 1 && is[2] == 2 && is[3] == 0x7f7f7f7f7f7f7f7f);
}
END_TEST

/* Two of each of three rows; their indices lie four apart. */
START_TEST(top_k_names_the_first)
{
    static const char top;
    choose("h100");
    struct {
        char *data;
        uint32_t size[25], stride[25];
        int32_t dims;
    } to = {.size = {3, 1}, .stride = {4, 1}, .dims = 2};
    int64_t is[12];
    uint32_t slice = 10, k = 2, slices = 3, one = 1;
    char largest = 1;
    OK(cudaMalloc((void **)&to.data, sizeof is));
    OK(cudaMemset(to.data, 0x7f, sizeof is));
    void *args[] = {&to, &slice, &k, &largest, &slices, &one, &to, &one, &to, &one};
    run_named(&top,
              "_ZN2at6native6sbtopk10gatherTopKIfjLi2ELb0EEEvNS_4cuda6detail10TensorInfoIKT_T0_EES8"
              "_S8_bS8_S8_NS5_IS6_S8_EES8_NS5_IlS8_EES8_PS6_",
              args);
    OK(cudaMemcpy(is, to.data, sizeof is, cudaMemcpyDeviceToHost));
    for (int row = 0; row < 3; row++)
        ck_assert(is[4 * row] == 0 && is[4 * row + 1] == 1 && is[4 * row + 2] > 1);
}
END_TEST

Suite *test_vgpu_draws_suite(void);

Suite *test_vgpu_draws_suite(void)
{
    Suite *s = suite_create("vgpu_draws");
    TCase *t = tcase_create("vgpu_draws");
    tcase_add_test(t, random_integers_are_in_range);
    tcase_add_test(t, a_permutation_has_each_number);
    tcase_add_test(t, top_k_names_the_first);
    suite_add_tcase(s, t);
    return s;
}
