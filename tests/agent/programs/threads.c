/* threads ROUNDS [LIBRARY] [exit]: threads that start and end, all of them at work. Each marks
 * ranges and steps, reports a collective, copies, waits for its stream and reads what other threads
 * have registered, while another CUPTI client (GPUPROF_TEST_PEER) starts and stops; with one round,
 * each thread does all of this once. Meanwhile a forked child marks a range, and LIBRARY, which
 * contains a copy of NVTX, is opened, used and closed again. With `exit` one thread then ends the
 * process while the others work. GPUPROF_TEST_MORE is a number of further ranges in each loop.
 * Under ThreadSanitizer this tests the agent's thread, rings, string table and window; otherwise it
 * tests that nothing is lost. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include "agent/gpuprof.h"

enum { THREADS = 6, LOOPS = 40, BYTES = 4096 };

static _Atomic int failed;
static int further;
static nvtxDomainHandle_t domain, nccl;

/* As NCCL tells of a collective: all threads on two communicators. */
static void collective(int i)
{
    const struct {
        uint64_t comm, bytes;
        int32_t op, unused;
    } all_reduce = {0xabc000 + (uint64_t)(i % 2), BYTES, 0, 0};
    const struct {
        uint64_t schema, size;
        const void *data;
    } payload = {16777216 + 5, sizeof all_reduce, &all_reduce};
    nvtxEventAttributes_t a = {.version = NVTX_VERSION,
                               .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                               .messageType = NVTX_MESSAGE_TYPE_ASCII,
                               .message.ascii = "ncclAllReduce",
                               .payloadType = (int32_t)0xDFBD0009,
                               .reserved0 = 1};
    a.payload.ullValue = (uint64_t)(uintptr_t)&payload;
    nvtxDomainRangePushEx(nccl, &a);
    nvtxDomainRangePop(nccl);
}

static void *work(void *arg)
{
    static _Atomic(nvtxStringHandle_t) shared;
    char name[64], *host = calloc(1, BYTES);
    void *device = NULL;
    cudaStream_t stream = NULL;
    failed |= cudaMalloc(&device, BYTES) != cudaSuccess || cudaStreamCreate(&stream) != cudaSuccess;
    for (int i = 0; i < LOOPS && !failed; i++) {
        snprintf(name, sizeof name, "work %d of %ld", i, (long)(intptr_t)arg);
        gpuprof_step_begin();
        nvtxRangePushA(name);
        nvtxRangeId_t id = nvtxRangeStartA("started");
        nvtxEventAttributes_t a = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_REGISTERED};
        a.message.registered = atomic_load(&shared);
        if (!a.message.registered)
            a.message.registered = nvtxDomainRegisterStringA(domain, "shared");
        atomic_store(&shared, a.message.registered);
        nvtxDomainRangePushEx(domain, &a);
        failed |=
            cudaMemcpyAsync(device, host, BYTES, cudaMemcpyHostToDevice, stream) != cudaSuccess;
        failed |= cudaStreamSynchronize(stream) != cudaSuccess;
        nvtxDomainRangePop(domain);
        for (int k = 0; k < further; k++) {
            nvtxRangePushA("more");
            nvtxRangePop();
        }
        collective(i);
        nvtxRangeEnd(id);
        nvtxRangePop();
        gpuprof_step_end();
    }
    cudaStreamDestroy(stream);
    cudaFree(device);
    free(host);
    return NULL;
}

/* One more range, by a child of a process with many threads. */
static void fork_one(void)
{
    int status = 1;
    pid_t pid = fork();
    if (pid == 0) {
        nvtxRangePushA("child");
        nvtxRangePop();
        _exit(0);
    }
    failed |= pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
}

/* Ten ranges of a library that then goes. */
static void open_and_close(const char *path)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void (*more)(void) = NULL;
    if (lib)
        *(void **)&more = dlsym(lib, "more");
    if (more)
        more();
    failed |= !more || dlclose(lib) != 0;
}

static void *work_on(void *arg)
{
    while (!failed)
        work(arg);
    return NULL;
}

static void *work_and_exit(void *arg)
{
    work(arg);
    printf("%s\n", failed ? "failed" : "done");
    exit(failed);
    return NULL;
}

static void end_by_thread(void)
{
    pthread_t t;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&t, NULL, i ? work_on : work_and_exit, (void *)(intptr_t)i) != 0)
            exit(2);
    pthread_join(t, NULL);
}

static void peer(const char *what)
{
    const char *path = getenv("GPUPROF_TEST_PEER");
    void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void (*call)(void) = NULL;
    if (lib)
        *(void **)&call = dlsym(lib, what);
    if (call)
        call();
}

int main(int argc, char **argv)
{
    const char *text = getenv("GPUPROF_TEST_MORE");
    further = text ? atoi(text) : 0;
    int rounds = argc > 1 ? atoi(argv[1]) : 4;
    const char *library = argc > 2 ? argv[2] : "";
    domain = nvtxDomainCreateA("threads");
    nccl = nvtxDomainCreateA("NCCL");
    for (int r = 0; r < rounds; r++) {
        pthread_t t[THREADS];
        if (rounds == 1)
            peer("peer_begin");
        for (int i = 0; i < THREADS; i++)
            if (pthread_create(&t[i], NULL, work, (void *)(intptr_t)(r * THREADS + i)) != 0)
                return 2;
        if (r % 2)
            peer("peer_begin");
        fork_one();
        if (*library)
            open_and_close(library);
        for (int i = 0; i < THREADS; i++)
            pthread_join(t[i], NULL);
        if (r % 2 || rounds == 1)
            peer("peer_end");
    }
    if (argc > 3)
        end_by_thread();
    printf("%s\n", failed ? "failed" : "done");
    return failed;
}
