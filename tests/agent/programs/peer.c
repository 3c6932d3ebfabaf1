/* A second CUPTI client: a library that programs/gpu.cu loads, or that CUDA_INJECTION64_PATH names,
 * so that it is loaded before the agent. It asks for kernels, copies and runtime calls, and prints
 * what it got and which calls failed. GPUPROF_TEST_PEER_DOES contains words separated by commas: */
// clang-format off
/*   dlsym      finds its functions by dlsym, where nobody can see the calls; else they are linked
 *   subscribe  subscribes as well
 *   clock      registers a clock of its own, 3 times as fast and far off
 *   hold       never ends
 *   finalize   ends by cuptiFinalize
 *   cancel     begins and ends in threads that are cancelled: they get to the end of that
 */
// clang-format on
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cupti.h>

void peer_begin(void);
void peer_end(void);
void peer_report(void);
int InitializeInjection(void);

enum { BYTES = 4 << 20, BUFFERS = 4096, READS_US = 500000 };

static _Atomic(uint8_t *) given[BUFFERS];
static _Atomic long kernels, copies, calls, others, unknown, bad_times, failed;
static CUpti_SubscriberHandle subscriber;
static _Atomic uint64_t from, until; /* of the session, by its own clock */
static _Atomic int injected;

static int does(const char *word)
{
    const char *all = getenv("GPUPROF_TEST_PEER_DOES");
    return all && strstr(all, word) != NULL;
}

#define CALL(fn, ...)                                                                              \
    do {                                                                                           \
        __typeof__(&fn) f_ = fn;                                                                   \
        if (does("dlsym"))                                                                         \
            *(void **)&f_ = dlsym(dlopen("libcupti.so.13", RTLD_LAZY | RTLD_NOLOAD), #fn);         \
        if (f_(__VA_ARGS__) != CUPTI_SUCCESS)                                                      \
            failed++;                                                                              \
    } while (0)

static uint64_t own_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return ((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec) * 3 + 12345;
}

static uint64_t now(void)
{
    uint64_t ns = 0;
    if (does("clock"))
        return own_clock();
    CALL(cuptiGetTimestamp, &ns);
    return ns;
}

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *max)
{
    *buffer = malloc(BYTES);
    memset(*buffer, 0xa5, BYTES);
    *size = BYTES;
    *max = 0;
    for (int i = 0; i < BUFFERS; i++) {
        uint8_t *none = NULL;
        if (atomic_compare_exchange_strong(&given[i], &none, *buffer))
            return;
    }
}

static int is_mine(uint8_t *buffer)
{
    for (int i = 0; i < BUFFERS; i++) {
        uint8_t *this = buffer;
        if (atomic_compare_exchange_strong(&given[i], &this, NULL))
            return 1;
    }
    return 0;
}

static int is_out(void)
{
    for (int i = 0; i < BUFFERS; i++)
        if (given[i])
            return 1;
    return 0;
}

static void count(const CUpti_Activity *a)
{
    uint64_t start = 0, end = 0;
    memcpy(&start, (const char *)a + (a->kind == CUPTI_ACTIVITY_KIND_RUNTIME ? 8 : 16), 8);
    memcpy(&end, (const char *)a + (a->kind == CUPTI_ACTIVITY_KIND_RUNTIME ? 16 : 24), 8);
    kernels += a->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    copies += a->kind == CUPTI_ACTIVITY_KIND_MEMCPY;
    calls += a->kind == CUPTI_ACTIVITY_KIND_RUNTIME;
    if (a->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && a->kind != CUPTI_ACTIVITY_KIND_MEMCPY &&
        a->kind != CUPTI_ACTIVITY_KIND_RUNTIME)
        others++;
    else if (end < start || start < from || (until && end > until))
        bad_times++;
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                              size_t valid)
{
    CUpti_Activity *a = NULL;
    (void)context, (void)stream, (void)size;
    if (!is_mine(buffer)) {
        unknown++;
        return;
    }
    while (cuptiActivityGetNextRecord(buffer, valid, &a) == CUPTI_SUCCESS)
        count(a);
    free(buffer);
}

static void CUPTIAPI callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                              const void *data)
{
    (void)user, (void)domain, (void)id, (void)data;
}

static void begin(void)
{
    until = 0;
    if (does("subscribe"))
        CALL(cuptiSubscribe, &subscriber, callback, NULL);
    CALL(cuptiActivityRegisterCallbacks, request, complete);
    if (does("clock"))
        CALL(cuptiActivityRegisterTimestampCallback, own_clock);
    from = now();
    CALL(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    CALL(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_MEMCPY);
    CALL(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_RUNTIME);
}

static void take_back(void)
{
    if (does("kineto")) {
        usleep(READS_US);
        if (!is_out()) {
            kernels = copies = calls = 0;
            return;
        }
    }
    CALL(cuptiActivityFlushAll, 0);
}

static void end(void)
{
    if (does("kineto"))
        usleep(READS_US);
    until = now();
    CALL(cuptiActivityDisable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    CALL(cuptiActivityDisable, CUPTI_ACTIVITY_KIND_MEMCPY);
    CALL(cuptiActivityDisable, CUPTI_ACTIVITY_KIND_RUNTIME);
    take_back();
    if (does("finalize"))
        CALL(cuptiFinalize);
    else if (subscriber)
        CALL(cuptiUnsubscribe, subscriber);
    subscriber = NULL;
}

static void *in_cancelled(void *what)
{
    pthread_cancel(pthread_self());
    (*(void (**)(void))what)();
    failed--;
    pthread_testcancel();
    return NULL;
}

static void run(void (*what)(void))
{
    pthread_t t;
    if (!does("cancel")) {
        what();
        return;
    }
    failed++; /* until it got to its end */
    if (pthread_create(&t, NULL, in_cancelled, (void *)&what) == 0)
        pthread_join(t, NULL);
}

void peer_begin(void)
{
    if (!injected)
        run(begin);
}

void peer_end(void)
{
    if (!does("hold"))
        run(end);
}

void peer_report(void)
{
    if (does("hold"))
        CALL(cuptiActivityFlushAll, 0);
    printf(
        "peer: kernels %ld copies %ld calls %ld others %ld unknown %ld bad times %ld failed %ld\n",
        kernels, copies, calls, others, unknown, bad_times, failed);
}

int InitializeInjection(void)
{
    peer_begin();
    injected = 1;
    return 1;
}
