/* The Nsight Systems importer on small exports that the test makes: the schemas of 2021 and of
 * 2026, hostile ones, others. */
#include "tests/unit/test.h"
#include "tests/unit/nsys_export.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <zlib.h>

static void refused(const char *reason)
{
    struct err e = ERR_INIT;
    ck_assert_int_eq(import_nsys.read(path, &out, &e), -1);
    ck_assert_msg(strstr(e.text, path) && strstr(e.text, reason) && !strchr(e.text, '\n'), "%s",
                  e.text);
}

/* ---- what an export of 2021 has ---- */

#define OLD                                                                                        \
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"                                 \
    "INSERT INTO StringIds VALUES (0, ''), (1, 'cudaLaunchKernel_v7000'), (2, 'gemm<float>'), "    \
    "(3, '_Z4gemmv'),"                                                                             \
    " (4, 'cuMemcpyHtoDAsync_v2'), (5, 'main thread'), (9, 'cudaMemcpy_v3020'), (10, 'my_v'), "    \
    "(11, 'registered');"                                                                          \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, eventClass INT, globalTid "     \
    "INT, correlationId INT,"                                                                      \
    " nameId INT, returnValue INT);"                                                               \
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1010, 0, " TID                          \
    ", 7, 1, 0), (1020, 1050, 1, " TID ", 8, 4, 0), (1060, 1070, 0, " TID ", 9, 10, 98);"          \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, "   \
    "streamId INT,"                                                                                \
    " correlationId INT, globalPid INT, demangledName INT, shortName INT, gridX INT, gridY INT, "  \
    "gridZ INT);"                                                                                  \
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1100, 1200, 0, 1, 7, 7, " PID                  \
    ", 2, 2, 80, 2, 1);"                                                                           \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, contextId INT, "   \
    "streamId INT,"                                                                                \
    " correlationId INT, globalPid INT, bytes INT, copyKind INT, srcKind INT, dstKind INT);"       \
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1300, 1400, 0, 1, 13, 8, " PID                 \
    ", 4096, 1, 0, 2),"                                                                            \
    " (1500, 1600, 0, 1, 13, 8, " PID ", 16, 2, 2, 1), (1700, 1800, 0, 1, 13, 0, " PID             \
    ", 16, 11, 4, 99);"

TEST_FIXTURE(setup, teardown)

TEST(test_old)
{
    build(OLD);
    read_it();
    const struct row_api *a = MEMORY_ROW(m, api, ROW_API, 0);
    ck_assert_int_eq(m->count[ROW_API], 3);
    ck_assert_str_eq(memory_text(m, a->name), "cudaLaunchKernel");
    ck_assert(a->start_ns == 0 && a->end_ns == 10 && a->correlation == 7 &&
              a->layer == 0); /* time 0: the first of all */
    a = MEMORY_ROW(m, api, ROW_API, 1);
    ck_assert_str_eq(memory_text(m, a->name), "cuMemcpyHtoDAsync");
    ck_assert_int_eq(a->layer, 1);
    a = MEMORY_ROW(m, api, ROW_API, 2);
    ck_assert_str_eq(memory_text(m, a->name), "my_v"); /* no number behind it: not a version */
    ck_assert_int_eq(a->result, 98);
    const struct row_kernel *k = MEMORY_ROW(m, kernel, ROW_KERNEL, 0);
    ck_assert_str_eq(memory_text(m, k->name), "gemm<float>");
    ck_assert(k->start_ns == 100 && k->end_ns == 200 && k->grid_x == 80 && k->grid_y == 2);
    ck_assert(k->registers == -1 && k->smem_dynamic == -1 &&
              k->graph == 0); /* columns that it lacks */
    ck_assert_int_eq(m->count[ROW_PROCESS], 1);
    ck_assert_int_eq(MEMORY_ROW(m, process, ROW_PROCESS, 0)->pid, 0x42);
    ck_assert_int_eq(MEMORY_ROW(m, thread, ROW_THREAD, 0)->tid, 0x43);
    ck_assert_int_eq(m->count[ROW_STREAM], 2);
    ck_assert_int_eq(m->count[ROW_DEVICE], 1);
    ck_assert_int_eq(MEMORY_ROW(m, device, ROW_DEVICE, 0)->cc_major, -1);
    ck_assert_str_eq(memory_meta(m, "have"), "kernels,copies,memsets,memory_kinds,api");
    ck_assert_str_eq(memory_meta(m, "source"), "nsys");
}

TEST(test_memory_kinds)
{
    build(OLD);
    read_it();
    const struct row_copy *c = MEMORY_ROW(m, copy, ROW_COPY, 0);
    ck_assert_int_eq(m->count[ROW_COPY], 3);
    ck_assert(c->kind == COPY_H2D && c->src_kind == MEMORY_PAGEABLE &&
              c->dst_kind == MEMORY_DEVICE && c->bytes == 4096);
    ck_assert_int_eq(c->is_async, -1);
    c = MEMORY_ROW(m, copy, ROW_COPY, 1);
    ck_assert(c->kind == COPY_D2H && c->src_kind == MEMORY_DEVICE && c->dst_kind == MEMORY_PINNED);
    c = MEMORY_ROW(m, copy, ROW_COPY, 2); /* unified memory moved it, whatever kind is told */
    ck_assert(c->kind == COPY_H2D && c->src_kind == MEMORY_MANAGED &&
              c->dst_kind == MEMORY_MANAGED);
}

/* ---- what an export of 2026 adds ---- */

#define NEW                                                                                        \
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INT, utcTime TEXT);"                  \
    "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, 'then');"             \
    "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN mangledName INT;"                           \
    "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN graphNodeId INT;"                           \
    "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN registersPerThread INT;"                    \
    "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET mangledName = 3, graphNodeId = 5, registersPerThread "  \
    "= 32;"                                                                                        \
    "CREATE TABLE TARGET_INFO_GPU (vmId INT, id INT, name TEXT, l2CacheSize INT, totalMemory "     \
    "INT, memoryBandwidth INT,"                                                                    \
    " clockRate INT, smCount INT, asyncEngines INT, computeMajor INT, computeMinor INT, uuid "     \
    "TEXT);"                                                                                       \
    "INSERT INTO TARGET_INFO_GPU VALUES (0, 1, 'other', 1, 1, 1, 1, 1, 1, 7, 0, ''),"              \
    " (0, 0, 'NVIDIA H100', 50, 80, 3350, 1980000000, 132, 3, 9, 0, '');"                          \
    "CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, globalTid INT, "      \
    "textId INT, domainId INT);"                                                                   \
    "INSERT INTO NVTX_EVENTS VALUES (1000, 2000, 59, 'step', " TID                                 \
    ", NULL, 0), (1100, 1150, 59, NULL, " TID ", 11, 0), (1100, NULL, 59, 'open', " TID            \
    ", NULL, 0), (1100, NULL, 34, 'mark', " TID ", NULL, 0),"                                      \
    " (1100, 1300, 60, 'startend', " TID ", NULL, 0), (1100, 1300, 75, 'domain', " TID             \
    ", NULL, 0);"                                                                                  \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INT, end INT, deviceId INT, "         \
    "contextId INT, streamId INT,"                                                                 \
    " correlationId INT, globalPid INT, syncType INT, eventId INT, eventSyncId INT);"              \
    "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1250, 1290, 0, 1, 7, 9, " PID         \
    ", 3, 0, NULL),"                                                                               \
    " (1250, 1290, 0, 1, 4294967295, 9, " PID ", 4, 0, 12);"                                       \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INT, contextId INT, streamId INT, "     \
    "correlationId INT,"                                                                           \
    " globalPid INT, eventId INT, eventSyncId INT);"                                               \
    "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 1, 7, 3, " PID ", 77, 12);"             \
    "CREATE TABLE ThreadNames (nameId INT, priority INT, globalTid INT);"                          \
    "INSERT INTO ThreadNames VALUES (5, 10, " TID ");"                                             \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT, end INT, deviceId INT, contextId "   \
    "INT, streamId INT,"                                                                           \
    " correlationId INT, globalPid INT, graphId INT);"                                             \
    "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1900, 1950, 0, 1, 7, 4, " PID ", 6);"     \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INT, end INT, deviceId INT, contextId INT, "   \
    "streamId INT,"                                                                                \
    " correlationId INT, globalPid INT, value INT, bytes INT);"                                    \
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (1960, 1970, 0, 1, 7, 4, " PID ", 255, 64);"    \
    "CREATE TABLE PROFILER_OVERHEAD (start INT, end INT, globalTid INT, returnValue INT, nameId "  \
    "INT);"                                                                                        \
    "INSERT INTO PROFILER_OVERHEAD VALUES (1010, 1015, " TID ", 0, 5);"

TEST(test_new)
{
    build(OLD NEW);
    read_it();
    ck_assert_int_eq(out.epoch_ns, 1700000000000001000);
    const struct row_kernel *k = MEMORY_ROW(m, kernel, ROW_KERNEL, 0),
                            *g = MEMORY_ROW(m, kernel, ROW_KERNEL, 1);
    ck_assert_str_eq(memory_text(m, k->name), "_Z4gemmv"); /* as recorded */
    ck_assert(k->graph_node == 5 && k->registers == 32 && k->start_ns == 100);
    ck_assert_str_eq(memory_text(m, g->name), "CUDA graph");
    ck_assert(g->graph == 6 && memory_health(m, "graphs-opaque") == 0);
    const struct row_device *d = MEMORY_ROW(m, device, ROW_DEVICE, 0);
    ck_assert_str_eq(memory_text(m, d->name), "NVIDIA H100");
    ck_assert(d->cc_major == 9 && d->sm_count == 132 && d->clock_khz == 1980000 &&
              d->memory_bytes_per_s == 3350);
    ck_assert_int_eq(m->count[ROW_RANGE], 3); /* no marks, no open ends, no names of domains */
    ck_assert_str_eq(memory_text(m, MEMORY_ROW(m, range, ROW_RANGE, 0)->name), "step");
    ck_assert_str_eq(memory_text(m, MEMORY_ROW(m, range, ROW_RANGE, 1)->name), "registered");
    ck_assert_str_eq(memory_text(m, MEMORY_ROW(m, range, ROW_RANGE, 2)->name), "startend");
    const struct row_sync *s = MEMORY_ROW(m, sync, ROW_SYNC, 0),
                          *whole = MEMORY_ROW(m, sync, ROW_SYNC, 1);
    ck_assert(s->type == SYNC_STREAM && s->stream == k->stream && s->event_sync == -1);
    ck_assert(whole->type == SYNC_CONTEXT && whole->stream == -1 && whole->event_sync == 12);
    const struct row_event *v = MEMORY_ROW(m, event, ROW_EVENT, 0);
    ck_assert(v->event == 77 && v->event_sync == 12 && v->stream == k->stream);
    ck_assert_str_eq(memory_text(m, MEMORY_ROW(m, thread, ROW_THREAD, 0)->name), "main thread");
    const struct row_memset *z = MEMORY_ROW(m, memset, ROW_MEMSET, 0);
    ck_assert(z->value == 255 && z->bytes == 64);
    ck_assert_int_eq(MEMORY_ROW(m, overhead, ROW_OVERHEAD, 0)->end_ns, 15);
    ck_assert_str_eq(memory_meta(m, "have"),
                     "kernels,copies,memsets,memory_kinds,api,sync,events,ranges,device");
}

/* A second export of the same host keeps the first one's time 0. */
TEST(test_same_scale)
{
    out.epoch_ns = 1700000000000000500;
    build(OLD NEW);
    read_it();
    ck_assert_int_eq(out.epoch_ns, 1700000000000000500);
    ck_assert_int_eq(MEMORY_ROW(m, kernel, ROW_KERNEL, 0)->start_ns, 600);
}

/* Whatever an export says about the machine and its environment stays there. */
TEST(test_environment_is_not_read)
{
    build(OLD NEW "CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);"
                  "CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT); CREATE TABLE "
                  "ANALYSIS_FILE (id INT, content TEXT);"
                  "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Environment', 'SECRET=sesame');"
                  "INSERT INTO META_DATA_CAPTURE VALUES ('COMMAND_LINE', 'SECRET=sesame');"
                  "INSERT INTO ANALYSIS_FILE VALUES (1, 'SECRET=sesame')");
    read_it();
    ck_assert_int_gt(m->strings.n, 5);
    for (uint32_t i = 0; i < m->strings.n; i++)
        ck_assert_ptr_null(strstr(m->strings.text[i], "sesame"));
}

TEST(test_ranges_alone)
{
    build("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
          "CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT);"
          "INSERT INTO NVTX_EVENTS VALUES (5, 9, 59, 'step')");
    read_it();
    ck_assert_str_eq(memory_meta(m, "have"),
                     "ranges"); /* that there was no GPU work is not known */
    ck_assert_int_eq(MEMORY_ROW(m, range, ROW_RANGE, 0)->end_ns, 4);
}

/* ---- hostile ---- */

TEST(test_hostile_types)
{
    build(OLD NEW "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 'a', x'00', NULL, 'x', -1, 1e300, "
                  "'p', -5, 1e30, '', NULL, x'ff', "
                  "99999999, NULL, 1e300;"
                  "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end) VALUES "
                  "(-9223372036854775808, 9223372036854775807),"
                  " (9223372036854775807, NULL), (-9223372036854775808, NULL), (5, "
                  "9223372036854775807), (2000, 1999);"
                  "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1100, 1200, 0, -1, -1, "
                  "9223372036854775807, 'bad'),"
                  " (1100, 1200, NULL, NULL, NULL, NULL, NULL), (1100, 1200, 0, "
                  "9223372036854775807, 0, -3, 0);"
                  "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 0, 0, 0, 0, 0, -5, "
                  "9223372036854775807, -1, 'x');"
                  "INSERT INTO NVTX_EVENTS VALUES ('x', 'y', 'z', x'c0ff', 'tid', 'text', 0), (1, "
                  "2, 59, x'ff00fe', NULL, NULL, 0);"
                  "UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = -9223372036854775808;"
                  "INSERT INTO StringIds VALUES (20, x'ff00'), (-4, 'minus'), (21, NULL)");
    read_it();
    for (int i = 0; i < m->count[ROW_KERNEL]; i++)
        ck_assert_int_ge(MEMORY_ROW(m, kernel, ROW_KERNEL, i)->end_ns,
                         MEMORY_ROW(m, kernel, ROW_KERNEL, i)->start_ns);
    ck_assert_int_eq(memory_health(m, "bad-events"), 5);
    ck_assert_str_eq(memory_text(m, MEMORY_ROW(m, api, ROW_API, 3)->name), "");
}

TEST(test_string_ids_out_of_range)
{
    build("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds "
          "VALUES (9223372036854775807, 'x')");
    refused("StringIds");
}

TEST(test_other_databases)
{
    build("CREATE TABLE bookmarks (id INT)");
    refused("neither");
    unlink(path);
    FILE *f = fopen(path, "w");
    fputs("SQLite format 3", f);
    fputc(0, f);
    for (int i = 0; i < 5000; i++)
        fputc(i * 7, f);
    fclose(f);
    refused("");
    ck_assert_int_eq(m->count[ROW_META], 0);
}

TEST(test_truncated)
{
    build(OLD NEW);
    for (int size = 4096; size > 200; size /= 2) {
        ck_assert_int_eq(truncate(path, size), 0);
        refused("");
    }
}

TEST(test_failing_sink)
{
    build(OLD NEW);
    for (int limit = 1; limit < 3; limit++) {
        struct err e = ERR_INIT;
        memory_free(m);
        m = memory_new(&out);
        m->limit = limit;
        ck_assert_int_eq(import_nsys.read(path, &out, &e), -1);
        ck_assert_str_eq(e.text, "the memory is full");
    }
}

/* Packed; and no temporary file is left, whether it is whole or not. */
TEST(test_gzip)
{
    build(OLD NEW);
    char packed[136];
    snprintf(packed, sizeof packed, "%s.gz", path);
    static char bytes[1 << 20];
    FILE *f = fopen(path, "rb");
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    gzFile g = gzopen(packed, "wb");
    gzwrite(g, bytes, (unsigned)n);
    gzclose(g);
    unlink(path);
    strcpy(path, packed);
    setenv("TMPDIR", dir, 1);
    read_it();
    ck_assert_int_eq(m->count[ROW_KERNEL], 2);
    ck_assert_int_eq(truncate(path, 400), 0);
    refused("damaged or cut off");
}

/* A small file that fills the disk: refused long before, and nothing stays in the temporary folder,
 * not even of one that is killed. */
TEST(test_gzip_that_grows)
{
    static char zeros[1 << 20];
    struct stat st;
    strcat(path, ".gz");
    gzFile g = gzopen(path, "wb1");
    gzwrite(g, "SQLite format 3", 16);
    for (int i = 0; i < 300; i++)
        gzwrite(g, zeros, sizeof zeros);
    gzclose(g);
    ck_assert(stat(path, &st) == 0 && st.st_size < 4 << 20);
    setenv("TMPDIR", dir, 1);
    refused("gunzip");
    for (int ms = 0; ms < 40; ms += 10) {
        pid_t other = fork();
        if (other == 0) {
            refused("gunzip");
            _exit(0);
        }
        usleep((useconds_t)ms * 1000);
        kill(other, SIGKILL);
        waitpid(other, NULL, 0);
    }
    int files = 0;
    DIR *d = opendir(dir);
    for (struct dirent *f; (f = readdir(d));)
        files += f->d_name[0] != '.';
    closedir(d);
    ck_assert_int_eq(files, 1);
}

/* Two files in one sink: rows of the second refer to rows of the second. */
TEST(test_two_files)
{
    build(OLD NEW);
    struct err e = ERR_INIT;
    const char *paths[] = {path, path};
    ck_assert_msg(import_paths(paths, 2, &out, &e) == 0, "%s", e.text);
    ck_assert_int_eq(m->count[ROW_PROCESS], 2);
    ck_assert_int_eq(m->count[ROW_KERNEL], 4);
    const struct row_kernel *a = MEMORY_ROW(m, kernel, ROW_KERNEL, 0),
                            *b = MEMORY_ROW(m, kernel, ROW_KERNEL, 2);
    ck_assert(a->start_ns == b->start_ns && a->name == b->name && a->correlation == b->correlation);
    ck_assert_int_eq(b->process, MEMORY_ROW(m, process, ROW_PROCESS, 1)->id);
    int64_t streams = m->count[ROW_STREAM] / 2;
    ck_assert_int_eq(b->stream, a->stream + streams);
    const struct row_stream *s = MEMORY_ROW(m, stream, ROW_STREAM, streams);
    ck_assert(s->stream == MEMORY_ROW(m, stream, ROW_STREAM, 0)->stream && s->device == 2 &&
              s->process == 2);
}
