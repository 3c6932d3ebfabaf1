/* A CUPTI client inside a test of the virtual GPU: `seen` contains what was delivered to it. Each
 * test is a process of its own (Check forks). */
#ifndef GPUPROF_TESTS_VGPU_RECORDS_H
#define GPUPROF_TESTS_VGPU_RECORDS_H

#include <check.h>
#include <cuda_runtime_api.h>
#include <cupti.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void **__cudaRegisterFatBinary(void *fat);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, void *tid, void *bid, void *block, void *grid, int *warp);

#define OK(call)    ck_assert_int_eq(call, cudaSuccess)
#define CUPTI(call) ck_assert_int_eq(call, CUPTI_SUCCESS)

enum { BYTES = 1 << 16, MANY = 4096, HANDED = 64 };

static const char kernel;

/* What was delivered, in order. Needs seen_lock, because CUPTI's own thread delivers, too. */
static pthread_mutex_t seen_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    CUpti_ActivityKernel4 kernel[MANY];
    int kernels;
    CUpti_ActivityAPI api[MANY];
    int apis;
    int kinds[64], requests, given, completions, graph_kernels;
    size_t graphs;
} seen;
static bool refuse;
static uint8_t *last_request;
/* Keeps buffers reachable for leak checkers if another client loses them. */
static uint8_t *handed[HANDED];

static inline void request(uint8_t **buffer, size_t *size, size_t *max)
{
    pthread_mutex_lock(&seen_lock);
    seen.requests++;
    seen.given += !refuse;
    pthread_mutex_unlock(&seen_lock);
    *buffer = refuse ? NULL : aligned_alloc(64, BYTES);
    *size = refuse ? 0 : BYTES;
    *max = 0;
    last_request = handed[seen.requests % HANDED] = *buffer;
}

static inline void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid)
{
    CUpti_Activity *r = NULL;
    (void)context, (void)stream;
    ck_assert_uint_eq(size, BYTES);
    pthread_mutex_lock(&seen_lock);
    while (cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS) {
        seen.kinds[r->kind]++;
        if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && seen.kernels < MANY)
            memcpy(&seen.kernel[seen.kernels++], r, sizeof seen.kernel[0]);
        if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
            seen.graph_kernels += ((CUpti_ActivityKernel8 *)(void *)r)->graphId != 0;
        if (r->kind == CUPTI_ACTIVITY_KIND_RUNTIME && seen.apis < MANY)
            memcpy(&seen.api[seen.apis++], r, sizeof seen.api[0]);
    }
    seen.completions++;
    pthread_mutex_unlock(&seen_lock);
    free(buffer);
}

static inline void begin(const char *device, const CUpti_ActivityKind *kinds, int n)
{
    static void *fat;
    setenv("GPUPROF_VGPU", device, 1);
    __cudaRegisterFunction(__cudaRegisterFatBinary(&fat), &kernel, NULL, "_Z4workPf", -1, NULL,
                           NULL, NULL, NULL, NULL);
    CUPTI(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM));
    CUPTI(cuptiActivityRegisterCallbacks(request, complete));
    for (int i = 0; i < n; i++)
        CUPTI(cuptiActivityEnable(kinds[i]));
}

static const CUpti_ActivityKind usual[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION};
enum { USUAL = 5 };

static inline int launch(cudaStream_t s)
{
    return cudaLaunchKernel(&kernel, (dim3){1, 1, 1}, (dim3){256, 1, 1}, NULL, 0, s);
}

static inline void launch_many(int n)
{
    for (int i = 0; i < n; i++)
        OK(launch(NULL));
    OK(cudaDeviceSynchronize());
}

/* Flushes all complete buffers. CUPTI's own thread may just be delivering one, so it waits until
 * nothing more has come for a fifth of a second. */
static inline void settle(void)
{
    OK(cudaDeviceSynchronize());
    CUPTI(cuptiActivityFlushAll(0));
    int before = -1;
    for (int idle_ms = 0; idle_ms < 200; idle_ms++) {
        pthread_mutex_lock(&seen_lock);
        int now = seen.completions;
        bool all = now >= seen.given;
        pthread_mutex_unlock(&seen_lock);
        if (all)
            return;
        idle_ms = now == before ? idle_ms : 0;
        before = now;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

#endif
