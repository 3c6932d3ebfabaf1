/* The profile file: truncated, of another version, written by another program, on a full disk. */
#include "tests/unit/test.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/unit/memory_sink.h"
#include "tests/unit/store_file.h"

TEST_FIXTURE(setup, teardown)

/* Whatever is cut off is refused in one line that says so. */
TEST(test_truncated)
{
    struct err e = ERR_INIT;
    struct store *s = create();
    struct sink out = store_sink(s);
    char name[64];
    for (int i = 0; i < 3000; i++) {
        int n = snprintf(name, sizeof name, "a name of some length %d", i);
        struct row_meta row = {i + 1, 0, out.intern(out.self, name, n), 0};
        ck_assert_int_eq(out.put(out.self, ROW_META, &row, &e), 0);
    }
    finish(s);
    struct stat st;
    stat(path, &st);
    for (off_t size = st.st_size - 1; size > 0; size = size > 9000 ? size - 8192 : size / 2) {
        ck_assert_int_eq(truncate(path, size), 0);
        e.text[0] = 0;
        s = store_open(path, 0, &e);
        ck_assert_ptr_null(s);
        check_line(&e);
        ck_assert_ptr_nonnull(strstr(e.text, "cut off"));
    }
}

TEST(test_foreign)
{
    refused("no such file");
    FILE *f = fopen(path, "w");
    fclose(f);
    refused("not a gpuprof profile");
    f = fopen(path, "w");
    for (int i = 0; i < 5000; i++)
        fputs("{\"traceEvents\": []}", f);
    fclose(f);
    refused("not a gpuprof profile");
    ck_assert_int_eq(store_is_profile(path), 0);
    unlink(path);
    struct err e = ERR_INIT;
    struct sql *db = sql_open(path, SQL_CREATE, &e); /* another program's database */
    ck_assert_int_eq(sql_exec(db, "CREATE TABLE kernel (id INTEGER)", &e), 0);
    sql_close(db);
    refused("not a gpuprof profile");
    edit("PRAGMA application_id = 0x47505246; PRAGMA user_version = 1");
    refused("damaged");
}

static struct row_collective seen;

static uint32_t any_name(void *self, const char *text, size_t n)
{
    (void)self, (void)text, (void)n;
    return 0;
}

static int see_collective(void *self, enum row_kind kind, const void *row, struct err *e)
{
    (void)self, (void)e;
    if (kind == ROW_COLLECTIVE)
        seen = *(const struct row_collective *)row;
    return 0;
}

TEST(test_versions)
{
    make_empty();
    edit("PRAGMA user_version = 99");
    refused("newer gpuprof");
    edit("PRAGMA user_version = 0");
    refused("not a gpuprof profile");
    edit("PRAGMA user_version = 1; ALTER TABLE kernel DROP COLUMN smem_dynamic");
    refused("smem_dynamic");
}

/* Columns and tables that a later version added are unknown, not damage. */
TEST(test_an_older_profile)
{
    make_empty();
    edit("INSERT INTO collective (id, thread, bytes) VALUES (1, 7, 4096); "
         "ALTER TABLE collective DROP COLUMN thread; ALTER TABLE collective DROP COLUMN rank; "
         "ALTER TABLE collective DROP COLUMN root; DROP TABLE recorded; "
         "ALTER TABLE host_sample DROP COLUMN storage_bytes; "
         "ALTER TABLE host_sample DROP COLUMN read_bytes; "
         "ALTER TABLE range DROP COLUMN shapes; PRAGMA user_version = 1");
    struct err e = ERR_INIT;
    struct store *s = store_open(path, 0, &e);
    ck_assert_msg(s != NULL, "%s", e.text);
    struct sink sink = {.intern = any_name, .put = see_collective};
    seen = (struct row_collective){0};
    ck_assert_int_eq(store_read(s, &sink, &e), 0);
    ck_assert(seen.id == 1 && seen.bytes == 4096 && seen.thread == -1 && seen.rank == -1);
    store_close(s);
    ck_assert_ptr_null(store_open(path, 1, &e)); /* readable, but nothing is added to it */
    ck_assert_ptr_nonnull(strstr(e.text, "older gpuprof"));
    edit("PRAGMA user_version = 2");
    refused("damaged");
}

/* A view that never ends in the place of a table. */
TEST(test_view_for_a_table)
{
    make_empty();
    edit("DROP TABLE meta; CREATE VIEW meta(id, process, key, value) AS WITH RECURSIVE r(i) AS "
         "(SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT i, 0, 0, 0 FROM r");
    refused("damaged");
}

/* Columns that are computed when they are read: a byte of the file becomes a gigabyte. */
TEST(test_computed_columns)
{
    make_empty();
    edit("DROP TABLE string; CREATE TABLE string(id INTEGER PRIMARY KEY, "
         "text AS (CAST(zeroblob(900000000) AS TEXT)))");
    refused("string is not a plain table");
    unlink(path);
    make_empty();
    edit("ALTER TABLE finding ADD COLUMN more AS (zeroblob(1000000000)) VIRTUAL");
    refused("finding is not a plain table");
    unlink(path);
    make_empty();
    edit("DROP TABLE result; CREATE VIEW result(kind, json) AS SELECT 'analysis', '{}'");
    refused("result is not a plain table");
}

TEST(test_virtual_table)
{
    make_empty();
    struct err e = ERR_INIT;
    struct sql *db = sql_open(path, SQL_CREATE, &e);
    bool made = sql_exec(db,
                         "DROP TABLE health; CREATE VIRTUAL TABLE health USING "
                         "fts5(id, process, severity, code, text, value)",
                         &e) == 0;
    sql_close(db);
    if (made) /* this SQLite has that module */
        refused("health is not a plain table");
}

/* What the schema wants done on writing is not done; our own views do not stand in the way. */
TEST(test_triggers_do_nothing)
{
    make_empty();
    edit("INSERT INTO finding (id) VALUES (1);"
         "CREATE TRIGGER t BEFORE DELETE ON finding BEGIN INSERT INTO health (id) VALUES (1); END;"
         "CREATE TRIGGER u AFTER INSERT ON result BEGIN DELETE FROM string; END");
    struct err e = ERR_INIT;
    struct store *s = store_open(path, 1, &e);
    ck_assert_msg(s != NULL, "%s", e.text);
    ck_assert_int_eq(store_begin(s, &e), 0);
    ck_assert_int_eq(store_clear_derived(s, &e), 0);
    ck_assert_int_eq(store_put_result(s, "analysis", "{}", &e), 0);
    ck_assert_int_eq(store_commit(s, &e), 0);
    store_close(s);
    ck_assert_int_eq(ask("SELECT count(*) FROM finding"), 0);
    ck_assert_int_eq(ask("SELECT count(*) FROM health"), 0);
    ck_assert_int_eq(ask("SELECT count(*) FROM string"), 1);
}

static void put_bytes(FILE *f, long at, uint32_t v, int n)
{
    fseek(f, at, SEEK_SET);
    while (n-- > 0)
        fputc((int)(v >> 8 * n & 255), f);
}

/* An inner page of a table, all of whose children are one page. */
static void put_inner_page(FILE *f, long page_size, uint32_t number, uint32_t child)
{
    enum { CELLS = 200, HEAD = 12, CELL = 5 };
    long page = (number - 1) * page_size, cells = page_size - CELLS * CELL;
    put_bytes(f, page, 5, 1);
    put_bytes(f, page + 3, CELLS, 2);
    put_bytes(f, page + 5, (uint32_t)cells, 2);
    put_bytes(f, page + 8, child, 4);
    for (int i = 0; i < CELLS; i++) {
        put_bytes(f, page + HEAD + 2 * i, (uint32_t)(cells + i * CELL), 2);
        put_bytes(f, page + cells + i * CELL, child, 4);
        put_bytes(f, page + cells + i * CELL + 4, (uint32_t)i % 127, 1);
    }
    put_bytes(f, page + page_size - 1, 0, 1);
}

/* Pages that share their children: two of them more, and each row is there 40,000 times as often.
 */
TEST(test_rows_without_end)
{
    make_empty();
    edit("INSERT INTO health (id, process) VALUES (1, 0), (2, 0), (3, 0)");
    uint32_t leaf = (uint32_t)ask("SELECT rootpage FROM sqlite_master WHERE name = 'health'");
    uint32_t pages = (uint32_t)ask("PRAGMA page_count");
    long size = (long)ask("PRAGMA page_size");
    char text[160];
    snprintf(text, sizeof text,
             "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = %u WHERE name = "
             "'health'",
             pages + 1);
    edit(text);
    FILE *f = fopen(path, "r+b");
    for (uint32_t i = 1; i <= 4; i++)
        put_inner_page(f, size, pages + i, i == 4 ? leaf : pages + i + 1);
    put_bytes(f, 28, pages + 4, 4);
    fclose(f);
    struct err e = ERR_INIT;
    struct sink sink = {.intern = any_name, .put = see_collective};
    struct store *s = store_open(path, 0, &e);
    ck_assert_msg(s != NULL, "%s", e.text);
    ck_assert_int_eq(store_read(s, &sink, &e), -1);
    check_line(&e);
    ck_assert_msg(strstr(e.text, "more data than a file of its size can hold") != NULL, "%s",
                  e.text);
    store_close(s);
}

TEST(test_hostile_values)
{
    make_empty();
    edit("INSERT INTO string VALUES (1, 'a');"
         "INSERT INTO meta VALUES (1, 'zero', 99, -5), (2, 1e300, x'ff00', 9223372036854775807), "
         "(3, NULL, 1, 4294967297)");
    struct err e = ERR_INIT;
    struct sink in;
    struct memory *m = memory_new(&in);
    struct store *s = store_open(path, 0, &e);
    ck_assert_msg(s && store_read(s, &in, &e) == 0, "%s", e.text);
    store_close(s);
    ck_assert_int_eq(m->count[ROW_META], 3);
    const struct row_meta *row[3];
    for (int i = 0; i < 3; i++)
        row[i] = (const struct row_meta *)(const void *)m->rows[ROW_META][i];
    ck_assert(row[0]->process == 0 && row[0]->key == 0 && row[0]->value == 0);
    ck_assert(row[1]->process == INT64_MAX && row[1]->key == 0 && row[1]->value == 0);
    ck_assert(row[2]->process == 0 && row[2]->key == 1 && row[2]->value == 0);
    memory_free(m);
    edit("INSERT INTO string VALUES (7, 'hole')");
    refused("holes");
    edit("DELETE FROM string; INSERT INTO string VALUES (-3, 'x')");
    refused("damaged");
}

/* The disk fills up: a limit on the size of files stands for it. */
TEST(test_disk_full)
{
    struct err e = ERR_INIT;
    struct store *s = create();
    struct sink out = store_sink(s);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 20, 1 << 20});
    int rc = 0;
    int64_t i = 0;
    for (; rc == 0 && i < 3000000; i++) {
        struct row_kernel row = {.id = i + 1, .start_ns = i << 20, .end_ns = i << 21};
        rc = out.put(out.self, ROW_KERNEL, &row, &e);
    }
    ck_assert_int_eq(rc, -1);
    check_line(&e);
    ck_assert_int_eq(store_finish(s, &e), -1);
    check_line(&e);
    store_close(s);
    ck_assert(!exists(path) && partials() == 0);
}
