/* The profile file: its schema compared with the description, and round trips. */
#include "tests/unit/test.h"
#include <sys/wait.h>

#include "tests/unit/memory_sink.h"
#include "tests/unit/store_file.h"

static void check_columns(struct sql *db, const struct table *t)
{
    struct err e = ERR_INIT;
    char text[128];
    size_t n = 0;
    snprintf(text, sizeof text, "PRAGMA table_info(%s)", t->name);
    struct sql_stmt *q = sql_prepare(db, text, &e);
    ck_assert_msg(q != NULL, "%s", e.text);
    while (sql_step(q, &e) == 1) {
        ck_assert_msg(n < t->count, "%s: the schema has more columns", t->name);
        ck_assert_msg(strcmp(sql_text(q, 1, NULL), t->columns[n].name) == 0,
                      "%s: column %zu is %s and %s", t->name, n, sql_text(q, 1, NULL),
                      t->columns[n].name);
        ck_assert_str_eq(sql_text(q, 2, NULL), "INTEGER");
        size_t size = t->columns[n].is_string ? sizeof(uint32_t) : sizeof(int64_t);
        ck_assert_uint_le(t->columns[n].offset + size, t->row_size);
        n++;
    }
    ck_assert_msg(n == t->count, "%s: the schema has fewer columns", t->name);
    ck_assert_uint_le(n, TABLE_MAX_COLUMNS);
    ck_assert_uint_le(t->row_size, TABLE_MAX_ROW);
    sql_finalize(q);
}

TEST_FIXTURE(setup, teardown)

TEST(test_columns)
{
    make_empty();
    struct err e = ERR_INIT;
    struct sql *db = sql_open(path, SQL_READ, &e);
    for (int k = 0; k < ROW_KINDS; k++)
        check_columns(db, &tables[k]);
    for (int k = 0; k < DERIVED_KINDS; k++)
        check_columns(db, &derived_tables[k]);
    int64_t all = sql_value(db, "SELECT count(*) FROM sqlite_master WHERE type = 'table'", 0);
    ck_assert_int_eq(all, ROW_KINDS + DERIVED_KINDS + 2); /* string, result */
    sql_close(db);
}

/* What is remembered of a table's columns ends with a change of them. */
TEST(test_columns_change)
{
    struct err e = ERR_INIT;
    struct sql *db = sql_open(path, SQL_CREATE, &e);
    ck_assert_int_eq(sql_exec(db, "CREATE TABLE a (x, Y); CREATE TABLE b (z, w AS (z + 1))", &e),
                     0);
    ck_assert(sql_has_column(db, "a", "x") && sql_has_column(db, "a", "y"));
    ck_assert(!sql_has_column(db, "b", "x") && sql_has_column(db, "b", "z"));
    ck_assert(!sql_has_column(db, "b", "w") && !sql_has_column(db, "none", "z"));
    ck_assert(sql_has_table(db, "a") && !sql_has_table(db, "b") && sql_has_column(db, "a", "x"));
    ck_assert_int_eq(sql_exec(db, "ALTER TABLE a RENAME COLUMN x TO moved", &e), 0);
    ck_assert(!sql_has_column(db, "a", "x") && sql_has_column(db, "a", "moved"));
    sql_close(db);
}

TEST(test_round_trip)
{
    struct err e = ERR_INIT;
    struct store *s = create();
    struct sink out = store_sink(s);
    int64_t want[ROW_KINDS][2][TABLE_MAX_ROW / sizeof(int64_t) + 1];
    uint32_t text = out.intern(out.self, "gemm<float>", 11);
    for (int k = 0; k < ROW_KINDS; k++)
        for (int i = 0; i < 2; i++) {
            fill(k, want[k][i], i + 1, i ? text : 0);
            ck_assert_int_eq(out.put(out.self, k, want[k][i], &e), 0);
        }
    ck_assert_int_eq(store_rows(s), 2 * ROW_KINDS);
    ck_assert(!exists(path) && partials() == 1); /* nothing under its own name before the end */
    finish(s);
    ck_assert(exists(path) && partials() == 0);
    ck_assert_int_eq(ask("PRAGMA user_version"), STORE_SCHEMA_VERSION);

    struct sink in;
    struct memory *m = memory_new(&in);
    uint32_t other = in.intern(in.self, "only here", 9); /* so that ids of strings differ */
    ck_assert_uint_eq(other, 1);
    ck_assert_ptr_nonnull(s = store_open(path, 0, &e));
    ck_assert_msg(store_read(s, &in, &e) == 0, "%s", e.text);
    store_close(s);
    for (int k = 0; k < ROW_KINDS; k++) {
        ck_assert_int_eq(m->count[k], 2);
        for (int i = 0; i < 2; i++) {
            int64_t expected[TABLE_MAX_ROW / sizeof(int64_t) + 1];
            fill(k, expected, i + 1, i ? str_intern(&m->strings, "gemm<float>", 11) : 0);
            ck_assert_msg(memcmp(m->rows[k][i], expected, tables[k].row_size) == 0, "%s row %d",
                          tables[k].name, i);
        }
    }
    memory_free(m);
}

TEST(test_texts)
{
    static const struct {
        const char *text;
        size_t n;
    } texts[] = {{"nul\0inside", 10},   {"\xc3\xa4\xe6\x97\xa5\xf0\x9f\x94\xa5", 9},
                 {"</script><!--", 13}, {"'; DROP TABLE meta; --", 22},
                 {"bad \xff utf8", 10}, {"", 0}};
    enum { N = sizeof texts / sizeof *texts };
    struct err e = ERR_INIT;
    struct store *s = create();
    struct sink out = store_sink(s);
    for (int i = 0; i < N; i++) {
        uint32_t id = out.intern(out.self, texts[i].text, texts[i].n);
        struct row_meta row = {i + 1, 0, id, id};
        ck_assert_int_eq(out.put(out.self, ROW_META, &row, &e), 0);
    }
    finish(s);
    struct sink in;
    struct memory *m = memory_new(&in);
    s = store_open(path, 0, &e);
    ck_assert_int_eq(store_read(s, &in, &e), 0);
    store_close(s);
    for (int i = 0; i < N; i++) {
        const struct row_meta *row = (const struct row_meta *)(const void *)m->rows[ROW_META][i];
        ck_assert_uint_eq(m->strings.length[row->key], texts[i].n);
        ck_assert_int_eq(memcmp(m->strings.text[row->key], texts[i].text, texts[i].n), 0);
        ck_assert_uint_eq(row->key, row->value);
    }
    memory_free(m);
}

TEST(test_existing_is_refused)
{
    struct err e = ERR_INIT;
    FILE *f = fopen(path, "w");
    fputs("dear diary", f);
    fclose(f);
    ck_assert_ptr_null(store_create(path, 0, &e));
    check_line(&e);
    ck_assert_ptr_nonnull(strstr(e.text, "-f"));
    ck_assert(partials() == 0);

    struct store *s = store_create(path, 1, &e); /* with force: kept until the new one is whole */
    ck_assert_ptr_nonnull(s);
    struct stat st;
    ck_assert(stat(path, &st) == 0 && st.st_size == 10);
    store_close(s);
    ck_assert(stat(path, &st) == 0 && st.st_size == 10 && partials() == 0);
    finish(store_create(path, 1, &e));
    ck_assert_int_eq(store_is_profile(path), 1);
}

TEST(test_odd_places)
{
    struct err e = ERR_INIT;
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_ptr_null(store_create(path, 1, &e)); /* not when the program has already run */
    check_line(&e);
    ck_assert(partials() == 0);
    ck_assert_ptr_null(store_create("/dev/null", 1, &e)); /* never replaced by a file */
    ck_assert_ptr_nonnull(strstr(e.text, "/dev/null"));
    ck_assert_ptr_null(store_create("/nonexistent/x.gpuprof", 0, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "/nonexistent/x.gpuprof"));
}

/* Two runs in one folder: the second must not take the first one's file. */
TEST(test_written_by_another)
{
    struct err e = ERR_INIT;
    int ready[2], go[2];
    char byte = 0;
    ck_assert(pipe(ready) == 0 && pipe(go) == 0);
    pid_t other = fork();
    if (other == 0) {
        struct store *s = store_create(path, 1, &e);
        if (!s || write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
            _exit(1);
        _exit(store_finish(s, &e) == 0 ? 0 : 1);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_ptr_null(store_create(path, 1, &e));
    check_line(&e);
    ck_assert_ptr_nonnull(strstr(e.text, "another gpuprof"));
    ck_assert(partials() == 1);
    int status;
    ck_assert(write(go[1], &byte, 1) == 1 && waitpid(other, &status, 0) == other);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(store_is_profile(path), 1);
    char left[160];
    snprintf(left, sizeof left, "%s.aB3dE5.partial", path);
    FILE *f = fopen(left, "w"); /* left by one that was killed */
    fputs("SQLite format 3", f);
    fputc(0, f);
    fclose(f);
    finish(store_create(path, 1, &e));
    ck_assert(partials() == 1); /* a writer who got no turn may be about to lock it */
    let_pass(left);
    finish(store_create(path, 1, &e));
    ck_assert(partials() == 0);
    f = fopen(left, "w"); /* a user's */
    fputs("what I wrote about x.gpuprof", f);
    fclose(f);
    let_pass(left);
    finish(store_create(path, 1, &e));
    ck_assert(partials() == 1);
    unlink(left);
}

TEST(test_discard)
{
    struct err e = ERR_INIT;
    struct store *s = create();
    struct sink out = store_sink(s);
    struct row_meta row = {1, 0, 0, 0};
    ck_assert_int_eq(out.put(out.self, ROW_META, &row, &e), 0);
    store_close(s);
    ck_assert(!exists(path) && partials() == 0);
    store_close(NULL);
}

/* Many rows: several transactions, strings put before the rows that name them. */
TEST(test_many)
{
    struct err e = ERR_INIT;
    struct store *s = create();
    struct sink out = store_sink(s);
    char text[32];
    for (int i = 0; i < 250001; i++) {
        int n = snprintf(text, sizeof text, "%d", i % 1000);
        struct row_meta row = {i + 1, 0, out.intern(out.self, text, n), 0};
        ck_assert_int_eq(out.put(out.self, ROW_META, &row, &e), 0);
    }
    finish(s);
    ck_assert_int_eq(ask("SELECT count(*) FROM meta m JOIN string s ON s.id = m.key "
                         "WHERE s.text = CAST((m.id - 1) % 1000 AS TEXT)"),
                     250001);
    ck_assert_int_eq(
        ask("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
}
