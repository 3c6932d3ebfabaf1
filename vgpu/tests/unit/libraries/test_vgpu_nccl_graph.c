/* NCCL in graphs on the virtual GPU: a captured collective meets the other ranks again at each
 * launch, without blocking the host. Nodes that do not depend on it run meanwhile; nodes that do
 * wait for it. */
#include <check.h>

#if __has_include(<nccl.h>)

#include "core/core_state.h"

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdlib.h>
#include <unistd.h>

enum { DEVICES = 2, LAUNCHES = 2, BYTES = 64 << 20, ROOM = 1 << 30, SMALL = 4096, SEEN = 64 };

#define CUDA(call) ck_assert_int_eq((call), cudaSuccess)
#define NCCL(call) ck_assert_int_eq((call), ncclSuccess)

static struct vg_record seen[SEEN];
static _Atomic int seen_count;

static void see(const struct vg_record *r)
{
    if ((r->kind == VG_REC_KERNEL || r->kind == VG_REC_MEMSET || r->kind == VG_REC_GRAPH) &&
        seen_count < SEEN)
        seen[seen_count++] = *r;
}

/* The n-th record of this kind on a device, in order of their starts. */
static const struct vg_record *record_of(enum vg_record_kind kind, int device, int n)
{
    for (int i = 0; i < seen_count; i++) {
        int before = 0;
        if (seen[i].kind != kind || seen[i].device != device)
            continue;
        for (int k = 0; k < seen_count; k++)
            before += seen[k].kind == kind && seen[k].device == device &&
                      (seen[k].start_ns < seen[i].start_ns ||
                       (seen[k].start_ns == seen[i].start_ns && k < i));
        if (before == n)
            return &seen[i];
    }
    ck_abort_msg("no record %d of kind %d on device %d", n, kind, device);
    return NULL;
}

static ncclComm_t comm[DEVICES];
static cudaStream_t stream[DEVICES];
static float *memory[DEVICES];

static void open_devices(void)
{
    static const struct vg_sink sink = {.record = see};
    setenv("GPUPROF_VGPU", "h200,noise=0,devices=2", 1);
    NCCL(ncclCommInitAll(comm, DEVICES, NULL));
    for (int i = 0; i < DEVICES; i++) {
        CUDA(cudaSetDevice(i));
        CUDA(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
        CUDA(cudaMalloc((void **)&memory[i], ROOM));
    }
    vg_set_sink(&sink);
}

/* Something before an all-reduce, something long beside it, something behind both. */
static cudaGraphExec_t captured(int device, size_t bytes)
{
    cudaStream_t beside;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    char *p = (char *)memory[device] + BYTES;
    CUDA(cudaSetDevice(device));
    CUDA(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&fork));
    CUDA(cudaEventCreate(&join));
    CUDA(cudaStreamBeginCapture(stream[device], cudaStreamCaptureModeThreadLocal));
    CUDA(cudaMemsetAsync(p, 0, SMALL, stream[device]));
    CUDA(cudaEventRecord(fork, stream[device]));
    CUDA(cudaStreamWaitEvent(beside, fork, 0));
    NCCL(ncclAllReduce(memory[device], memory[device], bytes / 4, ncclFloat, ncclSum, comm[device],
                       beside));
    CUDA(cudaEventRecord(join, beside));
    CUDA(cudaMemsetAsync(p, 0, ROOM - BYTES, stream[device]));
    CUDA(cudaStreamWaitEvent(stream[device], join, 0));
    CUDA(cudaMemsetAsync(p, 0, SMALL, stream[device]));
    CUDA(cudaStreamEndCapture(stream[device], &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    return exec;
}

static void launch(cudaGraphExec_t *exec, int device)
{
    CUDA(cudaSetDevice(device));
    for (int k = 0; k < LAUNCHES; k++)
        CUDA(cudaGraphLaunch(exec[device], stream[device]));
}

START_TEST(test_ranks_meet_in_each_launch)
{
    cudaGraphExec_t exec[DEVICES];
    open_devices();
    for (int i = 0; i < DEVICES; i++)
        exec[i] = captured(i, BYTES);
    ck_assert_int_eq(seen_count, 0); /* captured, not run */
    launch(exec, 0);
    usleep(3000);
    ck_assert_int_eq(cudaStreamQuery(stream[0]), cudaErrorNotReady);
    launch(exec, 1);
    for (int i = 0; i < DEVICES; i++) {
        CUDA(cudaSetDevice(i));
        CUDA(cudaDeviceSynchronize());
    }
    for (int i = 0; i < DEVICES; i++)
        for (int k = 0; k < LAUNCHES; k++) {
            const struct vg_record *met = record_of(VG_REC_KERNEL, i, k),
                                   *first = record_of(VG_REC_MEMSET, i, 3 * k),
                                   *beside = record_of(VG_REC_MEMSET, i, 3 * k + 1),
                                   *behind = record_of(VG_REC_MEMSET, i, 3 * k + 2),
                                   *whole = record_of(VG_REC_GRAPH, i, k);
            ck_assert_int_eq(met->end_ns, record_of(VG_REC_KERNEL, 1 - i, k)->end_ns);
            ck_assert_int_ge(met->start_ns, first->end_ns);
            ck_assert_int_ge(beside->start_ns, first->end_ns);
            ck_assert_int_lt(beside->start_ns, met->end_ns);
            ck_assert(behind->start_ns >= met->end_ns && behind->start_ns >= beside->end_ns);
            ck_assert(whole->start_ns <= first->start_ns && whole->end_ns >= behind->end_ns);
            ck_assert(met->graph_id == whole->graph_id && met->graph_node_id != 0);
            ck_assert_uint_eq(met->correlation, behind->correlation);
        }
    const struct vg_record *waited = record_of(VG_REC_KERNEL, 0, 0);
    ck_assert_int_ge(waited->end_ns - waited->start_ns, 3000000);
    ck_assert_int_ge(record_of(VG_REC_MEMSET, 0, 3)->start_ns,
                     record_of(VG_REC_MEMSET, 0, 2)->end_ns);
    for (int i = 0; i < DEVICES; i++)
        CUDA(cudaGraphExecDestroy(exec[i]));
}
END_TEST

/* What is small moves its data at each launch, too: 1 and 2, then 3 and 3, then 6 and 6. */
START_TEST(test_data_moves_in_each_launch)
{
    cudaGraphExec_t exec[DEVICES];
    open_devices();
    for (int i = 0; i < DEVICES; i++) {
        float value = (float)(i + 1);
        CUDA(cudaSetDevice(i));
        CUDA(cudaMemcpy(memory[i], &value, sizeof value, cudaMemcpyHostToDevice));
        exec[i] = captured(i, sizeof value);
    }
    for (int i = 0; i < DEVICES; i++)
        launch(exec, i);
    for (int i = 0; i < DEVICES; i++) {
        float value = 0;
        CUDA(cudaSetDevice(i));
        CUDA(cudaStreamSynchronize(stream[i]));
        CUDA(cudaMemcpy(&value, memory[i], sizeof value, cudaMemcpyDeviceToHost));
        ck_assert_msg(value == 6, "%g", (double)value);
        CUDA(cudaStreamDestroy(stream[i]));
    }
}
END_TEST

#endif

Suite *test_vgpu_nccl_graph_suite(void);
Suite *test_vgpu_nccl_graph_suite(void)
{
    Suite *s = suite_create("vgpu_nccl_graph");
    TCase *c = tcase_create("vgpu_nccl_graph");
#if __has_include(<nccl.h>)
    tcase_add_test(c, test_ranks_meet_in_each_launch);
    tcase_add_test(c, test_data_moves_in_each_launch);
#endif
    suite_add_tcase(s, c);
    return s;
}
