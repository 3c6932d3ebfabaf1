/* The Kineto importer on small traces of every generation, written here. */
#include "tests/unit/test.h"
#include "analyzer/import/import.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct importer import_kineto;

/* A sink that keeps the last row of each kind and counts. */
struct capture {
    struct str_table strings;
    int count[ROW_KINDS];
    struct row_kernel kernel;
    struct row_copy copy;
    struct row_api api;
    struct row_sync sync;
    struct row_range range;
    struct row_stream stream;
    struct row_device device;
    struct row_process process;
    struct row_collective collective;
    char have[256];
};

static uint32_t intern(void *self, const char *s, size_t n)
{
    return str_intern(&((struct capture *)self)->strings, s, n);
}

static int put(void *self, enum row_kind kind, const void *row, struct err *e)
{
    (void)e;
    struct capture *c = self;
    c->count[kind]++;
    switch (kind) {
    case ROW_KERNEL:
        c->kernel = *(const struct row_kernel *)row;
        break;
    case ROW_COPY:
        c->copy = *(const struct row_copy *)row;
        break;
    case ROW_API:
        c->api = *(const struct row_api *)row;
        break;
    case ROW_SYNC:
        c->sync = *(const struct row_sync *)row;
        break;
    case ROW_RANGE:
        c->range = *(const struct row_range *)row;
        break;
    case ROW_STREAM:
        c->stream = *(const struct row_stream *)row;
        break;
    case ROW_DEVICE:
        c->device = *(const struct row_device *)row;
        break;
    case ROW_PROCESS:
        c->process = *(const struct row_process *)row;
        break;
    case ROW_COLLECTIVE:
        c->collective = *(const struct row_collective *)row;
        break;
    case ROW_META: {
        const struct row_meta *m = row;
        if (strcmp(str_text(&c->strings, m->key), "have") == 0)
            snprintf(c->have, sizeof c->have, "%s", str_text(&c->strings, m->value));
        break;
    }
    default:
        break;
    }
    return 0;
}

/* Imports `text`; the returned capture is static. */
static struct capture *import(const char *text, int *rc, struct err *e)
{
    static struct capture c;
    char path[] = "/tmp/gpuprof-kineto-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    str_table_release(&c.strings);
    memset(&c, 0, sizeof c);
    str_table_init(&c.strings);
    struct sink sink = {.self = &c, .intern = intern, .put = put};
    *rc = import_kineto.read(path, &sink, e);
    unlink(path);
    return &c;
}

TEST(todays_form)
{
    int rc;
    struct err e = ERR_INIT;
    struct capture *c = import(
        "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H200\", "
        "\"totalGlobalMem\": 150, \"computeMajor\": 9, \"computeMinor\": 0, \"numSms\": 132}],"
        "\"distributedInfo\": {\"rank\": 3, \"world_size\": 8}, \"traceEvents\": ["
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":42,\"tid\":"
        "43,\"ts\":"
        "100.5,\"dur\":3.25,\"args\":{\"cbid\":211,\"correlation\":7}},"
        "{\"ph\":\"s\",\"id\":7,\"pid\":42,\"tid\":43,\"ts\":100.5,\"cat\":\"ac2g\",\"name\":"
        "\"ac2g\"},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm<\\\"a\\\">\",\"pid\":0,\"tid\":7,\"ts\":"
        "110,\"dur\":"
        "20.001,\"args\":{\"device\":0,\"context\":1,\"stream\":7,\"correlation\":7,\"registers "
        "per "
        "thread\":64,\"shared memory\":128,\"grid\":[4,2,1],\"block\":[256,1,1]}},"
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (Pageable -> "
        "Device)\",\"pid\":0,\"tid\":7,"
        "\"ts\":140,\"dur\":2,\"args\":{\"device\":0,\"stream\":7,\"correlation\":8,\"bytes\":4096}"
        "},"
        "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Stream "
        "Sync\",\"pid\":0,\"tid\":7,\"ts\":150,\"dur\":9,"
        "\"args\":{\"stream\":7,\"correlation\":9}},"
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#5\",\"pid\":42,\"tid\":"
        "43,\"ts\":90,"
        "\"dur\":100,\"args\":{\"External id\":1}}],\"baseTimeNanoseconds\":5}",
        &rc, &e);
    ck_assert_msg(rc == 0, "%s", e.text);
    ck_assert_int_eq(c->kernel.end_ns - c->kernel.start_ns, 20001);
    ck_assert_int_eq(c->kernel.start_ns - c->api.start_ns, 9500);
    ck_assert_int_eq(c->kernel.correlation, c->api.correlation);
    ck_assert_str_eq(str_text(&c->strings, c->kernel.name), "gemm<\"a\">");
    ck_assert_int_eq(c->kernel.grid_y, 2);
    ck_assert_int_eq(c->kernel.registers, 64);
    ck_assert_int_eq(c->copy.kind, COPY_H2D);
    ck_assert_int_eq(c->copy.src_kind, MEMORY_PAGEABLE);
    ck_assert_int_eq(c->copy.dst_kind, MEMORY_DEVICE);
    ck_assert_int_eq(c->copy.bytes, 4096);
    ck_assert_int_eq(c->sync.type, SYNC_STREAM);
    ck_assert_int_eq(c->range.start_ns, -10500);
    ck_assert_int_eq(c->device.sm_count, 132);
    ck_assert_int_eq(c->process.rank, 3);
    ck_assert_int_eq(c->process.pid, 42);
    ck_assert_str_eq(c->have, "kernels,copies,memsets,memory_kinds,api,sync,ranges,ranks,device");
}

TEST(form_of_2021_with_texts_for_ids_and_a_bare_list)
{
    int rc;
    struct err e = ERR_INIT;
    struct capture *c = import("[{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"aten::empty\","
                               "\"pid\":25738,\"tid\":\"25738\",\"ts\":"
                               "1623142623460111,\"dur\":25,\"args\":{\"Input Dims\":[[],[]]}},"
                               "{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"k\",\"pid\":0,\"tid\":"
                               "\"stream 7\",\"ts\":1623142623460200,"
                               "\"dur\":2,\"args\":{\"device\":0,\"correlation\":3}},"
                               "{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"cudaLaunchKernel\","
                               "\"pid\":25738,\"tid\":\"25738\",\"ts\":"
                               "1623142623460190,\"dur\":5,\"args\":{\"correlation\":3}},"
                               "{\"ph\":\"X\",\"cat\":\"Trace\",\"ts\":1,\"dur\":1,\"pid\":"
                               "\"Traces\",\"tid\":\"x\",\"name\":\"p\"}]",
                               &rc, &e);
    ck_assert_msg(rc == 0, "%s", e.text);
    ck_assert_int_eq(c->count[ROW_KERNEL], 1);
    ck_assert_int_eq(c->stream.stream, 7);
    ck_assert_int_eq(c->kernel.start_ns, 89000);
    ck_assert_int_eq(c->count[ROW_THREAD], 1);
    ck_assert_str_eq(c->have, "kernels,copies,memsets,api,ranges,device");
}

TEST(hip_with_a_call_of_its_driver)
{
    int rc;
    struct err e = ERR_INIT;
    struct capture *c =
        import("{\"schemaVersion\":1,\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"hip_driver\","
               "\"name\":\"hipModuleLaunchKernel\","
               "\"pid\":42,\"tid\":43,\"ts\":100,\"dur\":5,\"args\":{\"correlation\":7}},"
               "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"Cijk_Ailk_Bljk\",\"pid\":2,\"tid\":0,"
               "\"ts\":110,\"dur\":20,"
               "\"args\":{\"device\":2,\"stream\":0,\"correlation\":7}}]}",
               &rc, &e);
    ck_assert_msg(rc == 0, "%s", e.text);
    ck_assert_int_eq(c->count[ROW_API], 1);
    ck_assert_int_eq(c->api.layer, 1);
    ck_assert_str_eq(str_text(&c->strings, c->api.name), "hipModuleLaunchKernel");
    ck_assert_int_eq(c->kernel.correlation, c->api.correlation);
    ck_assert_int_eq(c->stream.stream, 0);
    ck_assert_int_eq(c->stream.flags, STREAM_LEGACY_DEFAULT); /* 7 in CUPTI, 0 in HIP */
}

TEST(texts_for_process_ids)
{
    int rc;
    struct err e = ERR_INIT;
    struct capture *c = import("[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":"
                               "\"cudaLaunchKernel\",\"pid\":\"25738\",\"tid\":\"25739\","
                               "\"ts\":\"100\",\"dur\":5,\"args\":{\"correlation\":\"3\"}},"
                               "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":\"0\","
                               "\"tid\":\"stream 7\",\"ts\":110,\"dur\":2,"
                               "\"args\":{\"device\":0,\"stream\":7,\"correlation\":3}}]",
                               &rc, &e);
    ck_assert_msg(rc == 0, "%s", e.text);
    ck_assert_int_eq(c->process.pid, 25738);
    ck_assert_int_eq(c->count[ROW_PROCESS], 1);
    ck_assert_int_eq(c->count[ROW_KERNEL], 1);
    ck_assert_int_eq(c->kernel.correlation, c->api.correlation);
    ck_assert_int_eq(c->kernel.start_ns - c->api.start_ns, 10000);
}

/* Merging tools write the rank before each pid; correlations then occur once a rank. */
TEST(ranks_in_brackets_before_the_pids)
{
    int rc;
    struct err e = ERR_INIT;
    struct capture *c = import(
        "{\"traceEvents\": ["
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":\"[TP00] "
        "4242\",\"tid\":4242,\"ts\":1,\"dur\":1,\"args\":{\"correlation\":7}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":\"[TP00] 0\",\"tid\":7,\"ts\":3,"
        "\"dur\":1,\"args\":{\"device\":0,\"stream\":7,\"correlation\":7}},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":\"[TP03] "
        "4243\",\"tid\":4242,\"ts\":1,\"dur\":1,\"args\":{\"correlation\":7}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":\"[TP03] 3\",\"tid\":7,\"ts\":3,"
        "\"dur\":1,\"args\":{\"device\":3,\"stream\":7,\"correlation\":7}}]}",
        &rc, &e);
    ck_assert_msg(rc == 0, "%s", e.text);
    ck_assert_int_eq(c->count[ROW_PROCESS], 2);
    ck_assert_int_eq(c->count[ROW_THREAD], 2);
    ck_assert_int_eq(c->count[ROW_STREAM], 2);
    ck_assert_int_eq(c->process.rank, 3);
    ck_assert_int_eq(c->process.pid, 4243);
    ck_assert_int_eq(c->kernel.process, 2);
    ck_assert_int_eq(c->api.process, 2);
    ck_assert_int_eq(c->device.ordinal, 3);
}

/* TraceLens adds a power of ten for each rank to the pids of the ranks behind the first, and keeps
 * what they were. */
TEST(ranks_fused_by_their_pids)
{
    int rc;
    struct err e = ERR_INIT;
    struct capture *c = import(
        "{\"traceEvents\": ["
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":4242,\"tid\":4242,\"ts\":1,"
        "\"dur\":3,\"args\":{\"rank\":0,\"pid_raw\":4242}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":3,\"dur\":1,"
        "\"args\":{\"device\":0,\"stream\":7,\"correlation\":7,\"rank\":0,\"pid_raw\":0}},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":104249,\"tid\":4249,\"ts\":"
        "1,"
        "\"dur\":3,\"args\":{\"rank\":1,\"pid_raw\":4249}},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":104249,"
        "\"tid\":4249,\"ts\":1,\"dur\":1,\"args\":{\"correlation\":1007,\"rank\":1,\"pid_raw\":"
        "4249}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":100001,\"tid\":7,\"ts\":3,\"dur\":"
        "1,"
        "\"args\":{\"device\":1,\"stream\":7,\"correlation\":1007,\"rank\":1,\"pid_raw\":1}}]}",
        &rc, &e);
    ck_assert_msg(rc == 0, "%s", e.text);
    ck_assert_int_eq(c->count[ROW_PROCESS], 2);
    ck_assert_int_eq(c->count[ROW_THREAD], 2);
    ck_assert_int_eq(c->count[ROW_STREAM], 2);
    ck_assert_int_eq(c->process.rank, 1);
    ck_assert_int_eq(c->kernel.process, 2);
    ck_assert_int_eq(c->api.process, 2);
    ck_assert_int_eq(c->device.ordinal, 1);
    c = import(/* kernels alone: their pids do not tell how far apart ranks are */
               "{\"traceEvents\": ["
               "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":3,"
               "\"dur\":1,"
               "\"args\":{\"device\":0,\"stream\":7,\"rank\":0,\"pid_raw\":0}},"
               "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":300001,\"tid\":7,\"ts\":3,"
               "\"dur\":1,"
               "\"args\":{\"device\":1,\"stream\":7,\"rank\":3,\"pid_raw\":1}}]}",
               &rc, &e);
    ck_assert_msg(rc == 0, "%s", e.text);
    ck_assert_int_eq(c->count[ROW_PROCESS], 2);
    ck_assert_int_eq(c->process.rank, 3);
}

/* Our own exports of several ranks say in their header whose pids are whose. */
TEST(ranks_told_by_the_header)
{
    int rc;
    struct err e = ERR_INIT;
    struct capture *c = import(
        "{\"gpuprof\": {\"ranks\": [{\"first_pid\": 5000, \"last_pid\": 5999, \"pid\": 77, "
        "\"rank\": "
        "4, \"world_size\": 8}, {\"first_pid\": 8000, \"last_pid\": 8999, \"pid\": 78, \"rank\": "
        "7, "
        "\"world_size\": 8}]}, \"deviceProperties\": [{\"id\": 0, \"pid\": 5000, \"name\": \"A\"}, "
        "{\"id\": 0, \"pid\": 8000, \"name\": \"B\"}], \"traceEvents\": ["
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":8000,\"tid\":7,\"ts\":3,\"dur\":1,"
        "\"args\":{\"device\":0,\"stream\":7,\"correlation\":7}}]}",
        &rc, &e);
    ck_assert_msg(rc == 0, "%s", e.text);
    ck_assert_int_eq(c->count[ROW_PROCESS], 2);
    ck_assert_int_eq(c->count[ROW_DEVICE], 2);
    ck_assert_int_eq(c->process.rank, 7);
    ck_assert_int_eq(c->process.pid, 78);
    ck_assert_int_eq(c->process.world_size, 8);
    ck_assert_int_eq(c->kernel.process, 2);
    ck_assert_int_eq(c->stream.device, 2);
    ck_assert_int_eq(c->device.process, 2);
}

TEST(bad_numbers_are_left_out_and_counted)
{
    int rc;
    struct err e = ERR_INIT;
    struct capture *c = import(
        "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"pid\":0,\"tid\":7,\"ts\":NaN,\"dur\":1}"
        ","
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"pid\":0,\"tid\":7,\"ts\":1e300,\"dur\":"
        "1},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"c\",\"pid\":0,\"tid\":7,\"ts\":10,\"dur\":-4},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"d\",\"pid\":0,\"tid\":7,\"ts\":10,\"dur\":4}, "
        "5, [], \"x\"]",
        &rc, &e);
    ck_assert_msg(rc == 0, "%s", e.text);
    ck_assert_int_eq(c->count[ROW_KERNEL], 1);
    ck_assert_int_eq(c->count[ROW_HEALTH], 1);
}

/* A collective's bytes are its elements by their type; of a type that is not known, nobody knows.
 */
TEST_EACH(collectives_have_bytes, 0, 5)
{
    static const struct {
        const char *args;
        int64_t bytes;
    } cases[] = {{"\"In msg nelems\":2873320,\"dtype\":\"BFloat16\"", 5746640},
                 {"\"dtype\":\"Float\",\"In msg nelems\":10", 40},
                 {"\"dtype\":\"Mystery\",\"In msg nelems\":10", -1},
                 {"\"In msg nelems\":10", -1},
                 {"\"dtype\":\"Float\"", -1}};
    int rc;
    struct err e = ERR_INIT;
    char text[600];
    snprintf(text, sizeof text,
             "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel\","
             "\"pid\":0,\"tid\":7,\"ts\":110,\"dur\":20,\"args\":{\"device\":0,\"stream\":7,"
             "\"correlation\":7,\"Collective name\":\"allreduce\",\"Group size\":8,%s}}]}",
             cases[_i].args);
    struct capture *c = import(text, &rc, &e);
    ck_assert_msg(rc == 0, "%s", e.text);
    ck_assert_int_eq(c->count[ROW_COLLECTIVE], 1);
    ck_assert_int_eq(c->collective.bytes, cases[_i].bytes);
    ck_assert_int_eq(c->collective.ranks, 8);
    ck_assert_int_eq(c->collective.kernel, c->kernel.id);
    ck_assert_str_eq(str_text(&c->strings, c->collective.name), "allreduce");
}

TEST(foreign_and_cut_files_say_so_in_one_line)
{
    static const char *const bad[] = {"{\"a\":1}", "{\"traceEvents\":[{\"ph\":\"X\"", "[1,2",
                                      "{\"traceEvents\":7}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int rc;
        struct err e = ERR_INIT;
        import(bad[i], &rc, &e);
        ck_assert_int_eq(rc, -1);
        ck_assert_ptr_null(strchr(e.text, '\n'));
        ck_assert_ptr_nonnull(strstr(e.text, "trace"));
    }
}
