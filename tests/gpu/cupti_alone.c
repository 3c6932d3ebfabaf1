/* CUPTI in a program without gpuprof: between cudaProfilerStart and cudaProfilerStop it records the
 * kinds of $CUPTI_ALONE ("10,5,4"), and throws the records away. What a program's steps cost more
 * is then CUPTI's own part. CUDA loads this by $CUDA_INJECTION64_PATH. */
#include <cupti.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { BYTES = 1 << 20, BUFFERS = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *spare[BUFFERS];
static int spares;

static void CUPTIAPI give(uint8_t **buffer, size_t *size, size_t *most)
{
    pthread_mutex_lock(&lock);
    *buffer = spares > 0 ? spare[--spares] : NULL;
    pthread_mutex_unlock(&lock);
    if (!*buffer)
        *buffer = aligned_alloc(64, BYTES);
    *size = *buffer ? BYTES : 0;
    *most = 0;
}

static void CUPTIAPI take(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                          size_t valid)
{
    (void)context, (void)stream, (void)size, (void)valid;
    pthread_mutex_lock(&lock);
    bool kept = spares < BUFFERS;
    if (kept)
        spare[spares++] = buffer;
    pthread_mutex_unlock(&lock);
    if (!kept)
        free(buffer);
}

static void turn(bool on)
{
    const char *p = getenv("CUPTI_ALONE");
    for (char *end = NULL; p && *p; p = *end ? end + 1 : end) {
        CUpti_ActivityKind kind = (CUpti_ActivityKind)strtol(p, &end, 10);
        if (on)
            cuptiActivityEnable(kind);
        else
            cuptiActivityDisable(kind);
    }
}

static void CUPTIAPI on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                             const void *data)
{
    const CUpti_CallbackData *call = data;
    (void)user, (void)domain;
    bool start = id == CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000;
    if ((call->callbackSite == CUPTI_API_EXIT) == start)
        turn(start);
}

int InitializeInjection(void);
__attribute__((visibility("default"))) int InitializeInjection(void)
{
    static const CUpti_CallbackId range[] = {CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000,
                                             CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000};
    CUpti_SubscriberHandle handle;
    cuptiActivityRegisterCallbacks(give, take);
    if (cuptiSubscribe(&handle, on_call, NULL) != CUPTI_SUCCESS)
        return 0;
    for (int i = 0; i < 2; i++)
        cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RUNTIME_API, range[i]);
    return 1;
}
