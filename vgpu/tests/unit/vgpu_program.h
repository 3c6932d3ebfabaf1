/* A CUDA program inside a test of the virtual GPU: one kernel, registered as nvcc's code registers
 * it, and how to launch and time it. Each test is a process of its own (Check forks), so each
 * chooses its device by the environment. Durations are stretched until delays of this machine's
 * scheduler are small beside them. */
#ifndef GPUPROF_TESTS_VGPU_PROGRAM_H
#define GPUPROF_TESTS_VGPU_PROGRAM_H

#include <check.h>
#include <cuda_runtime_api.h>

#include <stdlib.h>
#include <time.h>

#define OK(call) ck_assert_int_eq(call, cudaSuccess)

void **__cudaRegisterFatBinary(void *fat);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, void *tid, void *bid, void *block, void *grid, int *warp);

/* Stands for `__global__ void work(...)` in nvcc's code: a host address that identifies the
 * kernel. */
static const char kernel;

static inline void name_kernel(const char *address, const char *name)
{
    static void *fat;
    __cudaRegisterFunction(__cudaRegisterFatBinary(&fat), address, NULL, name, -1, NULL, NULL, NULL,
                           NULL, NULL);
}

static inline void run_named(const char *address, const char *name, void **args)
{
    name_kernel(address, name);
    OK(cudaLaunchKernel(address, (dim3){1, 1, 1}, (dim3){128, 1, 1}, args, 0, NULL));
}

static inline void choose(const char *device)
{
    setenv("GPUPROF_VGPU", device, 1);
    name_kernel(&kernel, "_Z4workPf");
}

static inline double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static inline int launch(unsigned blocks, cudaStream_t s)
{
    return cudaLaunchKernel(&kernel, (dim3){blocks, 1, 1}, (dim3){1024, 1, 1}, NULL, 0, s);
}

static inline cudaStream_t stream(unsigned flags)
{
    cudaStream_t s;
    OK(cudaStreamCreateWithFlags(&s, flags));
    return s;
}

/* Tests end without freeing anything; what they allocated stays reachable here for leak
 * checkers. */
static void *kept[128];
static size_t kept_count;

static inline void *keep(void *made)
{
    ck_assert_uint_lt(kept_count, sizeof kept / sizeof *kept);
    return kept[kept_count++] = made;
}

static inline cudaEvent_t event(void)
{
    cudaEvent_t e;
    OK(cudaEventCreate(&e));
    return keep(e);
}

static inline cudaEvent_t mark(cudaStream_t s)
{
    cudaEvent_t e = event();
    OK(cudaEventRecord(e, s));
    return e;
}

static inline double between_ms(cudaEvent_t a, cudaEvent_t b)
{
    float ms;
    OK(cudaDeviceSynchronize());
    OK(cudaEventElapsedTime(&ms, a, b));
    return ms;
}

/* The length of one launch of `blocks`, measured behind another launch. It is the least of several,
 * because the device becomes idle if the host is delayed between the two. */
static inline double length_ms(unsigned blocks)
{
    cudaStream_t s = stream(cudaStreamNonBlocking);
    double least = 1e9;
    for (int i = 0; i < 3; i++) {
        OK(launch(blocks, s));
        cudaEvent_t a = mark(s);
        OK(launch(blocks, s));
        double ms = between_ms(a, mark(s));
        least = ms < least ? ms : least;
    }
    return least;
}

/* One-block kernels of about 18 ms, which leave most of the device free. */
#define SLOW   "h200,noise=0,scale=12000"
#define LONG   1
#define FULL   16384 /* fills the device */
#define PINNED 67108864

#endif
