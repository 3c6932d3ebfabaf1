/* What kernels of PyTorch and CUB leave in memory that a program reads back. */
#include "tests/unit/vgpu_program.h"

#include <stddef.h>
#include <string.h>

/* PyTorch's zeros() and full(): what is read back is no leftover. Other kernels write nothing. */
START_TEST(small_fills_of_pytorch_write)
{
    static const char fill_float, fill_half, add;
    choose("h100");
    double was[4] = {3, 3, 3, 3};
    float floats[8], value = 0.5f;
    unsigned short halves[16], half = 0x3c00;
    int n = 5;
    void *to;
    OK(cudaMalloc(&to, sizeof was));
    OK(cudaMemcpy(to, was, sizeof was, cudaMemcpyHostToDevice));
    void *args[] = {&n, &value, &to};
    run_named(&add,
              "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_"
              "addIfEESt5arrayIPcLm3EELb0EEEviT0_T1_",
              args);
    OK(cudaMemcpy(floats, to, sizeof floats, cudaMemcpyDeviceToHost));
    ck_assert_mem_eq(floats, was, sizeof was);
    run_named(&fill_float,
              "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_"
              "11FillFunctorIfEESt5arrayIPcLm1EELb0EEEviT0_T1_",
              args);
    OK(cudaMemcpy(floats, to, sizeof floats, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        ck_assert_float_eq(floats[i], value);
    ck_assert_mem_eq(floats + n, (float *)was + n, sizeof floats - 5 * sizeof *floats);
    args[1] = &half;
    n = 16;
    run_named(&fill_half,
              "_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_"
              "11FillFunctorIN3c104HalfEEESt5arrayIPcLm1EELb0EEEviT0_T1_",
              args);
    OK(cudaMemcpy(halves, to, sizeof halves, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        ck_assert_uint_eq(halves[i], half);
}
END_TEST

/* What a mask selects is counted, and the host allocates as much: that may be no odd number. */
START_TEST(counts_of_cub_are_written)
{
    static const char sum, init, sweep;
    choose("h100");
    int64_t was[2] = {-1, -1}, is[2];
    void *to;
    OK(cudaMalloc(&to, sizeof was));
    void *args[] = {&to, &to, &to, &to, NULL};
    OK(cudaMemcpy(to, was, sizeof was, cudaMemcpyHostToDevice));
    run_named(
        &sum,
        "_ZN14at_cuda_detail3cub6detail6reduce28DeviceReduceSingleTileKernelINS2_10policy_hubIiyN4"
        "cuda3std3__44plusIvEEE10Policy1000EPiSC_iS9_iiNS7_10__identityEEEvT0_T1_T2_T3_T4_T6_",
        args);
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == -((int64_t)1 << 32) && is[1] == -1); /* an int */
    run_named(
        &init,
        "_ZN14at_cuda_detail3cub6detail4scan23DeviceCompactInitKernelINS0_13ScanTileStateIiLb1EEEPl"
        "EEvT_iT0_",
        args);
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == 0 && is[1] == -1);
    run_named(
        &sweep,
        "_ZN14at_cuda_detail3cub6detail6select23DeviceSelectSweepKernelINS2_10policy_hubIlNS0_8"
        "NullTypeEiLb0ELNS0_10SelectImplE0EE10Policy1000EPKlPS5_PlS9_NS0_13ScanTileStateIiLb1EEES5_"
        "N4cuda3std3__48equal_toIvEEiNS2_19streaming_context_tIlLb1EEELS6_0EEEvT0_T1_T2_T3_T4_T5_"
        "T6_"
        "T7_iT8_NS1_7vsmem_tE",
        args);
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == 1 && is[1] == -1); /* equal values make one */
}
END_TEST

/* PyTorch's ReduceOp<float, ArgMaxOps, unsigned, long>, of a reduction over rows of two. */
struct reduce_op {
    int64_t operation;
    struct {
        float value;
        int64_t index;
    } identity;
    int32_t element, inputs, outputs, splits[8], width, height, threads, others[2];
    struct {
        int32_t dims;
        uint32_t sizes[25][3], strides[25];
    } input;
    struct {
        int32_t dims;
        uint32_t sizes[25][3], strides[25][2];
    } outputs_at;
    void *from, *to[2], *buffers[3];
    int64_t base;
};

/* Of rows of two, which lie behind `to`, to four results `stride` bytes apart. */
static struct reduce_op rows_of_two(char *to, size_t bytes, uint32_t stride)
{
    struct reduce_op op = {.element = 4,
                           .inputs = 2,
                           .outputs = 4,
                           .width = 2,
                           .height = 16,
                           .threads = 32,
                           .from = to + bytes,
                           .to = {to}};
    op.outputs_at.dims = 1;
    op.outputs_at.sizes[0][0] = 4;
    op.outputs_at.strides[0][0] = stride;
    return op;
}

/* argmax() gives an index, all() is true; what lies between their results stays. */
START_TEST(small_reductions_of_pytorch_write)
{
    static const char argmax, all, most;
    choose("h100");
    int64_t was[16], is[16];
    memset(was, 7, sizeof was);
    char *to;
    OK(cudaMalloc((void **)&to, 2 * sizeof was));
    OK(cudaMemcpy(to, was, sizeof was, cudaMemcpyHostToDevice));
    struct reduce_op op = rows_of_two(to, sizeof was, 16); /* every other element */
    void *args[] = {&op};
    run_named(&argmax,
              "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_"
              "9ArgMaxOpsIfEEjlLi4ELi4EEEEEvT1_",
              args);
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(is[i], i < 8 && i % 2 == 0 ? 0 : was[i]);
    op.outputs_at.strides[0][0] = 1;
    run_named(
        &all,
        "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIbNS0_14func_wrapper_tIbZZZNS0_15and_"
        "kernel_cudaERNS_14TensorIteratorEENKUlvE_clEvENKUlvE10_clEvEUlbbE_EEjbLi4ELi4EEEEEvT1_",
        args);
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(is[0], 0x01010101);
    op.outputs_at.strides[0][0] = 2;
    run_named(
        &most,
        "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIN3c108BFloat16ENS0_7MeanOpsIS4_ffS4_"
        "EEjS4_Li4ELi8EEEEEvT1_",
        args);
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(is[0], 0);
    ck_assert_int_eq(is[1], was[1]);
}
END_TEST

/* PyTorch leaves the strides that it does not need as its stack was: there may be an address. */
START_TEST(an_old_address_in_a_reduction_is_not_its_input)
{
    static const char argmax;
    choose("h100");
    int64_t was[16], is[16];
    memset(was, 7, sizeof was);
    char *to;
    OK(cudaMalloc((void **)&to, 2 * sizeof was));
    OK(cudaMemcpy(to, was, sizeof was, cudaMemcpyHostToDevice));
    struct reduce_op op = rows_of_two(to, sizeof was, 8);
    memcpy((char *)&op + offsetof(struct reduce_op, from) - sizeof to, &to, sizeof to);
    void *args[] = {&op};
    run_named(&argmax,
              "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_"
              "9ArgMaxOpsIfEEjlLi4ELi4EEEEEvT1_",
              args);
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(is[i], i < 4 ? 0 : was[i]);
}
END_TEST

/* max() of rows gives a value of 4 bytes and an index of 8 for each. */
START_TEST(indices_of_a_maximum_are_written)
{
    static const char max;
    choose("h100");
    int64_t was[8], is[8];
    memset(was, 7, sizeof was);
    char *to;
    OK(cudaMalloc((void **)&to, 2 * sizeof was));
    OK(cudaMemcpy(to, was, sizeof was, cudaMemcpyHostToDevice));
    struct reduce_op op = rows_of_two(to, sizeof was, 4);
    op.to[1] = to + 32;
    void *args[] = {&op};
    run_named(
        &max,
        "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_6MaxOpsIfEEjfLi4ELi4EEEEEvT1_",
        args);
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(is[i], i < 2 || i >= 4 ? 0 : was[i]);
}
END_TEST

/* Of four integers of 8 bytes, at to + 16. */
static struct reduce_op one_of_four(char *to)
{
    struct reduce_op op = {.element = 8,
                           .inputs = 4,
                           .outputs = 1,
                           .width = 4,
                           .height = 8,
                           .threads = 32,
                           .from = to + 16,
                           .to = {to, to + 8}};
    op.input.dims = 1;
    op.input.sizes[0][0] = 4;
    op.input.strides[0] = 8;
    return op;
}

/* The program copied lengths there; 1.0f and 2.0f, as one integer, is no length. */
START_TEST(integers_are_added_up)
{
    static const char most, sum, least_and_most;
    choose("h100");
    int64_t lengths[4] = {5, 9, 2, 7}, is[2];
    float others[2] = {1, 2};
    char *to;
    OK(cudaMalloc((void **)&to, 64));
    OK(cudaMemcpy(to + 16, lengths, sizeof lengths, cudaMemcpyHostToDevice));
    struct reduce_op op = one_of_four(to);
    void *args[] = {&op};
    run_named(&most,
              "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIlNS0_14func_wrapper_tIlNS0_"
              "13MaxNanFunctorIlEEEEjlLi4ELi4EEEEEvT1_",
              args);
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(is[0], 9);
    run_named(&sum,
              "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIlNS0_14func_wrapper_tIlZNS0_"
              "11sum_functorIlllEclERNS_14TensorIteratorEEUlllE_EEjlLi4ELi4EEEEEvT1_",
              args);
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(is[0], 23);
    run_named(
        &least_and_most,
        "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIlNS0_9MinMaxOpsIlliEEjlLi4ELi4EEEEEvT"
        "1_",
        args);
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == 2 && is[1] == 9);
    op.inputs = op.outputs = 2; /* by rows */
    op.input.sizes[0][0] = 2;
    op.outputs_at.dims = 1;
    op.outputs_at.sizes[0][0] = 2;
    op.outputs_at.strides[0][0] = 8;
    op.outputs_at.strides[0][1] = 16;
    OK(cudaLaunchKernel(&sum, (dim3){1, 1, 1}, (dim3){128, 1, 1}, args, 0, NULL));
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert(is[0] == 14 && is[1] == 9);
    OK(cudaMemcpy(to + 16, others, sizeof others, cudaMemcpyHostToDevice));
    OK(cudaLaunchKernel(&most, (dim3){1, 1, 1}, (dim3){128, 1, 1}, args, 0, NULL));
    OK(cudaMemcpy(is, to, sizeof is, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(is[0], 0);
}
END_TEST

/* Lengths as other integers and numbers, a flag of a number: what any() of one value is. */
START_TEST(a_few_values_are_cast)
{
    enum { I32 = 3, I64 = 4, F32 = 6, F64 = 7, BOOL = 11, COMPLEX = 9 };
    static const char name;
    choose("h100");
    struct cast {
        int8_t type;
        uint32_t bytes;
    } load = {I32, 4}, store = {I64, 8};
    int32_t n = 2, none = 0, was[2] = {-5, 70000}, flag = 0;
    int64_t wide[2];
    double numbers[2];
    char *to;
    OK(cudaMalloc((void **)&to, 1024));
    OK(cudaMemcpy(to, was, sizeof was, cudaMemcpyHostToDevice));
    char *at[2] = {to + 64, to};
    void *args[] = {&n, &none, at, &none, &none, &load, &store};
    run_named(&name,
              "_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_"
              "18TensorIteratorBaseEENKUlvE1_clEvENKUlvE5_clEvEUlfE_St5arrayIPcLm2EELi4E"
              "23TrivialOffsetCalculatorILi1EjESB_NS0_6memory12LoadWithCastILi1EEENSC_"
              "13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_",
              args);
    OK(cudaMemcpy(wide, to + 64, sizeof wide, cudaMemcpyDeviceToHost));
    ck_assert(wide[0] == -5 && wide[1] == 70000);
    load = (struct cast){I64, 8};
    store = (struct cast){F64, 8};
    at[0] = to + 128;
    at[1] = to + 64;
    OK(cudaLaunchKernel(&name, (dim3){1, 1, 1}, (dim3){128, 1, 1}, args, 0, NULL));
    OK(cudaMemcpy(numbers, to + 128, sizeof numbers, cudaMemcpyDeviceToHost));
    ck_assert(numbers[0] == -5 && numbers[1] == 70000);
    load = store;
    store = (struct cast){BOOL, 1};
    at[0] = (char *)memset(to, 0x7f, 64);
    at[1] = to + 128;
    n = 1;
    OK(cudaLaunchKernel(&name, (dim3){1, 1, 1}, (dim3){128, 1, 1}, args, 0, NULL));
    OK(cudaMemcpy(&flag, to, 4, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(flag, 0x7f7f7f01);
    load = (struct cast){COMPLEX, 8}; /* what it does not know stays */
    at[0] = to + 1;
    OK(cudaLaunchKernel(&name, (dim3){1, 1, 1}, (dim3){128, 1, 1}, args, 0, NULL));
    OK(cudaMemcpy(&flag, to, 4, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(flag, 0x7f7f7f01);
}
END_TEST

Suite *test_vgpu_results_suite(void);

Suite *test_vgpu_results_suite(void)
{
    Suite *s = suite_create("vgpu_results");
    TCase *t = tcase_create("vgpu_results");
    tcase_add_test(t, small_fills_of_pytorch_write);
    tcase_add_test(t, counts_of_cub_are_written);
    tcase_add_test(t, small_reductions_of_pytorch_write);
    tcase_add_test(t, an_old_address_in_a_reduction_is_not_its_input);
    tcase_add_test(t, indices_of_a_maximum_are_written);
    tcase_add_test(t, integers_are_added_up);
    tcase_add_test(t, a_few_values_are_cast);
    suite_add_tcase(s, t);
    return s;
}
