/* The durations of PyTorch's kernels, from their names, grids and arguments. */
#include "core/core.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *test_vgpu_torch_suite(void);

static const char add[] =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5array"
    "IPcLm3EELb0EEEviT0_T1_";
static const char adam[] =
    "_ZN2at6native52_GLOBAL__N__1f580294_19_fused_adamw_impl_cu_8b44fa2325multi_tensor_apply_"
    "kernelINS1_32FusedOptimizerTensorListMetadataILi4EEENS1_20FusedAdamMathFunctorIfLi4E"
    "LNS0_9ADAM_MODEE1ELb0EEEJPKfdddddbS9_S9_EEEvT_T0_DpT1_";
static const char norm[] =
    "_ZN2at6native53_GLOBAL__N__4da244e1_20_layer_norm_kernel_cu_9c5ada8a28vectorized_layer_"
    "norm_kernelIffLb0EEEviT0_PKT_S6_S6_PS3_S7_PS4_";

static struct vg_profile device(void)
{
    struct vg_profile p;
    char why[256];
    ck_assert_msg(vg_profile_load("h100", &p, why, sizeof why) == 0, "%s", why);
    p.kernel_min_ns = 0;
    p.l2_share = 0; /* so that time is in proportion to bytes */
    return p;
}

static double bytes_of(const struct vg_profile *p, int64_t ns, double share)
{
    return (double)ns / 1e9 * p->memory_bytes_per_s * share;
}

static int64_t cost(const struct vg_profile *p, const char *name, unsigned blocks, unsigned threads,
                    void *const *args)
{
    const unsigned grid[3] = {blocks, 1, 1}, block[3] = {threads, 1, 1};
    return vg_cost_torch(p, name, grid, block, args);
}

START_TEST(tensors_and_width_are_in_the_name)
{
    struct vg_profile p = device();
    double bytes = bytes_of(&p, cost(&p, add, 100000, 128, NULL), p.pointwise_eff);
    ck_assert_double_eq_tol(bytes / (100000.0 * 128 * 8 * 3 * 4), 1, 0.001);
}
END_TEST

/* Both layouts of the argument: three tensors, of which two blocks take the first. */
START_TEST(lists_are_read_from_the_argument)
{
    static const struct {
        size_t tensors, blocks, index;
    } layouts[] = {{36, 320, 1}, {252, 2240, 2}};
    static const int64_t sizes[3] = {100000, 7, 65536};
    static const unsigned char which[4] = {0, 0, 1, 2};
    static const int chunk[4] = {0, 1, 0, 0};
    struct vg_profile p = device();
    for (int i = 0; i < 2; i++) {
        char *argument = calloc(1, 32768), *at = argument + 8 * layouts[i].tensors * 4;
        void *args[] = {argument};
        memcpy(at, sizes, sizeof sizes);
        at += 16 * layouts[i].tensors;
        for (int b = 0; b < 4; b++) {
            at[(size_t)b * layouts[i].index] = (char)which[b];
            memcpy(at + layouts[i].blocks * layouts[i].index + 4 * (size_t)b, &chunk[b], 4);
        }
        double bytes = bytes_of(&p, cost(&p, adam, 4, 512, args), p.optimizer_eff);
        ck_assert_double_eq_tol(bytes / ((100000 + 7 + 65536) * 7.0 * 4), 1, 0.01);
        free(argument);
    }
    ck_assert_int_gt(cost(&p, adam, 4, 512, NULL), 0);
}
END_TEST

START_TEST(rows_are_in_the_arguments)
{
    struct vg_profile p = device();
    int columns = 4096;
    float eps = 1;
    void *args[] = {&columns, &eps};
    double bytes = bytes_of(&p, cost(&p, norm, 1000, 128, args), p.pointwise_eff);
    double start = 1000.0 * 5500 * p.pointwise_eff; /* of a block for each row */
    ck_assert_double_eq_tol(bytes / (1000.0 * 4096 * 2 * 4 + start), 1, 0.01);
}
END_TEST

/* Recorded on an A100 and an H100: the rate of the memory is not what sets their pace. */
START_TEST(elements_taken_one_by_one_cost_more_than_their_bytes)
{
    static const char strided[] =
        "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl"
        "_nocastIZZZNS0_23direct_copy_kernel_cudaEUlN3c108BFloat16EE_EEvi",
                      cast[] =
                          "_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_25bfloat16_copy"
                          "_kernel_cudaEUlfE_St5arrayIPcLm2EEEEviT0_T1_",
                      softmax[] =
                          "_ZN2at6native12_GLOBAL__N_119cunn_SoftMaxForwardILi8EN3c108BFloat16"
                          "EfS4_EE_SoftMax_cu_";
    struct vg_profile p = device();
    double elements = 100000.0 * 128 * 4;
    ck_assert_double_eq_tol(bytes_of(&p, cost(&p, strided, 100000, 128, NULL), 1) / elements, 11.5,
                            0.1);
    ck_assert_double_eq_tol(
        bytes_of(&p, cost(&p, cast, 100000, 128, NULL), p.pointwise_eff) / elements, 6, 0.1);
    int columns = 5185; /* no whole vectors of eight */
    void *args[] = {NULL, NULL, &columns};
    double of_row = bytes_of(&p, cost(&p, softmax, 1000, 1024, args), 1) / 1000;
    ck_assert_double_eq_tol(of_row / 5185, 17, 0.1);
    columns = 5184;
    of_row = bytes_of(&p, cost(&p, softmax, 1000, 1024, args), 1) / 1000;
    ck_assert_double_eq_tol(of_row / 5184, 11, 0.1);
}
END_TEST

/* Eight by each thread, of which the names of some versions do not tell. */
START_TEST(elements_are_counted_by_the_argument)
{
#define OF(functor, more)                                                                          \
    "_ZN2at6native29vectorized_elementwise_kernelILi4E" functor "St5arrayIPcLm2E" more "EEviT0_"   \
    "T1_"
    static const char *const kernels[] = {OF("NS0_13AUnaryFunctorIfff", ""),
                                          OF("NS0_13AUnaryFunctorIfff", "ELb0"),
                                          OF("clamp_scalarEUlNS5_4HalfEE_", "")};
    struct vg_profile p = device();
    int n = 100000 * 128 * 8 - 77;
    void *args[] = {&n};
    for (int i = 0; i < 3; i++) {
        double each = i < 2 ? 4 : 2, share = i < 2 ? p.pointwise_eff : 0.8;
        double bytes = bytes_of(&p, cost(&p, kernels[i], 100000, 128, args), share);
        ck_assert_double_eq_tol(bytes / n, 2 * each, 0.1);
    }
#undef OF
}
END_TEST

/* Since PyTorch 2.15 all conversions have one kernel, whose name says both types. */
START_TEST(conversions_move_the_bytes_of_both_types)
{
#define OF(types)                                                                                  \
    "_ZN2at6native29vectorized_elementwise_kernelILi8EZNS0_27converting_copy_kernel_cudaI" types   \
    "EEvRNS_18TensorIteratorBaseEEUlfE_St5arrayIPcLm2EELb0EEEviT0_T1_"
    static const struct {
        const char *name;
        double bytes;
    } kernels[] = {{OF("fN3c108BFloat16E"), 6},
                   {OF("N3c104HalfEf"), 6},
                   {OF("N3c104HalfENS3_11Float8_e5m2E"), 3},
                   {OF("fN3c1014Float8_e8m0fnuE"), 5},
                   {OF("bl"), 9},
                   {OF("il"), 12}};
    struct vg_profile p = device();
    double elements = 100000.0 * 128 * 8;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        double share = kernels[i].bytes <= 4 ? 0.8 : p.pointwise_eff;
        double bytes = bytes_of(&p, cost(&p, kernels[i].name, 100000, 128, NULL), share);
        ck_assert_double_eq_tol(bytes / elements, kernels[i].bytes, 0.1);
    }
#undef OF
}
END_TEST

/* ReduceConfig behind the functor: element size, inputs and outputs, and the block as its mark. */
START_TEST(reductions_read_what_their_argument_says)
{
    static const char mean[] = "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfEEEEvT1_";
    struct vg_profile p = device();
    int32_t argument[80] = {0};
    void *args[] = {argument};
    int32_t config[13] = {2, 40960, 1000, [11] = 32, [12] = 4};
    const unsigned grid[3] = {1000, 1, 1}, block[3] = {32, 4, 1};
    memcpy(argument + 2, config, sizeof config);
    double bytes = bytes_of(&p, vg_cost_torch(&p, mean, grid, block, args), 0.6);
    ck_assert_double_eq_tol(bytes / (2.0 * 40960 * 1000), 1, 0.01);
    argument[2 + 11] = 64; /* not this block: a guess by threads */
    double guess = bytes_of(&p, vg_cost_torch(&p, mean, grid, block, args), 0.6);
    ck_assert_double_eq_tol(guess, bytes_of(&p, vg_cost_torch(&p, mean, grid, block, NULL), 0.6),
                            1);
    ck_assert_double_lt(guess, bytes / 2);
}
END_TEST

/* Sizes from the argument; without it (a graph's node) from grid and name. Causal is half. */
START_TEST(fused_attention_costs_its_products)
{
    static const char forward[] = "_Z39fmha_cutlassF_f16_aligned_64x64_rf_sm80N22PyTorchMemEff"
                                  "Attention15AttentionKernel",
                      backward[] = "_Z41fmha_cutlassB_f32_aligned_128x64_k128_sm80N22PyTorchMemEff"
                                   "Attention23AttentionBackwardKernel";
    struct vg_profile p = device();
    const unsigned grid[3] = {16, 12, 8}, block[3] = {32, 4, 1};
    const int32_t head = 64, queries = 1024, keys = 2048;
    char params[512] = {0};
    void *args[] = {params};
    memcpy(params + 96, &head, 4);
    memcpy(params + 104, &queries, 4);
    memcpy(params + 108, &keys, 4);
    double flops = 4.0 * 1024 * 2048 * 64 * 12 * 8;
    double ns = flops / (0.30 * p.fp16_flops) * 1e9 + (double)p.gemm_fixed_ns;
    ck_assert_double_eq_tol((double)vg_cost_torch(&p, forward, grid, block, args) / ns, 1, 0.001);
    params[116] = 1;
    ns = flops / 2 / (0.30 * p.fp16_flops) * 1e9 + (double)p.gemm_fixed_ns;
    ck_assert_double_eq_tol((double)vg_cost_torch(&p, forward, grid, block, args) / ns, 1, 0.001);
    flops = 10.0 * 1024 * 1024 * 128 * 12 * 8;
    ns = flops / (0.22 * p.tf32_flops / 3) * 1e9 + (double)p.gemm_fixed_ns;
    ck_assert_double_eq_tol((double)vg_cost_torch(&p, backward, grid, block, NULL) / ns, 1, 0.001);
}
END_TEST

START_TEST(other_kernels_are_left_to_the_table)
{
    struct vg_profile p = device();
    ck_assert_int_eq(cost(&p, "_Z17layer_norm_kernelIfEvPf", 10, 128, NULL), -1);
    ck_assert_int_eq(cost(&p, "_ZN2at6native14no_such_familyEv", 10, 128, NULL), -1);
    ck_assert_int_eq(cost(&p, "triton_poi_fused_add_0", 10, 128, NULL), -1);
}
END_TEST

Suite *test_vgpu_torch_suite(void)
{
    Suite *suite = suite_create("vgpu_torch");
    TCase *t = tcase_create("vgpu_torch");
    tcase_add_test(t, tensors_and_width_are_in_the_name);
    tcase_add_test(t, lists_are_read_from_the_argument);
    tcase_add_test(t, rows_are_in_the_arguments);
    tcase_add_test(t, elements_taken_one_by_one_cost_more_than_their_bytes);
    tcase_add_test(t, elements_are_counted_by_the_argument);
    tcase_add_test(t, conversions_move_the_bytes_of_both_types);
    tcase_add_test(t, reductions_read_what_their_argument_says);
    tcase_add_test(t, fused_attention_costs_its_products);
    tcase_add_test(t, other_kernels_are_left_to_the_table);
    suite_add_tcase(suite, t);
    return suite;
}
