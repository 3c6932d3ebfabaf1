/* The virtual GPU's CUPTI: records complete and joined, work that runs kept back, layouts of
 * several releases, and each misbehaviour that can be asked for. */
#include <check.h>
#include <cuda_runtime_api.h>
#include <cupti.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OK(call)    ck_assert_int_eq(call, cudaSuccess)
#define CUPTI(call) ck_assert_int_eq(call, CUPTI_SUCCESS)

Suite *test_vgpu_cupti_suite(void);
void **__cudaRegisterFatBinary(void *fat);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, void *tid, void *bid, void *block, void *grid, int *warp);

enum { BYTES = 1 << 16, MANY = 4096, HANDED = 64 };

static const char kernel;

/* What was delivered, in order. */
static struct {
    CUpti_ActivityKernel4 kernel[MANY];
    int kernels;
    CUpti_ActivityAPI api[MANY];
    int apis;
    int kinds[64], requests, completions, graph_kernels;
    size_t graphs;
} seen;
static bool refuse;
static uint8_t *last_request;
static uint8_t *handed[HANDED]; /* reachable for leak checkers when a thief loses them */

static void request(uint8_t **buffer, size_t *size, size_t *max)
{
    seen.requests++;
    *buffer = refuse ? NULL : aligned_alloc(64, BYTES);
    *size = refuse ? 0 : BYTES;
    *max = 0;
    last_request = handed[seen.requests % HANDED] = *buffer;
}

static void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    CUpti_Activity *r = NULL;
    (void)context, (void)stream;
    ck_assert_uint_eq(size, BYTES);
    seen.completions++;
    while (cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS) {
        seen.kinds[r->kind]++;
        if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && seen.kernels < MANY)
            memcpy(&seen.kernel[seen.kernels++], r, sizeof seen.kernel[0]);
        if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
            seen.graph_kernels += ((CUpti_ActivityKernel8 *)(void *)r)->graphId != 0;
        if (r->kind == CUPTI_ACTIVITY_KIND_RUNTIME && seen.apis < MANY)
            memcpy(&seen.api[seen.apis++], r, sizeof seen.api[0]);
    }
    free(buffer);
}

static void begin(const char *device, const CUpti_ActivityKind *kinds, int n)
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

static int launch(cudaStream_t s)
{
    return cudaLaunchKernel(&kernel, (dim3){1, 1, 1}, (dim3){256, 1, 1}, NULL, 0, s);
}

static void launch_many(int n)
{
    for (int i = 0; i < n; i++)
        OK(launch(NULL));
    OK(cudaDeviceSynchronize());
}

static void settle(void)
{
    OK(cudaDeviceSynchronize());
    CUPTI(cuptiActivityFlushAll(0));
}

START_TEST(records_join_their_calls)
{
    char *device;
    begin("h200,noise=0", usual, USUAL);
    OK(cudaMalloc((void **)&device, 1024));
    OK(cudaMemset(device, 0, 1024));
    OK(cudaMemcpy(device, &device, 8, cudaMemcpyHostToDevice));
    launch_many(10);
    settle();
    ck_assert_int_eq(seen.kernels, 10);
    ck_assert_int_eq(seen.kinds[CUPTI_ACTIVITY_KIND_MEMSET], 1);
    ck_assert_int_eq(seen.kinds[CUPTI_ACTIVITY_KIND_MEMCPY], 1);
    ck_assert_int_eq(seen.kinds[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION], 2);
    for (int i = 0; i < seen.kernels; i++) {
        const CUpti_ActivityKernel4 *k = &seen.kernel[i];
        ck_assert_str_eq(k->name, "_Z4workPf");
        ck_assert_int_eq(k->blockX, 256);
        ck_assert_uint_gt(k->end, k->start);
        ck_assert(i == 0 || k->start >= seen.kernel[i - 1].end);
        int found = 0;
        for (int j = 0; j < seen.apis; j++)
            if (seen.api[j].correlationId == k->correlationId) {
                const char *name;
                found++;
                ck_assert_uint_lt(seen.api[j].start, k->start);
                CUPTI(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, seen.api[j].cbid, &name));
                ck_assert_str_eq(name, "cudaLaunchKernel_v7000");
            }
        ck_assert_int_eq(found, 1);
    }
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    int64_t now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    ck_assert_int_lt(now - (int64_t)seen.kernel[9].end, 10000000000);
}
END_TEST

START_TEST(running_work_is_kept_back)
{
    CUpti_ActivityKernel4 k;
    begin("h200,noise=0,scale=200000", usual, 1);
    OK(launch(NULL));
    CUPTI(cuptiActivityFlushAll(0));
    ck_assert_int_eq(seen.completions, 0);
    memcpy(&k, last_request, sizeof k); /* what a reader of the buffer sees meanwhile */
    ck_assert_int_eq(k.kind, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    ck_assert_uint_eq(k.end, 0);
    ck_assert_uint_ne(k.correlationId, 0);
    settle();
    ck_assert_int_eq(seen.kernels, 1);
    ck_assert_uint_gt(seen.kernel[0].end, seen.kernel[0].start);
}
END_TEST

START_TEST(forced_flush_gives_up_on_running_work)
{
    begin("h200,noise=0,scale=200000", usual, 1);
    OK(launch(NULL));
    CUPTI(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
    ck_assert_int_eq(seen.kernels, 1);
    ck_assert_uint_eq(seen.kernel[0].end, 0);
    settle();
    ck_assert_int_eq(seen.kernels, 1); /* never delivered again */
}
END_TEST

START_TEST(full_buffers_come_back_unasked)
{
    begin("h200,noise=0", usual, 1);
    launch_many(1000); /* 216 bytes each: three buffers and a piece */
    struct timespec t = {0, 50000000};
    for (int i = 0; i < 100 && seen.completions < 3; i++)
        nanosleep(&t, NULL);
    ck_assert_int_eq(seen.completions, 3);
    settle();
    ck_assert_int_eq(seen.kernels, 1000);
}
END_TEST

static const struct {
    const char *device;
    uint32_t version;
    int kernel, copy, sync, event, memory, graph, overhead, device_record, context;
} releases[] = {
    {"h200,cupti=11.8", 18, 200, 88, 40, 24, 120, 48, 40, 176, 16},
    {"h200,cupti=12.4", 22, 208, 88, 40, 24, 120, 56, 56, 184, 24},
    {"h200,cupti=12.8", 26, 208, 96, 56, 56, 128, 56, 56, 184, 32},
    {"h200,cupti=13.0", 130001, 216, 96, 56, 56, 128, 56, 56, 184, 32},
};

/* As a reader learns it: a page full of one kind, walked twice. */
static int stride(uint32_t kind)
{
    static uint32_t page[2048];
    CUpti_Activity *r = NULL;
    for (int i = 0; i < 2048; i++)
        page[i] = kind;
    if (cuptiActivityGetNextRecord((uint8_t *)page, sizeof page, &r) != CUPTI_SUCCESS)
        return 0;
    uint8_t *first = (uint8_t *)r;
    CUPTI(cuptiActivityGetNextRecord((uint8_t *)page, sizeof page, &r));
    return (int)((uint8_t *)r - first);
}

START_TEST(layouts_are_those_of_the_release)
{
    uint32_t version;
    begin(releases[_i].device, usual, USUAL);
    CUPTI(cuptiGetVersion(&version));
    ck_assert_uint_eq(version, releases[_i].version);
    ck_assert_int_eq(stride(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), releases[_i].kernel);
    ck_assert_int_eq(stride(CUPTI_ACTIVITY_KIND_MEMCPY), releases[_i].copy);
    ck_assert_int_eq(stride(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION), releases[_i].sync);
    ck_assert_int_eq(stride(CUPTI_ACTIVITY_KIND_CUDA_EVENT), releases[_i].event);
    ck_assert_int_eq(stride(CUPTI_ACTIVITY_KIND_MEMORY2), releases[_i].memory);
    ck_assert_int_eq(stride(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), releases[_i].graph);
    ck_assert_int_eq(stride(CUPTI_ACTIVITY_KIND_OVERHEAD), releases[_i].overhead);
    ck_assert_int_eq(stride(CUPTI_ACTIVITY_KIND_DEVICE), releases[_i].device_record);
    ck_assert_int_eq(stride(CUPTI_ACTIVITY_KIND_CONTEXT), releases[_i].context);
    ck_assert_int_eq(stride(0), 0);
    launch_many(5);
    settle();
    ck_assert_int_eq(seen.kernels, 5);
    ck_assert_int_eq(seen.kinds[CUPTI_ACTIVITY_KIND_RUNTIME], 7);
}
END_TEST

START_TEST(kinds_are_checked)
{
    begin("h200", usual, 0);
    ck_assert_int_eq(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_EVENT),
                     CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED);
    ck_assert_int_eq(cuptiActivityEnable((CUpti_ActivityKind)63), CUPTI_ERROR_INVALID_KIND);
    CUPTI(cuptiActivityEnableAndDump(CUPTI_ACTIVITY_KIND_DEVICE));
    settle();
    ck_assert_int_ge(seen.kinds[CUPTI_ACTIVITY_KIND_DEVICE], 1);
}
END_TEST

START_TEST(calls_can_be_filtered)
{
    begin("h200", usual, USUAL);
    CUPTI(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, 0));
    launch_many(10);
    settle();
    ck_assert_int_eq(seen.kernels, 10);
    ck_assert_int_eq(seen.apis, 2); /* both synchronisations */
}
END_TEST

static void *launch_there(void *unused)
{
    (void)unused;
    return launch(NULL) ? (void *)1 : NULL;
}

START_TEST(threads_have_their_own_buffers_from_13_on)
{
    pthread_t thread;
    void *failed;
    begin(_i ? "h200,cupti=13.0" : "h200,cupti=12.4", usual, USUAL);
    OK(launch(NULL));
    pthread_create(&thread, NULL, launch_there, NULL);
    pthread_join(thread, &failed);
    ck_assert_ptr_null(failed);
    ck_assert_int_eq(seen.requests, _i ? 2 : 1);
    settle();
    ck_assert_int_eq(seen.kernels, 2);
    uint32_t tid = seen.api[0].threadId;
    bool other = false;
    for (int i = 1; i < seen.apis; i++)
        other |= seen.api[i].threadId != tid;
    ck_assert(other);
}
END_TEST

static void launch_graph(int nodes, cudaStream_t s)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < nodes; i++)
        OK(launch(s));
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaGraphExecDestroy(exec)); /* while it runs */
}

START_TEST(graph_nodes_share_the_launch)
{
    cudaStream_t s;
    begin("h200,noise=0", usual, USUAL);
    OK(cudaStreamCreate(&s));
    launch_graph(20, s);
    settle();
    ck_assert_int_eq(seen.kernels, 20);
    ck_assert_int_eq(seen.graph_kernels, 20);
    for (int i = 1; i < 20; i++)
        ck_assert_uint_eq(seen.kernel[i].correlationId, seen.kernel[0].correlationId);
    CUPTI(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE));
    launch_graph(20, s);
    settle();
    ck_assert_int_eq(seen.kernels, 20); /* as a whole now */
    ck_assert_int_eq(seen.kinds[CUPTI_ACTIVITY_KIND_GRAPH_TRACE], 1);
}
END_TEST

static int entered, left;

static void on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    const CUpti_CallbackData *d = data;
    ck_assert_ptr_eq(user, &entered);
    ck_assert_int_eq(domain, CUPTI_CB_DOMAIN_RUNTIME_API);
    ck_assert_uint_eq(id, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
    *(d->callbackSite == CUPTI_API_ENTER ? &entered : &left) += 1;
}

START_TEST(one_subscriber_is_called)
{
    CUpti_SubscriberHandle mine, second;
    begin("h200", usual, 0);
    CUPTI(cuptiSubscribe(&mine, on_call, &entered));
    ck_assert_int_eq(cuptiSubscribe(&second, on_call, NULL),
                     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    CUPTI(cuptiEnableCallback(1, mine, CUPTI_CB_DOMAIN_RUNTIME_API,
                              CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000));
    launch_many(3);
    ck_assert_int_eq(entered, 3);
    ck_assert_int_eq(left, 3);
    CUPTI(cuptiUnsubscribe(mine));
    launch_many(1);
    ck_assert_int_eq(entered, 3);
}
END_TEST

START_TEST(busy_subscriber)
{
    CUpti_SubscriberHandle mine;
    begin("h200,busy_subscriber=1", usual, 0);
    ck_assert_int_eq(cuptiSubscribe(&mine, on_call, NULL),
                     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
}
END_TEST

START_TEST(dropped_records_are_counted)
{
    size_t dropped;
    begin("h200,drop=0.3", usual, 1);
    launch_many(1000);
    settle();
    CUPTI(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    ck_assert_int_gt((int)dropped, 200);
    ck_assert_int_lt((int)dropped, 400);
    ck_assert_int_eq(seen.kernels + (int)dropped, 1000);
    CUPTI(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    ck_assert_uint_eq(dropped, 0);
}
END_TEST

START_TEST(no_buffer_is_a_drop)
{
    size_t dropped;
    begin("h200", usual, 1);
    refuse = true;
    launch_many(3);
    CUPTI(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    ck_assert_uint_eq(dropped, 3);
    refuse = false;
    launch_many(2);
    settle();
    ck_assert_int_eq(seen.kernels, 2);
}
END_TEST

START_TEST(no_buffer_crashes_old_releases)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        begin("h200,cupti=12.4,null_buffer_crash=1", usual, 1);
        refuse = true;
        launch(NULL);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    ck_assert(!WIFEXITED(status) ||
              WEXITSTATUS(status) != 0); /* a sanitizer turns it into a status */
}
END_TEST

START_TEST(disorder)
{
    int turned = 0;
    begin("h200,disorder=1", usual, 1);
    launch_many(100);
    settle();
    ck_assert_int_eq(seen.kernels, 100);
    for (int i = 1; i < 100; i++)
        turned += seen.kernel[i].start < seen.kernel[i - 1].start;
    ck_assert_int_gt(turned, 10);
}
END_TEST

START_TEST(untimed_records)
{
    int untimed = 0;
    begin("h200,untimed_after=60", usual, 1);
    launch_many(100);
    settle();
    for (int i = 0; i < seen.kernels; i++)
        untimed += seen.kernel[i].start == 0 && seen.kernel[i].end == 0;
    ck_assert_int_eq(seen.kernels, 100);
    ck_assert_int_eq(untimed, 40);
}
END_TEST

START_TEST(late_records)
{
    begin("h200,late=300", usual, 1);
    launch_many(1);
    CUPTI(cuptiActivityFlushAll(0));
    ck_assert_int_eq(seen.kernels, 0);
    struct timespec t = {0, 400000000};
    nanosleep(&t, NULL);
    CUPTI(cuptiActivityFlushAll(0));
    ck_assert_int_eq(seen.kernels, 1);
}
END_TEST

START_TEST(clock_step)
{
    begin("h200,clock_step=3600:100", usual, 1);
    launch_many(1);
    struct timespec t = {0, 200000000};
    nanosleep(&t, NULL);
    launch_many(1);
    settle();
    ck_assert_int_eq(seen.kernels, 2);
    ck_assert_uint_gt(seen.kernel[1].start - seen.kernel[0].start, 3600000000000);
}
END_TEST

START_TEST(stolen_callbacks)
{
    begin("h200,steal_callbacks_after=100", usual, 1);
    launch_many(1);
    struct timespec t = {0, 200000000};
    nanosleep(&t, NULL);
    launch_many(400); /* runs into the end of the first buffer */
    settle();
    ck_assert_int_eq(seen.completions, 0);
    CUPTI(cuptiActivityRegisterCallbacks(request, complete));
    launch_many(400);
    settle();
    ck_assert_int_gt(seen.completions, 0);
}
END_TEST

START_TEST(correlation_wraps)
{
    bool high = false, low = false;
    begin("h200,wrap_correlation=1", usual, 1);
    launch_many(400);
    settle();
    for (int i = 0; i < seen.kernels; i++) {
        high |= seen.kernel[i].correlationId > 0xffff0000u;
        low |= seen.kernel[i].correlationId < 0xffffu;
    }
    ck_assert(high && low);
}
END_TEST

Suite *test_vgpu_cupti_suite(void)
{
    Suite *s = suite_create("vgpu_cupti");
    TCase *t = tcase_create("cupti");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, records_join_their_calls);
    tcase_add_test(t, running_work_is_kept_back);
    tcase_add_test(t, forced_flush_gives_up_on_running_work);
    tcase_add_test(t, full_buffers_come_back_unasked);
    tcase_add_loop_test(t, layouts_are_those_of_the_release, 0, 4);
    tcase_add_test(t, kinds_are_checked);
    tcase_add_test(t, calls_can_be_filtered);
    tcase_add_loop_test(t, threads_have_their_own_buffers_from_13_on, 0, 2);
    tcase_add_test(t, graph_nodes_share_the_launch);
    tcase_add_test(t, one_subscriber_is_called);
    tcase_add_test(t, busy_subscriber);
    tcase_add_test(t, dropped_records_are_counted);
    tcase_add_test(t, no_buffer_is_a_drop);
    tcase_add_test(t, no_buffer_crashes_old_releases);
    tcase_add_test(t, disorder);
    tcase_add_test(t, untimed_records);
    tcase_add_test(t, late_records);
    tcase_add_test(t, clock_step);
    tcase_add_test(t, stolen_callbacks);
    tcase_add_test(t, correlation_wraps);
    suite_add_tcase(s, t);
    return s;
}
