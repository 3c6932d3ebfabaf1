/* The virtual GPU's CUPTI: records are complete and can be joined, those of running work are held
 * back; layouts of releases, callbacks, threads, graphs. */
#include "tests/unit/vgpu_records.h"

Suite *test_vgpu_cupti_suite(void);

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

/* 16 MB for the first time: this machine moves them before the call that is recorded. */
START_TEST(what_the_model_does_is_no_call)
{
    enum { SIZE = 16 << 20, ALL = 4 };
    static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_RUNTIME,
                                               CUPTI_ACTIVITY_KIND_OVERHEAD};
    struct timespec from, to;
    char *device, *host;
    begin("h200,noise=0", kinds, 2);
    OK(cudaMalloc((void **)&device, (size_t)SIZE * ALL));
    OK(cudaMallocHost((void **)&host, SIZE));
    memset(host, 1, SIZE);
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (size_t i = 0; i < ALL; i++)
        OK(cudaMemcpyAsync(device + i * SIZE, host, SIZE, cudaMemcpyHostToDevice, NULL));
    clock_gettime(CLOCK_MONOTONIC, &to);
    int64_t took = (int64_t)(to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec;
    settle();
    uint64_t called = 0;
    for (int i = 0; i < seen.apis; i++)
        if (seen.api[i].cbid == CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020)
            called += seen.api[i].end - seen.api[i].start;
    ck_assert_int_eq(seen.kinds[CUPTI_ACTIVITY_KIND_OVERHEAD], ALL);
    ck_assert_int_lt((int64_t)called, took / 3);
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

Suite *test_vgpu_cupti_suite(void)
{
    Suite *suite = suite_create("vgpu_cupti");
    TCase *t = tcase_create("vgpu_cupti");
    tcase_add_test(t, records_join_their_calls);
    tcase_add_test(t, what_the_model_does_is_no_call);
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
    suite_add_tcase(suite, t);
    return suite;
}
