/* What Nsight Systems' exports of several years and programs add or omit: each variant as a small
 * export that the test makes. */
#include "tests/unit/test.h"
#include "tests/unit/nsys_export.h"

static void read_export(const char *statements)
{
    build(statements);
    read_it();
}

#define OTHER_TID "0x0101000055000056" /* of another process */

#define STRINGS "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
#define KERNEL_2020                                                                                \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, "   \
    "streamId INT, correlationId INT, globalPid INT, demangledName INT, shortName INT);"
#define NVTX                                                                                       \
    "CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, rangeId INT, text TEXT, "        \
    "globalTid INT, textId INT, domainId INT, jsonText TEXT);"

static const struct row_range *range(int i)
{
    ck_assert_int_lt(i, m->count[ROW_RANGE]);
    return MEMORY_ROW(m, range, ROW_RANGE, i);
}

TEST_FIXTURE(setup, teardown)

/* emit_nvtx() puts numbers into every name; shapes may follow. */
TEST(test_operators_of_pytorch)
{
    read_export(STRINGS NVTX
                "INSERT INTO StringIds VALUES (1, 'autograd::engine::evaluate_function: "
                "MmBackward0, op_id = 12');"
                "INSERT INTO NVTX_EVENTS VALUES (10, 20, 59, 0, 'aten::mm, seq = 46195, op_id = 9, "
                "sizes = [[2, 3], [3, 4]], input_op_ids = [(1,0)]', " TID ", NULL, 0, NULL),"
                "(12, 18, 59, 0, 'aten::mm, op_id = 10', " TID ", NULL, 0, NULL),"
                "(30, 40, 59, 0, NULL, " TID ", 1, 0, NULL),"
                "(50, 60, 59, 0, 'step, the 3rd', " TID ", NULL, 0, NULL)");
    ck_assert_int_eq(m->count[ROW_RANGE], 4);
    ck_assert_str_eq(memory_text(m, range(0)->name), "aten::mm");
    ck_assert_uint_eq(range(0)->name, range(1)->name);
    ck_assert_str_eq(memory_text(m, range(2)->name),
                     "autograd::engine::evaluate_function: MmBackward0");
    ck_assert_str_eq(memory_text(m, range(3)->name), "step, the 3rd");
    ck_assert_str_eq(memory_meta(m, "framework"), "pytorch");
}

/* Waits and reads of threads that are known come along, and nothing else of that table. */
TEST(test_os_calls)
{
    read_export(STRINGS NVTX
                "CREATE TABLE OSRT_API (start INT, end INT, eventClass INT, globalTid INT, nameId "
                "INT, returnValue INT, nestingLevel INT, callchainId INT);"
                "INSERT INTO StringIds VALUES (1, 'poll'), (2, 'ioctl'), (3, 'read');"
                "INSERT INTO NVTX_EVENTS VALUES (10, 20, 59, 0, 'step', " TID ", NULL, 0, NULL);"
                "INSERT INTO OSRT_API VALUES (5, 9, 27, " TID ", 1, 0, 0, 0),"
                "(30, 40, 27, " TID ", 1, 0, 0, 0), (41, 42, 27, " TID ", 2, 0, 0, 0),"
                "(43, 45, 27, " TID ", 3, 0, 0, 0), (50, 60, 27, " OTHER_TID ", 1, 0, 0, 0)");
    ck_assert_int_eq(m->count[ROW_RANGE], 4);
    ck_assert_str_eq(memory_text(m, range(1)->name), "poll");
    ck_assert_str_eq(memory_text(m, range(1)->domain), OS_DOMAIN);
    ck_assert_int_eq(range(1)->start_ns, -5); /* times are counted from the first work */
    ck_assert_str_eq(memory_text(m, range(3)->name), "read");
    ck_assert_int_eq(m->count[ROW_THREAD], 1);
}

/* Waits carry device 0 whatever the device: the context tells which stream they await. */
TEST(test_waits_on_another_device)
{
    read_export(STRINGS
                "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, globalPid INT, "
                "deviceId INT, contextId INT, streamId INT, correlationId INT);"
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, " PID ", 1, 2, 15, 4),"
                "(10, 20, " PID ", 0, 1, 15, 5);"
                "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INT, end INT, deviceId "
                "INT, contextId INT, streamId INT, correlationId INT, globalPid INT, syncType INT);"
                "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (12, 21, 0, 2, 15, 6, " PID
                ", 3), (12, 21, 0, 9, 15, 7, " PID ", 3);");
    const struct row_kernel *k = MEMORY_ROW(m, kernel, ROW_KERNEL, 0);
    const struct row_sync *s = MEMORY_ROW(m, sync, ROW_SYNC, 0),
                          *other = MEMORY_ROW(m, sync, ROW_SYNC, 1);
    ck_assert_int_eq(s->stream, k->stream);
    ck_assert_int_ne(other->stream, k->stream); /* no work ran in this context */
}

/* A row of type 75 names a domain of its process. */
TEST(test_domains)
{
    read_export(STRINGS NVTX "INSERT INTO StringIds VALUES (1, 'CCCL'), (2, 'unused secret');"
                             "INSERT INTO NVTX_EVENTS VALUES (1, NULL, 75, 0, 'NCCL', " TID
                             ", NULL, 1, NULL),"
                             "(1, NULL, 75, 0, NULL, " TID ", 1, 2, NULL),"
                             "(10, 20, 59, 0, 'ncclAllReduce', " TID ", NULL, 1, NULL),"
                             "(10, 20, 59, 0, 'sort', " TID ", NULL, 2, NULL),"
                             "(10, 20, 59, 0, 'mine', " TID ", NULL, 0, NULL),"
                             "(10, 20, 59, 0, 'else', " OTHER_TID ", NULL, 1, NULL)");
    ck_assert_str_eq(memory_text(m, range(0)->domain), "NCCL");
    ck_assert_str_eq(memory_text(m, range(1)->domain), "CCCL");
    ck_assert_str_eq(memory_text(m, range(2)->domain), "nvtx");
    ck_assert_str_eq(memory_text(m, range(3)->domain), "nvtx");
    for (uint32_t i = 0; i < m->strings.n; i++) /* only texts that a row refers to come along */
        ck_assert_ptr_null(strstr(m->strings.text[i], "secret"));
    ck_assert_ptr_null(memory_meta(m, "framework"));
}

/* The first exports: no grid, no mangled name, no table of streams, kinds of memory or ranges. */
TEST(test_bare_2020)
{
    read_export(STRINGS KERNEL_2020
                "INSERT INTO StringIds VALUES (1, 'k');"
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 0, 1, 7, 3, " PID
                ", 1, 1);");
    const struct row_kernel *k = MEMORY_ROW(m, kernel, ROW_KERNEL, 0);
    ck_assert_str_eq(memory_text(m, k->name), "k");
    ck_assert(k->end_ns - k->start_ns == 100 && k->grid_x == 0 && k->registers == -1);
    ck_assert_str_eq(memory_meta(m, "have"), "kernels,copies,memsets");
}

/* Copies between arrays are copies like others. */
TEST(test_array_copies)
{
    read_export(STRINGS
                "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, "
                "contextId INT, streamId INT, correlationId INT, globalPid INT, bytes INT, "
                "copyKind INT, srcKind INT, dstKind INT);"
                "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES "
                "(1, 2, 0, 1, 7, 1, " PID ", 8, 3, 1, 3), (3, 4, 0, 1, 7, 2, " PID
                ", 8, 4, 3, 1), (5, 6, 0, 1, 7, 3, " PID ", 8, 6, 3, 2), (7, 8, 0, 1, 7, 4, " PID
                ", 8, 10, 2, 2), (9, 10, 0, 1, 7, 0, " PID
                ", 8, 11, 7, 7), (11, 12, 0, 1, 7, 0, " PID ", 8, 12, 7, 7)");
    static const int64_t kinds[] = {COPY_H2D, COPY_D2H, COPY_D2D, COPY_P2P, COPY_H2D, COPY_D2H};
    for (int i = 0; i < 6; i++) {
        const struct row_copy *c = MEMORY_ROW(m, copy, ROW_COPY, i);
        ck_assert_int_eq(c->kind, kinds[i]);
        bool migrates = c->src_kind == MEMORY_MANAGED && c->dst_kind == MEMORY_MANAGED;
        ck_assert(migrates == (i >= 4)); /* 11 and 12: pages of managed memory */
    }
}

/* GPU metrics: means over 10 ms by GPU, clocks in MHz whatever the unit; counters of no use and
 * GPUs that did nothing are passed over. */
TEST(test_gpu_metrics)
{
    read_export(STRINGS KERNEL_2020
                "INSERT INTO StringIds VALUES (1, 'k');"
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 200000000, 1, 1, 7, 3, " PID
                ", 1, 1);"
                "CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INT, sourceId INT, typeName TEXT, "
                "metricId INT, metricName TEXT);"
                "INSERT INTO TARGET_INFO_GPU_METRICS VALUES (0x101, 0, 'GA10x', 1, 'GPC Clock "
                "Frequency [MHz]'), (0x101, 0, 'GA10x', 2, 'GR Active [Throughput %]'), (0x101, 0, "
                "'GA10x', 3, 'SMs Active [Throughput %]'), (0x107, 0, 'GA10x', 2, 'GR Active "
                "[Throughput %]');"
                "CREATE TABLE GPU_METRICS (timestamp INT, typeId INT, metricId INT, value INT);"
                "INSERT INTO GPU_METRICS VALUES (1000, 0x101, 1, 1410000000), (1000, 0x101, 2, 90),"
                "(1000, 0x101, 3, 5), (2000, 0x101, 1, 1390000000), (2000, 0x101, 2, 70),"
                "(20002000, 0x101, 1, 1200), (20002000, 0x107, 2, 3)");
    ck_assert_int_eq(m->count[ROW_GPU_SAMPLE], 2);
    const struct row_gpu_sample *s = MEMORY_ROW(m, gpu_sample, ROW_GPU_SAMPLE, 0);
    ck_assert(s->time_ns == 0 && s->sm_clock_mhz == 1400 && s->util_pct == 80 && s->power_mw == -1);
    s = MEMORY_ROW(m, gpu_sample, ROW_GPU_SAMPLE, 1);
    ck_assert(s->time_ns == 20001000 && s->sm_clock_mhz == 1200 && s->util_pct == -1);
    ck_assert_int_eq(s->device, MEMORY_ROW(m, device, ROW_DEVICE, 0)->id);
}

/* Damaged counters: no sample, no harm. */
TEST(test_hostile_metrics)
{
    read_export(STRINGS "CREATE TABLE TARGET_INFO_GPU_METRICS (typeId, metricId, metricName);"
                        "INSERT INTO TARGET_INFO_GPU_METRICS VALUES ('x', NULL, 'GR Active'), "
                        "(-1, 2, x'ff'), (9223372036854775807, 3, 'GR Active');"
                        "CREATE TABLE GPU_METRICS (timestamp, typeId, metricId, value);"
                        "INSERT INTO GPU_METRICS VALUES (NULL, 0, 0, 'x'), (-5, 0, 0, 1), "
                        "(9223372036854775807, 9223372036854775807, 3, 9e300), (1, 0, 0, -1)");
    ck_assert_int_eq(m->count[ROW_GPU_SAMPLE], 0);
}

/* Number 7 is a context's first stream, the legacy default one, where no table says more. */
TEST(test_kinds_of_streams)
{
    read_export(STRINGS KERNEL_2020
                "CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId INT, hwId INT, vmId INT, processId "
                "INT, contextId INT, priority INT, flag INT);"
                "INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (7, 0, 1, 66, 1, 0, 3), "
                "(13, 0, 1, 66, 1, 0, 1), (14, 0, 1, 66, 1, 0, 2), (14, 0, 1, 66, 2, 0, 1);"
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
                "(10, 20, 0, 1, 7, 1, " PID ", 1, 1), (30, 40, 0, 1, 13, 2, " PID ", 1, 1), "
                "(50, 60, 0, 1, 14, 3, " PID ", 1, 1), (70, 80, 0, 1, 15, 4, " PID ", 1, 1), "
                "(90, 95, 0, 3, 7, 5, " PID ", 1, 1)");
    static const int64_t flags[] = {STREAM_LEGACY_DEFAULT, 0, STREAM_NON_BLOCKING, -1,
                                    STREAM_LEGACY_DEFAULT};
    ck_assert_int_eq(m->count[ROW_STREAM], 5);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(MEMORY_ROW(m, stream, ROW_STREAM, i)->flags, flags[i]);
}

/* Nsight's own complaints about CUDA: the reason first, each once, and no questions. */
TEST(test_diagnostics)
{
    read_export(STRINGS NVTX
                "CREATE TABLE DIAGNOSTIC_EVENT (timestamp INT, timestampType INT, source INT, "
                "severity INT, text TEXT, globalPid INT);"
                "INSERT INTO DIAGNOSTIC_EVENT VALUES (0, 2, 3, 1, 'CUDA injection initialized.', 0)"
                ",(1, 2, 3, 2, 'Not all CUDA events might have been collected.', 0)"
                ",(2, 2, 3, 2, 'Not all CUDA events might have been collected.', 0)"
                ",(3, 2, 3, 2, 'No NVTX events collected. Does the process use NVTX?', 0)"
                ",(4, 2, 3, 2, 'No CUDA events collected. Does the process use CUDA?', 0)"
                ",(5, 2, 2, 2, 'Unable to collect CPU samples. perf event paranoid level is 2.', 0)"
                ",(6, 2, 1, 3, 'ActivityFlushAll returned 15: CUPTI_ERROR_NOT_INITIALIZED\nx', 0)"
                ",(7, 2, 1, 2, 'Installed CUDA driver version (13.3) is not supported', 0)");
    static const char *const texts[] = {"Installed CUDA driver version (13.3) is not supported",
                                        "ActivityFlushAll returned 15: CUPTI_ERROR_NOT_INITIALIZED",
                                        "Not all CUDA events might have been collected."};
    ck_assert_int_eq(m->count[ROW_HEALTH], 3);
    for (int i = 0; i < 3; i++) {
        const struct row_health *h = MEMORY_ROW(m, health, ROW_HEALTH, i);
        ck_assert_str_eq(memory_text(m, h->text), texts[i]);
        ck_assert_int_eq(h->severity, i == 1 ? 2 : 1);
    }
}
