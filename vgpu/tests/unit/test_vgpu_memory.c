/* What a CUDA program can observe of the virtual GPU's memory: which copies block the host, the
 * copy engines, data that is really moved, and what happens when memory is used up. */
#include "core/core_state.h"
#include "tests/unit/vgpu_program.h"

#include <string.h>

Suite *test_vgpu_memory_suite(void);

struct memory {
    char *device, *pinned, *pageable;
};

static struct memory memory(size_t bytes)
{
    struct memory m;
    OK(cudaMalloc((void **)&m.device, bytes * 2));
    OK(cudaMallocHost((void **)&m.pinned, bytes));
    m.pageable = keep(malloc(bytes));
    ck_assert_ptr_nonnull(m.pageable);
    return m;
}

START_TEST(pinned_copies_run_behind)
{
    choose("h200,noise=0,scale=20");
    struct memory m = memory(PINNED);
    cudaStream_t s = stream(cudaStreamNonBlocking);
    OK(cudaMemcpyAsync(m.device, m.pinned, PINNED, cudaMemcpyHostToDevice, s));
    ck_assert_int_eq(cudaStreamQuery(s), cudaErrorNotReady);
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpyAsync(m.pinned, m.device, PINNED, cudaMemcpyDeviceToHost, s));
    ck_assert_int_eq(cudaStreamQuery(s), cudaErrorNotReady);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(m.device, m.pinned, PINNED, cudaMemcpyHostToDevice));
    OK(cudaStreamQuery(NULL));
    OK(cudaMemcpy(m.pinned, m.device, PINNED, cudaMemcpyDeviceToHost));
    OK(cudaStreamQuery(NULL));
}
END_TEST

START_TEST(pageable_copies_hold_the_host)
{
    choose("h200,noise=0,scale=10");
    struct memory m = memory(PINNED);
    cudaStream_t s = stream(cudaStreamNonBlocking);
    cudaEvent_t a = mark(s);
    double t = now_ms();
    OK(cudaMemcpyAsync(m.device, m.pageable, PINNED, cudaMemcpyHostToDevice, s));
    double host_ms = now_ms() - t;
    double device_ms = between_ms(a, mark(s));
    ck_assert_double_ge(host_ms, 0.9 * device_ms);
    OK(cudaMemcpyAsync(m.pageable, m.device, PINNED, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamQuery(s)); /* returns only when it is complete */
}
END_TEST

START_TEST(small_pageable_copies_do_not)
{
    choose(SLOW);
    struct memory m = memory(65536);
    cudaStream_t s = stream(cudaStreamNonBlocking);
    OK(launch(LONG, s));
    OK(cudaMemcpyAsync(m.device, m.pageable, 65536, cudaMemcpyHostToDevice, s));
    ck_assert_int_eq(cudaStreamQuery(s), cudaErrorNotReady);
    OK(cudaDeviceSynchronize());
    OK(launch(LONG, NULL));
    OK(cudaMemcpy(m.device, m.pageable, 4, cudaMemcpyHostToDevice));
    ck_assert_int_eq(cudaStreamQuery(NULL), cudaErrorNotReady);
}
END_TEST

START_TEST(blocking_copies_wait_for_the_stream)
{
    choose("h200,noise=0,scale=1000");
    size_t bytes = 1 << 20;
    struct memory m = memory(bytes);
    OK(launch(FULL, NULL));
    cudaEvent_t e = mark(NULL);
    OK(cudaMemcpy(m.device, m.pageable, bytes, cudaMemcpyHostToDevice));
    OK(cudaEventQuery(e));
    OK(launch(FULL, NULL));
    e = mark(NULL);
    OK(cudaMemcpy(m.pageable, m.device, 4, cudaMemcpyDeviceToHost)); /* a loss.item() */
    OK(cudaEventQuery(e));
    OK(launch(FULL, NULL));
    OK(cudaMemcpy(m.device, m.device + bytes, bytes, cudaMemcpyDeviceToDevice)); /* never waits */
    ck_assert_int_eq(cudaStreamQuery(NULL), cudaErrorNotReady);
}
END_TEST

START_TEST(one_copy_engine_per_direction)
{
    choose("h200,noise=0,scale=20");
    struct memory m = memory(PINNED);
    cudaStream_t s = stream(cudaStreamNonBlocking), t = stream(cudaStreamNonBlocking);
    cudaEvent_t a = mark(s);
    OK(cudaMemcpyAsync(m.device, m.pinned, PINNED, cudaMemcpyHostToDevice, s));
    double one = between_ms(a, mark(s));
    a = mark(s);
    OK(cudaMemcpyAsync(m.device, m.pinned, PINNED, cudaMemcpyHostToDevice, s));
    OK(cudaMemcpyAsync(m.pinned, m.device + PINNED, PINNED, cudaMemcpyDeviceToHost, t));
    ck_assert_double_lt(between_ms(a, mark(t)), 1.5 * one);
    a = mark(s);
    OK(cudaMemcpyAsync(m.device, m.pinned, PINNED, cudaMemcpyHostToDevice, s));
    OK(cudaMemcpyAsync(m.device + PINNED, m.pinned, PINNED, cudaMemcpyHostToDevice, t));
    ck_assert_double_ge(between_ms(a, mark(t)), 1.9 * one);
}
END_TEST

START_TEST(small_data_really_moves)
{
    choose("t4");
    int in[64], out[64] = {0};
    int *device;
    for (int i = 0; i < 64; i++)
        in[i] = i * 7;
    OK(cudaMalloc((void **)&device, sizeof in));
    OK(cudaMemcpy(device, in, sizeof in, cudaMemcpyHostToDevice));
    OK(cudaMemset(device + 32, 0, sizeof in / 2));
    OK(cudaMemcpy(out, device, sizeof out, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(out[31], 31 * 7);
    ck_assert_int_eq(out[32], 0);
    ck_assert_int_eq(cudaMemcpy(in, out, sizeof in, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    /* what was never allocated is refused, and a program that does not look goes on */
    ck_assert_int_eq(cudaMemcpy(device, NULL, sizeof in, cudaMemcpyDefault), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaMemcpy(NULL, in, sizeof in, cudaMemcpyDefault), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaMemcpy(device, NULL, 0, cudaMemcpyDefault), cudaSuccess);
}
END_TEST

enum { LARGE = 4 << 20 };

/* What a program put into device memory, whatever its size up to 16 MB, is there for it to read. */
START_TEST(large_data_moves_once)
{
    choose("t4,scale=0.01");
    struct memory m = memory(LARGE);
    char *back = keep(malloc(LARGE));
    memset(m.pageable, 1, LARGE);
    memset(m.pinned, 2, LARGE);
    OK(cudaMemcpy(m.device, m.pageable, LARGE, cudaMemcpyHostToDevice));
    OK(cudaMemcpyAsync(m.device + LARGE, m.pinned, LARGE, cudaMemcpyHostToDevice, NULL));
    OK(cudaMemcpy(back, m.device, LARGE, cudaMemcpyDeviceToHost));
    ck_assert_mem_eq(back, m.pageable, LARGE);
    OK(cudaMemcpy(back, m.device + LARGE, LARGE, cudaMemcpyDeviceToHost));
    ck_assert_mem_eq(back, m.pinned, LARGE);
    memset(m.pinned, 3, LARGE); /* the batch of a later step: it costs the host nothing */
    OK(cudaMemcpyAsync(m.device + LARGE, m.pinned, LARGE, cudaMemcpyHostToDevice, NULL));
    OK(cudaMemcpy(back, m.device + LARGE, LARGE, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(back[LARGE - 1], 2);
    memset(m.pageable, 4, LARGE / 4); /* here the host waits anyway */
    OK(cudaMemcpy(m.device, m.pageable, LARGE / 4, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(back, m.device, LARGE, cudaMemcpyDeviceToHost));
    ck_assert_mem_eq(back, m.pageable, LARGE);
}
END_TEST

START_TEST(large_data_moves_on_the_device)
{
    choose("t4,scale=0.01");
    struct memory m = memory(LARGE);
    char *back = keep(malloc(LARGE)), *zeros = keep(calloc(1, LARGE)), *ones;
    memset(m.pageable, 7, LARGE);
    OK(cudaMemcpy(m.device, m.pageable, LARGE, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(m.device + LARGE, m.device, LARGE, cudaMemcpyDeviceToDevice));
    OK(cudaMemset(m.device + 100, 0, LARGE - 200));
    OK(cudaMemcpy(back, m.device, LARGE, cudaMemcpyDeviceToHost));
    ck_assert_mem_eq(back, m.pageable, 100);
    ck_assert_mem_eq(back + 100, zeros, LARGE - 200);
    ck_assert_mem_eq(back + LARGE - 100, m.pageable, 100);
    OK(cudaMemcpy(back, m.device + LARGE, LARGE, cudaMemcpyDeviceToHost));
    ck_assert_mem_eq(back, m.pageable, LARGE);
    OK(cudaMalloc((void **)&ones, LARGE));
    OK(cudaMemset(ones, 1, LARGE));
    OK(cudaMemcpy(back, ones, LARGE, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(back[LARGE - 1], 1);
    OK(cudaMemcpy2D(ones, 4096, m.device + LARGE, 4096, 2048, LARGE / 4096,
                    cudaMemcpyDeviceToDevice)); /* not the first: nothing moves */
    OK(cudaMemcpy(back, ones, LARGE, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(back[0], 1);
}
END_TEST

START_TEST(memory_is_finite)
{
    choose("t4");
    size_t before, after, total;
    char *a, *b;
    OK(cudaMemGetInfo(&before, &total));
    ck_assert_uint_gt(total, (size_t)14 << 30);
    OK(cudaMalloc((void **)&a, total / 2));
    OK(cudaMemGetInfo(&after, &total));
    ck_assert_uint_eq(before - after, (total / 2 + 511) / 512 * 512);
    ck_assert_int_eq(cudaMalloc((void **)&b, total / 2 + 4096), cudaErrorMemoryAllocation);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorMemoryAllocation);
    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
    OK(cudaFree(a));
    OK(cudaMalloc((void **)&b, total / 2 + 4096));
    ck_assert_int_eq(cudaFree(b + 512), cudaErrorInvalidValue);
    struct cudaPointerAttributes at;
    OK(cudaPointerGetAttributes(&at, b + 100));
    ck_assert_int_eq(at.type, cudaMemoryTypeDevice);
    OK(cudaPointerGetAttributes(&at, &at));
    ck_assert_int_eq(at.type, cudaMemoryTypeUnregistered);
}
END_TEST

/* A driver maps free pages wherever they lie. */
START_TEST(free_memory_in_pieces_is_one_allocation)
{
    choose("t4");
    size_t room, total;
    char *piece[8], *whole;
    OK(cudaMemGetInfo(&room, &total));
    for (int i = 0; i < 8; i++)
        OK(cudaMalloc((void **)&piece[i], total / 8));
    for (int i = 0; i < 8; i += 2)
        OK(cudaFree(piece[i]));
    OK(cudaMalloc((void **)&whole, total / 2));
    char in[] = "the last bytes", out[sizeof in];
    OK(cudaMemcpy(whole + total / 2 - sizeof in, in, sizeof in, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(out, whole + total / 2 - sizeof in, sizeof in, cudaMemcpyDeviceToHost));
    ck_assert_str_eq(out, in);
    char *more;
    ck_assert_int_eq(cudaMalloc((void **)&more, 1 << 20), cudaErrorMemoryAllocation);
}
END_TEST

START_TEST(free_drains_the_device)
{
    choose(SLOW);
    char *a;
    cudaStream_t s = stream(cudaStreamNonBlocking);
    OK(cudaMalloc((void **)&a, 1 << 20));
    OK(launch(LONG, s));
    OK(cudaFree(a));
    OK(cudaStreamQuery(s));
    OK(cudaMallocAsync((void **)&a, 1 << 20, s));
    OK(launch(LONG, s));
    OK(cudaFreeAsync(a, s));
    ck_assert_int_eq(cudaStreamQuery(s), cudaErrorNotReady);
}
END_TEST

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext,
                              size_t size, int constant, int global);

/* The driver maps memory in blocks; what fits into one that is there costs little. */
START_TEST(small_allocations_share_a_block)
{
    choose("a100-80,noise=0,connect=0");
    void *first, *large, *small;
    OK(cudaMalloc(&first, 4));
    const int64_t mapped = (int64_t)vg_profile(0)->malloc_ns;
    ck_assert_int_lt(vg_malloc_host_ns(first), mapped / 10); /* its block is there by now */
    OK(cudaMalloc(&large, 64 << 20));
    ck_assert_int_eq(vg_malloc_host_ns(large), mapped);
    double before = now_ms();
    for (int i = 0; i < 20; i++) {
        OK(cudaMalloc(&small, 4));
        OK(cudaFree(small));
    }
    double took = now_ms() - before;
    before = now_ms();
    for (int i = 0; i < 20; i++) {
        OK(cudaMalloc(&large, 64 << 20));
        OK(cudaFree(large));
    }
    ck_assert_double_gt(now_ms() - before, 5 * took);
    ck_assert_int_eq(vg_free_host_ns(large), (int64_t)vg_profile(0)->free_ns);
}
END_TEST

START_TEST(managed_variables_have_an_address)
{
    static void *fat;
    int *variable, value = 3;
    void *address;
    size_t bytes;
    choose("t4");
    __cudaRegisterManagedVar(__cudaRegisterFatBinary(&fat), (void **)&variable, NULL, "counts", 0,
                             8 * sizeof *variable, 0, 0);
    variable[7] = 5;
    OK(cudaGetSymbolAddress(&address, variable));
    ck_assert_ptr_eq(address, variable);
    OK(cudaGetSymbolSize(&bytes, variable));
    ck_assert_uint_eq(bytes, 8 * sizeof *variable);
    OK(cudaMemcpyToSymbol(variable, &value, sizeof value, 0, cudaMemcpyHostToDevice));
    ck_assert_int_eq(variable[0], 3);
}
END_TEST

Suite *test_vgpu_memory_suite(void)
{
    Suite *suite = suite_create("vgpu_memory");
    TCase *t = tcase_create("vgpu_memory");
    tcase_add_test(t, pinned_copies_run_behind);
    tcase_add_test(t, pageable_copies_hold_the_host);
    tcase_add_test(t, small_pageable_copies_do_not);
    tcase_add_test(t, blocking_copies_wait_for_the_stream);
    tcase_add_test(t, one_copy_engine_per_direction);
    tcase_add_test(t, small_data_really_moves);
    tcase_add_test(t, large_data_moves_once);
    tcase_add_test(t, large_data_moves_on_the_device);
    tcase_add_test(t, small_allocations_share_a_block);
    tcase_add_test(t, managed_variables_have_an_address);
    tcase_add_test(t, memory_is_finite);
    tcase_add_test(t, free_memory_in_pieces_is_one_allocation);
    tcase_add_test(t, free_drains_the_device);
    suite_add_tcase(suite, t);
    return suite;
}
