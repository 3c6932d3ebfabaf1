/* What a CUDA program can observe of the virtual GPU: who waits for whom, what blocks the host, the
 * full queue, graphs, several devices, fork. */
#include "tests/unit/vgpu_program.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *test_vgpu_runtime_suite(void);

START_TEST(unset_is_refused)
{
    int n;
    unsetenv("GPUPROF_VGPU");
    ck_assert_int_eq(cudaGetDeviceCount(&n), cudaErrorNoDevice);
    ck_assert_int_eq(n, 0);
    ck_assert_str_eq(cudaGetErrorString(cudaErrorNoDevice), "no CUDA-capable device is detected");
}
END_TEST

START_TEST(announces_itself)
{
    struct cudaDeviceProp p;
    choose("a100-80");
    OK(cudaGetDeviceProperties(&p, 0));
    ck_assert_int_eq(strncmp(p.name, "Virtual ", 8), 0);
    ck_assert_int_eq(p.major * 10 + p.minor, 80);
    ck_assert_int_eq(p.multiProcessorCount, 108);
}
END_TEST

START_TEST(launch_does_not_wait)
{
    choose(SLOW);
    cudaStream_t s = stream(0);
    OK(launch(LONG, s));
    ck_assert_int_eq(cudaStreamQuery(s), cudaErrorNotReady);
    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
    double t = now_ms();
    OK(cudaStreamSynchronize(s));
    ck_assert_double_gt(now_ms() - t, 1);
    OK(cudaStreamQuery(s));
}
END_TEST

START_TEST(stream_keeps_order)
{
    choose(SLOW);
    double one = length_ms(LONG);
    cudaStream_t s = stream(0);
    cudaEvent_t a = mark(s);
    for (int i = 0; i < 3; i++)
        OK(launch(LONG, s));
    double three = between_ms(a, mark(s));
    ck_assert_double_ge(three, 2.99 * one);
    ck_assert_double_le(three, 3.5 * one);
}
END_TEST

START_TEST(small_kernels_overlap_large_ones_do_not)
{
    choose(SLOW);
    double small = length_ms(LONG), large = length_ms(FULL);
    cudaStream_t s = stream(cudaStreamNonBlocking), t = stream(cudaStreamNonBlocking);
    cudaEvent_t a = mark(s);
    OK(launch(LONG, s));
    OK(launch(LONG, t));
    ck_assert_double_lt(between_ms(a, mark(t)), 1.5 * small);
    a = mark(s);
    OK(launch(FULL, s));
    OK(launch(FULL, t));
    ck_assert_double_ge(between_ms(a, mark(t)), 1.9 * large);
}
END_TEST

START_TEST(legacy_stream_is_a_barrier)
{
    choose(SLOW);
    double one = length_ms(LONG);
    cudaStream_t s = stream(0), t = stream(0), free_one = stream(cudaStreamNonBlocking);
    cudaEvent_t start = mark(s);
    OK(launch(LONG, s));
    OK(launch(LONG, NULL));
    OK(launch(LONG, t));
    OK(launch(LONG, free_one));
    cudaEvent_t last = mark(t), other = mark(free_one);
    ck_assert_double_ge(between_ms(start, last), 2.9 * one);
    ck_assert_double_lt(between_ms(start, other), 2.0 * one);
}
END_TEST

static void *per_thread_stream(void *unused)
{
    (void)unused;
    return launch(LONG, cudaStreamPerThread) ? (void *)1 : NULL;
}

START_TEST(per_thread_streams_are_several)
{
    choose(SLOW);
    double one = length_ms(LONG);
    pthread_t thread;
    void *failed;
    double t = now_ms();
    OK(launch(LONG, cudaStreamPerThread));
    pthread_create(&thread, NULL, per_thread_stream, NULL);
    pthread_join(thread, &failed);
    ck_assert_ptr_null(failed);
    OK(cudaDeviceSynchronize());
    ck_assert_double_lt(now_ms() - t, 1.9 * one);
    cudaEvent_t a = mark(cudaStreamPerThread);
    OK(launch(LONG, cudaStreamPerThread));
    OK(launch(LONG, NULL)); /* still waits for it */
    ck_assert_double_ge(between_ms(a, mark(NULL)), 1.9 * one);
}
END_TEST

START_TEST(events_join_streams)
{
    choose(SLOW);
    double one = length_ms(LONG);
    cudaStream_t s = stream(cudaStreamNonBlocking), t = stream(cudaStreamNonBlocking);
    cudaEvent_t a = mark(s), never = event();
    OK(cudaEventQuery(never)); /* not recorded = complete */
    OK(launch(LONG, s));
    OK(cudaStreamWaitEvent(t, mark(s), 0));
    OK(cudaStreamWaitEvent(t, never, 0));
    OK(launch(LONG, t));
    cudaEvent_t b = mark(t);
    ck_assert_int_eq(cudaEventQuery(b), cudaErrorNotReady);
    OK(cudaEventSynchronize(b));
    OK(cudaEventQuery(b));
    ck_assert_double_ge(between_ms(a, b), 1.9 * one);
}
END_TEST

START_TEST(full_queue_blocks_the_launch)
{
    choose("h200,noise=0");
    double one = length_ms(FULL);
    cudaStream_t s = stream(0);
    double t = now_ms();
    for (int i = 0; i < 900; i++)
        OK(launch(FULL, s));
    double open_ms = now_ms() - t;
    OK(cudaStreamSynchronize(s));
    ck_assert_double_lt(open_ms, 800 * one);
    t = now_ms();
    for (int i = 0; i < 3000; i++)
        OK(launch(FULL, s));
    double blocked_ms = now_ms() - t;
    OK(cudaStreamSynchronize(s));
    ck_assert_double_ge(blocked_ms, (3000 - 1022 - 2) * one);
    ck_assert_double_ge(now_ms() - t, 3000 * one);
}
END_TEST

START_TEST(capture_becomes_a_graph)
{
    choose(SLOW);
    double one = length_ms(LONG);
    cudaStream_t s = stream(cudaStreamNonBlocking), t = stream(cudaStreamNonBlocking);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    size_t count = 0;
    cudaEvent_t fork_at = event(), join_at = event();
    double begin = now_ms();
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(launch(LONG, s));
    OK(cudaEventRecord(fork_at, s));
    OK(cudaStreamWaitEvent(t, fork_at, 0));
    OK(launch(LONG, s));
    OK(launch(LONG, t));
    OK(cudaEventRecord(join_at, t));
    OK(cudaStreamWaitEvent(s, join_at, 0));
    OK(launch(LONG, s));
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaStreamQuery(s)); /* capture runs nothing */
    OK(cudaGraphGetNodes(graph, NULL, &count));
    ck_assert_uint_eq(count, 4);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    cudaEvent_t a = mark(s);
    OK(cudaGraphLaunch(exec, s));
    ck_assert_int_eq(cudaStreamQuery(s), cudaErrorNotReady);
    double ms = between_ms(a, mark(s));
    ck_assert_double_ge(ms, 2.99 * one); /* the two in the middle overlap */
    ck_assert_double_le(ms, 3.5 * one);
    ck_assert_double_ge(now_ms() - begin, 2.99 * one);
    OK(cudaGraphExecUpdate(exec, graph, NULL));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}
END_TEST

START_TEST(capture_forbids_waiting)
{
    choose("h100");
    cudaGraph_t graph;
    cudaStream_t s = stream(0), t = stream(0);
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(launch(LONG, s));
    ck_assert_int_eq(cudaStreamSynchronize(s), cudaErrorStreamCaptureUnsupported);
    ck_assert_int_eq(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureInvalidated);
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    ck_assert_int_eq(launch(LONG, NULL), cudaErrorStreamCaptureImplicit);
    ck_assert_int_eq(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureInvalidated);
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    OK(launch(LONG, s));
    OK(cudaStreamWaitEvent(t, mark(s), 0));
    OK(launch(LONG, t));
    ck_assert_int_eq(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureUnjoined);
    ck_assert_int_eq(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeGlobal),
                     cudaErrorStreamCaptureUnsupported);
}
END_TEST

static void count_call(void *counter)
{
    struct timespec t = {0, 30000000};
    nanosleep(&t, NULL);
    ++*(int *)counter;
}

START_TEST(host_functions_run_in_order)
{
    choose("h100");
    int called = 0;
    cudaStream_t s = stream(0);
    OK(cudaLaunchHostFunc(s, count_call, &called));
    OK(cudaLaunchHostFunc(s, count_call, &called));
    ck_assert_int_eq(cudaStreamQuery(s), cudaErrorNotReady);
    OK(cudaStreamSynchronize(s));
    ck_assert_int_eq(called, 2);
}
END_TEST

START_TEST(devices_run_side_by_side)
{
    int n;
    choose("h200,noise=0,scale=1000,devices=2");
    OK(cudaGetDeviceCount(&n));
    ck_assert_int_eq(n, 2);
    double one = length_ms(FULL);
    ck_assert_int_eq(cudaSetDevice(2), cudaErrorInvalidDevice);
    double t = now_ms();
    OK(launch(FULL, NULL));
    OK(cudaSetDevice(1));
    OK(launch(FULL, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaSetDevice(0));
    OK(cudaDeviceSynchronize());
    ck_assert_double_lt(now_ms() - t, 1.8 * one);
}
END_TEST

static int child_status(int use_cuda)
{
    int status, n = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(use_cuda ? (int)cudaGetDeviceCount(&n) : 7);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(fork_after_start_is_an_error_in_the_child)
{
    choose("h100");
    ck_assert_int_eq(child_status(1), cudaSuccess); /* nothing was started yet */
    OK(cudaDeviceSynchronize());
    ck_assert_int_eq(child_status(1), cudaErrorInitializationError);
    ck_assert_int_eq(child_status(0), 7);
    OK(cudaDeviceSynchronize());
}
END_TEST

START_TEST(unknown_call_is_named)
{
    int ends[2], status;
    char text[512] = "";
    choose("h100");
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 2);
        cudaExternalMemory_t memory;
        struct cudaExternalMemoryHandleDesc from = {0};
        cudaImportExternalMemory(&memory, &from);
        _exit(0);
    }
    close(ends[1]);
    ck_assert_int_gt((int)read(ends[0], text, sizeof text - 1), 0);
    waitpid(pid, &status, 0);
    ck_assert_int_eq(WEXITSTATUS(status), 1);
    ck_assert_ptr_nonnull(strstr(text, "virtual GPU: cudaImportExternalMemory"));
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
}
END_TEST

START_TEST(bad_launches_are_refused)
{
    choose("h100");
    static const char unknown;
    dim3 one = {1, 1, 1}, wide = {2048, 1, 1}, none = {0, 1, 1};
    ck_assert_int_eq(cudaLaunchKernel(&unknown, one, one, NULL, 0, NULL),
                     cudaErrorInvalidDeviceFunction);
    ck_assert_int_eq(cudaLaunchKernel(&kernel, one, wide, NULL, 0, NULL),
                     cudaErrorInvalidConfiguration);
    ck_assert_int_eq(cudaLaunchKernel(&kernel, none, one, NULL, 0, NULL),
                     cudaErrorInvalidConfiguration);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorInvalidConfiguration);
    cudaStream_t s = stream(0);
    OK(cudaStreamDestroy(s));
    ck_assert_int_eq(launch(1, s), cudaErrorInvalidResourceHandle);
}
END_TEST

Suite *test_vgpu_runtime_suite(void)
{
    Suite *suite = suite_create("vgpu_runtime");
    TCase *t = tcase_create("vgpu_runtime");
    tcase_add_test(t, unset_is_refused);
    tcase_add_test(t, announces_itself);
    tcase_add_test(t, launch_does_not_wait);
    tcase_add_test(t, stream_keeps_order);
    tcase_add_test(t, small_kernels_overlap_large_ones_do_not);
    tcase_add_test(t, legacy_stream_is_a_barrier);
    tcase_add_test(t, per_thread_streams_are_several);
    tcase_add_test(t, events_join_streams);
    tcase_add_test(t, full_queue_blocks_the_launch);
    tcase_add_test(t, capture_becomes_a_graph);
    tcase_add_test(t, capture_forbids_waiting);
    tcase_add_test(t, host_functions_run_in_order);
    tcase_add_test(t, devices_run_side_by_side);
    tcase_add_test(t, fork_after_start_is_an_error_in_the_child);
    tcase_add_test(t, unknown_call_is_named);
    tcase_add_test(t, bad_launches_are_refused);
    suite_add_tcase(suite, t);
    return suite;
}
