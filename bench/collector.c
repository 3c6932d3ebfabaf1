/* bench_collector [ROWS]: measures how many rows per second the collector moves from a spool into a
 * profile. For comparison it measures, in the same run and on the same disk, plain SQLite inserts
 * of the same columns. Two million rows by default: as many kernels as API calls. The spool is
 * filled beforehand, 4 MiB at a time; only draining is timed. */
#include "analyzer/collector/collect.h"
#include "analyzer/profile/sql/sql.h"
#include "analyzer/profile/store.h"
#include "analyzer/profile/tables.h"
#include "tests/unit/write_spool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 20, KERNEL_NAMES = 40, LAUNCH_NS = 8000 };

static struct err error;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int fail(void)
{
    fprintf(stderr, "bench_collector: %s\n", error.text);
    return 1;
}

/* ---- the collector ---- */

static struct spool_writer start_spool(const char *folder)
{
    char path[256], name[64];
    snprintf(path, sizeof path, "%s/1.spool", folder);
    struct spool_writer w = spool_begin_sized(path, getpid(), spool_ticks(getpid()), BUFFER_BYTES);
    for (uint64_t i = 0; i < KERNEL_NAMES; i++) {
        snprintf(name, sizeof name, "_Z%dgemm_%llu", 8, (unsigned long long)i);
        spool_add_name(&w, 0x1000 + 16 * i, name);
    }
    for (int i = 0; i < 20; i++) /* as many clock anchors as a run of ten seconds has */
        spool_anchor(&w, i * 500000000LL, 1700000000000000000 + i * 500000000LL);
    spool_ring_open(&w, 0, 7);
    spool_meta(&w, 0, "cbid.runtime.211", "cudaLaunchKernel");
    spool_ready(&w);
    return w;
}

/* Fills all buffers and adds the number of calls to *launch. Returns the number of records made. */
static int64_t fill(struct spool_writer *w, int64_t *launch)
{
    int64_t records = 0;
    uint64_t pair = w->h->stride[5] + w->h->stride[10];
    for (int i = 0; i < SPOOL_TEST_BUFFERS; i++) {
        uint64_t at = 0;
        while (at + pair <= BUFFER_BYTES) {
            int64_t ns = 1700000000000000000 + ++*launch * LAUNCH_NS;
            spool_api(w, i, &at, 5, 211, ns, ns + 4000, 7, (uint32_t)*launch);
            spool_kernel(w, i, &at, ns + 6000, ns + 10000, (uint32_t)*launch,
                         0x1000 + 16 * (uint64_t)(*launch % KERNEL_NAMES));
            records += 2;
        }
        spool_state(w, i, SPOOL_READY, at);
    }
    return records;
}

static int put_state(void *self, const char *name, const void *state, size_t n, struct err *e)
{
    return store_put_state(self, name, state, n, e);
}

static int commit(void *self, struct err *e)
{
    return store_commit_rows(self, e);
}

/* Like `gpuprof run`: commits what was read before the spool may reuse the room. */
static int64_t drain(struct collector *c)
{
    int64_t got = collect_drain(c, &error);
    return got < 0 || collect_commit(c, &error) < 0 ? -1 : got;
}

/* Returns the seconds for about `rows` rows and sets *done to their exact number. Negative:
 * failed. */
static double collect(const char *folder, int64_t rows, int64_t *done)
{
    char path[256];
    snprintf(path, sizeof path, "%s/x.gpuprof", folder);
    struct store *s = store_create_kept(path, 0, "bench1", &error);
    struct collector *c = s ? collect_open(folder, 0, store_sink(s), &error) : NULL;
    if (!c)
        return -1;
    collect_keep(c, &(struct collect_keeper){put_state, commit, s});
    struct spool_writer w = start_spool(folder);
    double seconds = 0, start;
    int64_t launch = 0, got = 0;
    for (*done = 0; *done < rows && got >= 0;) {
        *done += fill(&w, &launch);
        start = now();
        got = drain(c);
        seconds += now() - start;
    }
    atomic_store(&w.h->sealed, 1);
    start = now();
    bool whole = got >= 0 && collect_finish(c, &error) == 0 && store_finish(s, &error) == 0;
    seconds += now() - start;
    spool_end(&w);
    collect_close(c);
    store_close(s);
    struct stat st;
    whole = whole && stat(path, &st) == 0;
    if (whole)
        printf("%-26s %8.2f M rows/s %8.0f MB on disk, %.0f bytes a row\n", "collector",
               (double)*done / seconds / 1e6, (double)st.st_size / 1e6,
               (double)st.st_size / (double)*done);
    unlink(path);
    return whole ? seconds : -1;
}

/* ---- plain SQLite ---- */

static struct sql_stmt *table(struct sql *db, const struct table *t)
{
    char create[2048], insert[256];
    size_t n =
        (size_t)snprintf(create, sizeof create, "CREATE TABLE %s (id INTEGER PRIMARY KEY", t->name);
    size_t k = (size_t)snprintf(insert, sizeof insert, "INSERT INTO %s VALUES (?", t->name);
    for (size_t i = 1; i < t->count; i++) {
        n += (size_t)snprintf(create + n, sizeof create - n, ", %s INTEGER", t->columns[i].name);
        k += (size_t)snprintf(insert + k, sizeof insert - k, ", ?");
    }
    snprintf(create + n, sizeof create - n, ")");
    snprintf(insert + k, sizeof insert - k, ")");
    return sql_exec(db, create, &error) < 0 ? NULL : sql_prepare(db, insert, &error);
}

static int insert(struct sql_stmt *q, const struct table *t, int64_t i)
{
    for (size_t k = 0; k < t->count; k++)
        sql_bind_int(q, (int)k, k == 0 ? i : k == 3 || k == 4 ? i * LAUNCH_NS : (int64_t)k);
    return sql_run(q, &error);
}

static double bare(const char *folder, int64_t rows)
{
    char path[256];
    snprintf(path, sizeof path, "%s/bare.db", folder);
    struct sql *db = sql_open(path, SQL_CREATE, &error);
    if (!db)
        return -1;
    int rc =
        sql_exec(db,
                 "PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                 "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -8192; BEGIN",
                 &error);
    struct sql_stmt *api = table(db, &tables[ROW_API]), *kernel = table(db, &tables[ROW_KERNEL]);
    rc = rc < 0 || !api || !kernel ? -1 : 0;
    double start = now();
    for (int64_t i = 1; rc == 0 && i <= rows / 2; i++)
        if (insert(api, &tables[ROW_API], i) < 0 || insert(kernel, &tables[ROW_KERNEL], i) < 0)
            rc = -1;
    if (rc == 0)
        rc = sql_exec(db, "COMMIT", &error);
    double seconds = now() - start;
    sql_finalize(api);
    sql_finalize(kernel);
    sql_close(db);
    unlink(path);
    if (rc == 0)
        printf("%-26s %8.2f M rows/s\n", "bare SQLite inserts", (double)rows / seconds / 1e6);
    return rc < 0 ? -1 : seconds;
}

int main(int argc, char **argv)
{
    int64_t rows = argc > 1 ? atoll(argv[1]) : 2000000, done = 0;
    char folder[64] = "/tmp/gpuprof-bench-XXXXXX";
    if (rows < 1000) {
        fprintf(stderr, "usage: bench_collector [ROWS]   from 1000 up\n");
        return 2;
    }
    if (!mkdtemp(folder)) {
        fprintf(stderr, "bench_collector: no folder can be made in /tmp\n");
        return 1;
    }
    double collector = collect(folder, rows, &done),
           plain = collector > 0 ? bare(folder, done) : -1;
    rmdir(folder);
    if (collector < 0 || plain < 0)
        return fail();
    printf("%-26s %8.2f (%lld rows, half kernels, half API calls)\n", "collector / bare SQLite",
           plain / collector, (long long)done);
    return 0;
}
