/* NCCL on the virtual GPU: kernels end when all ranks have arrived; what is queued behind them
 * waits without blocking the host; ranks that make a wrong call or end cause an error. */
#include <check.h>

#if __has_include(<nccl.h>)

#include "core/core_state.h"

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 64 << 20, ROOM = 1 << 30, SEEN = 64 };

#define CUDA(call) ck_assert_int_eq((call), cudaSuccess)
#define NCCL(call) ck_assert_int_eq((call), ncclSuccess)

static struct vg_record seen[SEEN];
static _Atomic int seen_count;

static void see(const struct vg_record *r)
{
    if ((r->kind == VG_REC_KERNEL || r->kind == VG_REC_MEMSET) && seen_count < SEEN)
        seen[seen_count++] = *r;
}

/* The only record of this kind on a device. */
static const struct vg_record *record_of(enum vg_record_kind kind, int device)
{
    const struct vg_record *found = NULL;
    for (int i = 0; i < seen_count; i++)
        if (seen[i].kind == kind && seen[i].device == device) {
            ck_assert_ptr_null(found);
            found = &seen[i];
        }
    ck_assert_ptr_nonnull(found);
    return found;
}

static struct {
    ncclComm_t comm[4];
    cudaStream_t stream[4], other[4];
    void *memory[4];
    int count;
} node;

static void open_node(int count)
{
    static const struct vg_sink sink = {.record = see};
    char model[64];
    snprintf(model, sizeof model, "h200,noise=0,devices=%d", count);
    setenv("GPUPROF_VGPU", model, 1);
    node.count = count;
    NCCL(ncclCommInitAll(node.comm, count, NULL));
    for (int i = 0; i < count; i++) {
        CUDA(cudaSetDevice(i));
        CUDA(cudaStreamCreateWithFlags(&node.stream[i], cudaStreamNonBlocking));
        CUDA(cudaStreamCreateWithFlags(&node.other[i], cudaStreamNonBlocking));
        CUDA(cudaMalloc(&node.memory[i], ROOM));
    }
    CUDA(cudaSetDevice(0));
    vg_set_sink(&sink);
}

static ncclResult_t all_reduce(int i)
{
    void *p = node.memory[i];
    return ncclAllReduce(p, p, BYTES / 4, ncclFloat, ncclSum, node.comm[i], node.stream[i]);
}

static void sync_all(void)
{
    for (int i = 0; i < node.count; i++) {
        CUDA(cudaSetDevice(i));
        CUDA(cudaDeviceSynchronize());
    }
}

/* The kernel that starts last: of device 2, unless something else had this program's core for
 * longer than device 2 has to do. */
static const struct vg_record *last_to_come(void)
{
    const struct vg_record *last = record_of(VG_REC_KERNEL, 0);
    for (int i = 1; i < node.count; i++)
        if (record_of(VG_REC_KERNEL, i)->start_ns > last->start_ns)
            last = record_of(VG_REC_KERNEL, i);
    return last;
}

/* Device 2 has something to do first: all end when the last has come, plus the transfer. */
START_TEST(test_all_wait_for_the_last)
{
    open_node(4);
    CUDA(cudaSetDevice(2));
    CUDA(cudaMemsetAsync(node.memory[2], 0, ROOM, node.stream[2]));
    NCCL(ncclGroupStart());
    for (int i = 0; i < 4; i++)
        NCCL(all_reduce(i));
    NCCL(ncclGroupEnd());
    sync_all();
    const struct vg_record *last = last_to_come();
    ck_assert_int_ge(record_of(VG_REC_KERNEL, 2)->start_ns, record_of(VG_REC_MEMSET, 2)->end_ns);
    int64_t transfer = vg_cost_collective(vg_profile(0), VG_ALL_REDUCE, 4, BYTES);
    ck_assert_int_eq(last->end_ns - last->start_ns, transfer);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(record_of(VG_REC_KERNEL, i)->end_ns, last->end_ns);
}
END_TEST

/* The launch does not block; streams, events and waits behind it do as on a device. */
START_TEST(test_what_stands_behind)
{
    cudaEvent_t event;
    open_node(2);
    CUDA(cudaEventCreate(&event));
    NCCL(all_reduce(0));
    CUDA(cudaEventRecord(event, node.stream[0]));
    CUDA(cudaStreamWaitEvent(node.other[0], event, 0));
    CUDA(cudaMemsetAsync(node.memory[0], 0, 1 << 20, node.other[0]));
    usleep(3000);
    ck_assert_int_eq(cudaEventQuery(event), cudaErrorNotReady);
    ck_assert_int_eq(cudaStreamQuery(node.stream[0]), cudaErrorNotReady);
    ck_assert_int_eq(cudaStreamQuery(node.other[0]), cudaErrorNotReady);
    ck_assert_int_eq(seen_count, 0);
    CUDA(cudaSetDevice(1));
    NCCL(all_reduce(1));
    CUDA(cudaEventSynchronize(event));
    sync_all();
    const struct vg_record *kernel = record_of(VG_REC_KERNEL, 0);
    ck_assert_int_ge(kernel->end_ns - kernel->start_ns, 3000000);
    ck_assert_int_eq(kernel->end_ns, record_of(VG_REC_KERNEL, 1)->end_ns);
    ck_assert_int_ge(record_of(VG_REC_MEMSET, 0)->start_ns, kernel->end_ns);
}
END_TEST

START_TEST(test_pairs)
{
    open_node(2);
    NCCL(ncclGroupStart());
    for (int i = 0; i < 2; i++) {
        char *p = node.memory[i], word[4000] = "from 0";
        word[5] = (char)('0' + i);
        CUDA(cudaMemcpy(p, word, sizeof word, cudaMemcpyHostToDevice));
        NCCL(ncclSend(p, 1000, ncclFloat, 1 - i, node.comm[i], node.stream[i]));
        NCCL(ncclRecv(p + 8000, 1000, ncclFloat, 1 - i, node.comm[i], node.stream[i]));
    }
    NCCL(ncclGroupEnd());
    sync_all();
    ck_assert_int_eq(seen_count, 2); /* one kernel a rank */
    ck_assert_int_eq(record_of(VG_REC_KERNEL, 0)->end_ns, record_of(VG_REC_KERNEL, 1)->end_ns);
    ck_assert_ptr_nonnull(strstr(seen[0].kernel.name, "SendRecv"));
    for (int i = 0; i < 2; i++) { /* small data moves */
        char word[8];
        CUDA(cudaMemcpy(word, (char *)node.memory[i] + 8000, sizeof word, cudaMemcpyDeviceToHost));
        ck_assert_str_eq(word, i ? "from 0" : "from 1");
    }
}
END_TEST

/* What a program checks its ranks by: small results are right, of large ones only the time passes.
 */
START_TEST(test_small_data_moves)
{
    enum { N = 3 };
    long long sum[2], all[2 * N];
    float most = 0, root = 0, large = -1;
    open_node(N);
    NCCL(ncclGroupStart());
    for (int i = 0; i < N; i++) {
        char *p = node.memory[i];
        const long long in[2] = {i + 1, 10 * i};
        const float value = (float)(2 * i);
        CUDA(cudaMemcpy(p, in, sizeof in, cudaMemcpyHostToDevice));
        CUDA(cudaMemcpy(p + 64, &value, sizeof value, cudaMemcpyHostToDevice));
        CUDA(cudaMemcpy(p + BYTES, &value, sizeof value, cudaMemcpyHostToDevice));
        NCCL(ncclAllReduce(p, p + 1024, 2, ncclInt64, ncclSum, node.comm[i], node.stream[i]));
        NCCL(ncclAllGather(p, p + 2048, 2, ncclInt64, node.comm[i], node.stream[i]));
        NCCL(ncclAllReduce(p + 64, p + 4096, 1, ncclFloat, ncclMax, node.comm[i], node.stream[i]));
        NCCL(ncclBroadcast(p + 64, p + 4160, 1, ncclFloat, 1, node.comm[i], node.stream[i]));
        NCCL(ncclAllReduce(p + BYTES, p + 2 * BYTES, BYTES / 4, ncclFloat, ncclSum, node.comm[i],
                           node.stream[i]));
    }
    NCCL(ncclGroupEnd());
    sync_all();
    char *p = node.memory[2];
    CUDA(cudaMemcpy(sum, p + 1024, sizeof sum, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(all, p + 2048, sizeof all, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(&most, p + 4096, sizeof most, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(&root, p + 4160, sizeof root, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(&large, p + 2 * BYTES, sizeof large, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(sum[0], 6);
    ck_assert_int_eq(sum[1], 30);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(all[2 * i], i + 1);
    ck_assert_float_eq(most, 4);
    ck_assert_float_eq(root, 2);
    ck_assert_float_eq(large, 0);
}
END_TEST

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 3)
/* Rank 1 gathers, or scatters: one kernel a rank, of sends and receives, which all end together. */
START_TEST(test_one_for_all)
{
    enum { N = 3 };
    open_node(N);
    NCCL(ncclGroupStart());
    for (int i = 0; i < N; i++) {
        char *p = node.memory[i];
        if (_i)
            NCCL(ncclGather(p, p + BYTES, 1000, ncclFloat, 1, node.comm[i], node.stream[i]));
        else
            NCCL(ncclScatter(p, p + BYTES, 1000, ncclFloat, 1, node.comm[i], node.stream[i]));
    }
    NCCL(ncclGroupEnd());
    sync_all();
    ck_assert_int_eq(seen_count, N);
    for (int i = 0; i < N; i++)
        ck_assert_ptr_nonnull(strstr(record_of(VG_REC_KERNEL, i)->kernel.name, "SendRecv"));
    ck_assert_int_eq(
        ncclGather(node.memory[0], NULL, 1000, ncclFloat, N, node.comm[0], node.stream[0]),
        ncclInvalidArgument);
}
END_TEST
#endif

/* A copy behind the collective takes its result, although it was called long before. */
START_TEST(test_copies_take_results)
{
    long long result[2] = {0, 0};
    open_node(2);
    for (int i = 0; i < 2; i++) {
        char *p = node.memory[i];
        const long long value = i + 1;
        CUDA(cudaSetDevice(i));
        CUDA(cudaMemcpy(p, &value, sizeof value, cudaMemcpyHostToDevice));
        NCCL(ncclAllReduce(p, p + 64, 1, ncclInt64, ncclSum, node.comm[i], node.stream[i]));
        CUDA(cudaMemcpyAsync(p + 128, p + 64, sizeof value, cudaMemcpyDeviceToDevice,
                             node.stream[i]));
    }
    sync_all();
    for (int i = 0; i < 2; i++)
        CUDA(cudaMemcpy(&result[i], (char *)node.memory[i] + 128, sizeof result[i],
                        cudaMemcpyDeviceToHost));
    ck_assert_int_eq(result[0], 3);
    ck_assert_int_eq(result[1], 3);
}
END_TEST

START_TEST(test_different_calls)
{
    ncclResult_t state;
    open_node(2);
    NCCL(all_reduce(0));
    NCCL(ncclBroadcast(node.memory[1], node.memory[1], 1000, ncclFloat, 0, node.comm[1],
                       node.stream[1]));
    sync_all();
    NCCL(ncclCommGetAsyncError(node.comm[0], &state));
    ck_assert_int_eq(state, ncclInvalidUsage);
    ck_assert_ptr_nonnull(strstr(ncclGetLastError(node.comm[0]), "different operations"));
    ck_assert_int_eq(all_reduce(0), ncclInvalidUsage);
}
END_TEST

START_TEST(test_arguments)
{
    open_node(2);
    ck_assert_int_eq(ncclAllReduce(NULL, NULL, 1, (ncclDataType_t)99, ncclSum, node.comm[0], NULL),
                     ncclInvalidArgument);
    ck_assert_int_eq(ncclBcast(NULL, 1, ncclFloat, 2, node.comm[0], NULL), ncclInvalidArgument);
    ck_assert_int_eq(ncclAllReduce(NULL, NULL, 1, ncclFloat, ncclSum, NULL, NULL),
                     ncclInvalidArgument);
    ck_assert_int_eq(ncclGroupEnd(), ncclInvalidUsage);
    ncclUniqueId junk = {"nothing"};
    ncclComm_t comm;
    ck_assert_int_eq(ncclCommInitRank(&comm, 2, junk, 0), ncclInvalidArgument);
}
END_TEST

/* ---- ranks as processes ---- */

typedef int rank_work(int rank, ncclComm_t comm); /* the status to exit with */

/* Ranks as processes, each on GPU `rank % devices`; their statuses. */
static void in_processes(int ranks, int devices, rank_work *work, int *status)
{
    ncclUniqueId id;
    pid_t pid[4];
    setenv("GPUPROF_VGPU", "h200,devices=4", 1);
    NCCL(ncclGetUniqueId(&id));
    for (int i = 0; i < ranks; i++) {
        pid[i] = fork();
        ck_assert_int_ge(pid[i], 0);
        if (pid[i] > 0)
            continue;
        ncclComm_t comm = NULL;
        alarm(30);
        if (cudaSetDevice(i % devices) != cudaSuccess)
            _exit(100);
        ncclResult_t rc = ncclCommInitRank(&comm, ranks, id, i);
        _exit(rc ? 50 + (int)rc : work(i, comm));
    }
    for (int i = 0; i < ranks; i++) {
        ck_assert_int_eq(waitpid(pid[i], &status[i], 0), pid[i]);
        status[i] = WIFEXITED(status[i]) ? WEXITSTATUS(status[i]) : -1;
    }
}

static int reduce_on(ncclComm_t comm)
{
    ncclResult_t state = ncclSuccess;
    void *p;
    if (cudaMalloc(&p, 4096) != cudaSuccess)
        return 1;
    ncclResult_t rc = ncclAllReduce(p, p, 1024, ncclFloat, ncclSum, comm, NULL);
    if (rc || cudaDeviceSynchronize() != cudaSuccess || ncclCommGetAsyncError(comm, &state))
        return 2;
    return state ? 50 + (int)state : 0;
}

/* Even and odd ranks, in reverse order. */
static int split(int rank, ncclComm_t comm)
{
    ncclComm_t half;
    int place = -1, count = -1;
    if (ncclCommSplit(comm, rank % 2, -rank, &half, NULL) || ncclCommUserRank(half, &place) ||
        ncclCommCount(half, &count))
        return 3;
    if (count != 2 || place != (rank < 2))
        return 4;
    int bad = reduce_on(half) + reduce_on(comm);
    return bad || ncclCommDestroy(half) || ncclCommDestroy(comm) ? 5 : 0;
}

static int leave_one(int rank, ncclComm_t comm)
{
    if (rank == 1)
        return 7; /* ends without a word */
    return reduce_on(comm);
}

START_TEST(test_split)
{
    int status[4];
    in_processes(4, 4, split, status);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(status[i], 0);
}
END_TEST

START_TEST(test_a_rank_that_ends)
{
    int status[3];
    in_processes(3, 3, leave_one, status);
    ck_assert_int_eq(status[1], 7);
    ck_assert_int_eq(status[0], 50 + ncclRemoteError);
    ck_assert_int_eq(status[2], 50 + ncclRemoteError);
}
END_TEST

START_TEST(test_two_ranks_on_one_device)
{
    int status[2];
    in_processes(2, 1, leave_one, status);
    ck_assert_int_eq(status[0], 50 + ncclInvalidUsage);
    ck_assert_int_eq(status[1], 50 + ncclInvalidUsage);
}
END_TEST

#endif

Suite *test_vgpu_nccl_suite(void);
Suite *test_vgpu_nccl_suite(void)
{
    Suite *s = suite_create("vgpu_nccl");
    TCase *c = tcase_create("vgpu_nccl");
#if __has_include(<nccl.h>)
    tcase_add_test(c, test_all_wait_for_the_last);
    tcase_add_test(c, test_what_stands_behind);
    tcase_add_test(c, test_pairs);
    tcase_add_test(c, test_small_data_moves);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 3)
    tcase_add_loop_test(c, test_one_for_all, 0, 2);
#endif
    tcase_add_test(c, test_copies_take_results);
    tcase_add_test(c, test_different_calls);
    tcase_add_test(c, test_arguments);
    tcase_add_test(c, test_split);
    tcase_add_test(c, test_a_rank_that_ends);
    tcase_add_test(c, test_two_ranks_on_one_device);
#endif
    suite_add_tcase(s, c);
    return s;
}
