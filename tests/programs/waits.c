/* A program that waits for the GPU at known lines. Each line is marked with its name, which
 * waits.py looks up. It is built with and without frame pointers, debug information and a shared
 * runtime. Its argument is the number of steps. */
#include "agent/gpuprof.h"

#include <cuda_runtime.h>
#include <pthread.h>
#include <stdlib.h>

enum { BIG = 1 << 30, BATCH = 32 << 20, TIMES = 4 };
#define OWN    __attribute__((noinline))
#define BEHIND __asm__ volatile("") /* what is left by a jump is on no stack */

static char *device, *host;
static cudaEvent_t done;

static void work(cudaStream_t stream)
{
    for (int i = 0; i < TIMES; i++)
        cudaMemsetAsync(device, i, BIG, stream);
}

OWN void wait_for_stream(cudaStream_t stream)
{
    work(stream);
    cudaStreamSynchronize(stream); /* wait: stream */
    work(stream);
    cudaStreamSynchronize(stream); /* wait: again */
    BEHIND;
}

OWN void wait_for_event(void)
{
    work(0);
    cudaEventRecord(done, 0);
    cudaEventSynchronize(done); /* wait: event */
    BEHIND;
}

OWN void read_back(void)
{
    volatile char large[4096]; /* a frame of some size */
    large[0] = 1;
    cudaMemcpy(host, device, BATCH, cudaMemcpyDeviceToHost); /* wait: read */
    large[1] = large[0];
}

static inline void inlined(void)
{
    cudaDeviceSynchronize(); /* wait: inlined */
}

OWN void wait_for_device(int deeper)
{
    if (deeper > 0) {
        wait_for_device(deeper - 1);
        BEHIND;
        return;
    }
    work(0);
    inlined();
    BEHIND;
}

static void *other_thread(void *steps)
{
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    for (long i = 0; i < (long)steps; i++) {
        work(stream);
        cudaStreamSynchronize(stream); /* wait: thread */
    }
    cudaStreamDestroy(stream);
    return NULL;
}

int main(int argc, char **argv)
{
    long steps = argc > 1 ? atol(argv[1]) : 20;
    pthread_t other;
#ifdef OPENS /* a program that may load anything */
    if (!dlopen(NULL, RTLD_LAZY))
        return 2;
#endif
    host = malloc(BATCH);
    if (!host || cudaMalloc((void **)&device, BIG) != cudaSuccess ||
        cudaEventCreate(&done) != cudaSuccess ||
        pthread_create(&other, NULL, other_thread, (void *)steps) != 0)
        return 1;
    for (long i = 0; i < steps; i++) {
        gpuprof_step_begin();
        wait_for_stream(0);
        wait_for_event();
        read_back();
        wait_for_device(3);
        gpuprof_step_end();
    }
    pthread_join(other, NULL);
    printf("%ld steps\n", steps);
    return 7;
}
