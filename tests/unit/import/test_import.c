/* The choice of the importer, and several files in one sink. */
#include "tests/unit/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/import/import.h"
#include "analyzer/profile/store.h"
#include "tests/unit/memory_sink.h"

static char dir[64];

static void setup(void)
{
    strcpy(dir, "/tmp/gpuprof-import-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", dir);
    ck_assert_int_eq(system(command), 0);
}

static const char *in_dir(const char *name)
{
    static char path[4][160];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
    return path[turn];
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(in_dir(name), "w");
    fputs(text, f);
    fclose(f);
}

/* A profile in which every table has two rows, each referring to row 1 or 2 of the others. */
static void write_profile(const char *name, int64_t start_realtime_ns)
{
    struct err e = ERR_INIT;
    struct store *s = store_create(in_dir(name), 0, &e);
    ck_assert_msg(s != NULL, "%s", e.text);
    struct sink out = store_sink(s);
    uint32_t text = out.intern(out.self, name, strlen(name));
    for (int k = 0; k < ROW_KINDS; k++)
        for (int64_t id = 1; id <= 2; id++) {
            int64_t row[TABLE_MAX_ROW / sizeof(int64_t) + 1] = {0};
            for (size_t i = 0; i < tables[k].count; i++) {
                char *member = (char *)row + tables[k].columns[i].offset;
                if (tables[k].columns[i].is_string)
                    memcpy(member, &text, sizeof text);
                else
                    memcpy(member, &id, sizeof id);
            }
            ck_assert_int_eq(out.put(out.self, k, row, &e), 0);
        }
    if (start_realtime_ns) {
        char number[32];
        snprintf(number, sizeof number, "%lld", (long long)start_realtime_ns);
        struct row_meta m = {3, 0, out.intern(out.self, "start_realtime_ns", 17),
                             out.intern(out.self, number, strlen(number))};
        ck_assert_int_eq(out.put(out.self, ROW_META, &m, &e), 0);
    }
    ck_assert_msg(store_finish(s, &e) == 0, "%s", e.text);
    store_close(s);
}

static void refused(const char *name, const char *reason)
{
    struct err e = ERR_INIT;
    struct sink out;
    struct memory *m = memory_new(&out);
    const char *path = in_dir(name);
    ck_assert_int_eq(import_paths(&path, 1, &out, &e), -1);
    ck_assert_msg(strstr(e.text, reason) && strstr(e.text, name) && !strchr(e.text, '\n'),
                  "'%s' lacks '%s' or '%s'", e.text, reason, name);
    memory_free(m);
}

TEST_FIXTURE(setup, teardown)

TEST(test_refused)
{
    refused("none.json", "no such file");
    write_file("report.nsys-rep", "anything");
    refused("report.nsys-rep", "nsys export --type sqlite");
    write_file("x.pftrace", "anything");
    refused("x.pftrace", "traceconv json");
    write_file("x.pickle", "anything");
    refused("x.pickle", "run --memory");
    write_file("x.pftrace.gz", "anything");
    refused("x.pftrace.gz", "traceconv json");
    write_file("x.xplane.pb", "anything");
    refused("x.xplane.pb", "xprof");
    ck_assert_int_eq(mkdir(in_dir("parquet"), 0700), 0);
    write_file("parquet/NVTX_EVENTS.parquet", "PAR1");
    refused("parquet", "nsys export --type sqlite");
    write_file("empty", "");
    refused("empty", "empty");
    write_file("diary.txt", "dear diary");
    refused("diary.txt", ".gpuprof");
    write_file("cut.gz", "\x1f\x8b\x08");
    refused("cut.gz", "");
    ck_assert_int_eq(mkdir(in_dir("folder"), 0700), 0);
    refused("folder", "no trace or profile");
    write_file("x.gpuprof", "SQLite format 3 but not really, and too short to be one");
    refused("x.gpuprof", "");
}

/* Members that name rows of other tables; all others keep their values. */
static bool refers(enum row_kind kind, const char *column)
{
    static const char *const names[] = {"id", "process", "thread", "device", "kernel"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(column, names[i]) == 0)
            return true;
    return strcmp(column, "stream") == 0 && kind != ROW_STREAM;
}

TEST(test_ids_are_shifted)
{
    struct err e = ERR_INIT;
    struct sink out;
    struct memory *m = memory_new(&out);
    write_profile("rank10.gpuprof", 0);
    write_profile("rank2.gpuprof", 0);
    write_file("notes.txt", "not looked at");
    const char *path = dir;
    ck_assert_msg(import_paths(&path, 1, &out, &e) == 0, "%s", e.text);
    for (int k = 0; k < ROW_KINDS; k++) {
        bool meta = k == ROW_META; /* two more a file: which one its processes came from */
        ck_assert_int_eq(m->count[k], meta ? 8 : 4);
        for (int r = 0; r < 4; r++)
            for (size_t i = 0; i < tables[k].count; i++) {
                const struct column *c = &tables[k].columns[i];
                const char *member =
                    (const char *)m->rows[k][meta && r >= 2 ? r + 2 : r] + c->offset;
                int64_t v, own = r % 2 + 1;
                uint32_t text;
                if (c->is_string) {
                    memcpy(&text, member, sizeof text);
                    ck_assert_str_eq(memory_text(m, text),
                                     r < 2 ? "rank2.gpuprof" : "rank10.gpuprof");
                    continue;
                }
                memcpy(&v, member, sizeof v);
                int64_t shift = meta && strcmp(c->name, "id") == 0 ? 4 : 2;
                ck_assert_msg(v == (refers(k, c->name) && r >= 2 ? own + shift : own),
                              "%s.%s of row %d is %lld", tables[k].name, c->name, r, (long long)v);
            }
    }
    memory_free(m);
}

TEST(test_one_time_axis)
{
    const int64_t start = 1700000000000000000;
    struct err e = ERR_INIT;
    struct sink out;
    struct memory *m = memory_new(&out);
    write_profile("a.gpuprof", start);
    write_profile("b.gpuprof", start + 5000);
    write_profile("c.gpuprof", start - 300);
    const char *paths[] = {in_dir("a.gpuprof"), in_dir("b.gpuprof"), in_dir("c.gpuprof")};
    ck_assert_msg(import_paths(paths, 3, &out, &e) == 0, "%s", e.text);
    ck_assert_int_eq(out.epoch_ns, start);
    static const int64_t wanted[] = {1, 2, 5001, 5002, -299, -298};
    for (int i = 0; i < 6; i++) {
        const struct row_kernel *k = MEMORY_ROW(m, kernel, ROW_KERNEL, i);
        const struct row_host_sample *h = MEMORY_ROW(m, host_sample, ROW_HOST_SAMPLE, i);
        ck_assert_int_eq(k->start_ns, wanted[i]);
        ck_assert_int_eq(k->end_ns, wanted[i]);
        ck_assert_int_eq(h->time_ns, wanted[i]);
        ck_assert_int_eq(h->cpu_ns, i % 2 + 1); /* a length */
        ck_assert_int_eq(MEMORY_ROW(m, event, ROW_EVENT, i)->device_ns, wanted[i]);
    }
    memory_free(m);
}

/* Two profiles, each of one process and one fact about it, with these ids. */
static void put_two(int64_t process, int64_t meta)
{
    struct err e = ERR_INIT;
    for (int i = 0; i < 2; i++) {
        struct store *s = store_create(in_dir(i ? "b.gpuprof" : "a.gpuprof"), 0, &e);
        ck_assert_msg(s != NULL, "%s", e.text);
        struct sink to = store_sink(s);
        struct row_process p = {.id = process, .pid = 7, .rank = i, .sealed = 1};
        struct row_meta m = {.id = meta, .process = process};
        ck_assert_int_eq(to.put(to.self, ROW_PROCESS, &p, &e), 0);
        ck_assert_int_eq(to.put(to.self, ROW_META, &m, &e), 0);
        ck_assert_msg(store_finish(s, &e) == 0, "%s", e.text);
        store_close(s);
    }
}

/* The rows of a file are counted, not its ids: one that says 2^60 costs no more than one that
 * says 1. */
TEST(test_hostile_ids)
{
    struct err e = ERR_INIT;
    struct sink out;
    put_two((int64_t)1 << 60, 1);
    struct memory *m = memory_new(&out);
    const char *path = dir;
    ck_assert_msg(import_paths(&path, 1, &out, &e) == 0, "%s", e.text);
    ck_assert_int_eq(m->count[ROW_PROCESS], 2);
    ck_assert_int_eq(MEMORY_ROW(m, process, ROW_PROCESS, 1)->id, (int64_t)1 << 61);
    memory_free(m);
}

/* Behind the last number there is none for a row of our own. */
TEST(test_the_last_id)
{
    struct err e = ERR_INIT;
    struct sink out;
    put_two(1, INT64_MAX);
    struct memory *m = memory_new(&out);
    const char *path = dir;
    ck_assert_int_eq(import_paths(&path, 1, &out, &e), -1);
    ck_assert_msg(strstr(e.text, "an id of table meta is out of range"), "%s", e.text);
    memory_free(m);
}

/* The root of a machine, say: the answer comes after a bounded number of names. */
TEST(test_endless_folder)
{
    struct import_files l;
    struct err e = ERR_INIT;
    char memory[] = "/dev/shm/gpuprof-import-XXXXXX", name[64];
    const char *path = mkdtemp(memory); /* disks are slow for so many */
    if (!path)
        return;
    for (int i = 0; i < 100001; i++) {
        snprintf(name, sizeof name, "%s/%d", path, i);
        ck_assert_int_eq(mknod(name, S_IFREG | 0600, 0), 0);
    }
    ck_assert_int_eq(import_list(&path, 1, &l, &e), -1);
    ck_assert(l.endless && l.n == 0);
    ck_assert_msg(strstr(e.text, "name the folder of the recordings"), "%s", e.text);
    snprintf(name, sizeof name, "rm -r %s", path);
    ck_assert_int_eq(system(name), 0);
}

TEST(test_folder_with_a_slash)
{
    struct import_files l;
    struct err e = ERR_INIT;
    const char *path = in_dir("");
    write_file("a.json", "[]");
    ck_assert_int_eq(import_list(&path, 1, &l, &e), 0);
    ck_assert(l.n == 1 && strcmp(l.at[0], in_dir("a.json")) == 0);
    import_list_release(&l);
}
