/* A profile file in a folder of its own, for tests of the store. Suites put `setup` and `teardown`
 * around each test. */
#ifndef GPUPROF_TESTS_STORE_FILE_H
#define GPUPROF_TESTS_STORE_FILE_H

#include "tests/unit/test.h"
#include "analyzer/profile/sql/sql.h"
#include "analyzer/profile/store.h"
#include "analyzer/profile/tables.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

static char dir[64], path[128];

static inline void setup(void)
{
    strcpy(dir, "/tmp/gpuprof-store-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/x.gpuprof", dir);
}

static inline void teardown(void)
{
    unlink(path);
    rmdir(path);
    ck_assert_int_eq(rmdir(dir), 0); /* no other file was left behind */
}

static inline struct store *create(void)
{
    struct err e = ERR_INIT;
    struct store *s = store_create(path, 0, &e);
    ck_assert_msg(s != NULL, "%s", e.text);
    return s;
}

static inline void finish(struct store *s)
{
    struct err e = ERR_INIT;
    ck_assert_msg(store_finish(s, &e) == 0, "%s", e.text);
    store_close(s);
}

static inline void make_empty(void)
{
    finish(create());
}

static inline void edit(const char *statements)
{
    struct err e = ERR_INIT;
    struct sql *db = sql_open(path, SQL_CREATE, &e); /* with views and everything else */
    ck_assert_msg(db && sql_exec(db, statements, &e) == 0, "%s", e.text);
    sql_close(db);
}

static inline int64_t ask(const char *query)
{
    struct err e = ERR_INIT;
    struct sql *db = sql_open(path, SQL_CREATE, &e);
    ck_assert_ptr_nonnull(db);
    int64_t v = sql_value(db, query, -77);
    sql_close(db);
    return v;
}

static inline bool exists(const char *file)
{
    return access(file, F_OK) == 0;
}

/* Makes the file look as if it was last written an hour ago. */
static inline void let_pass(const char *file)
{
    struct utimbuf hour_ago = {time(NULL) - 3600, time(NULL) - 3600};
    ck_assert_int_eq(utime(file, &hour_ago), 0);
}

/* Counts the incomplete profiles in the folder. */
static inline size_t partials(void)
{
    char pattern[160];
    glob_t g;
    snprintf(pattern, sizeof pattern, "%s.*partial*", path);
    size_t n = glob(pattern, 0, NULL, &g) == 0 ? g.gl_pathc : 0;
    globfree(&g);
    return n;
}

/* Checks that the message is one line and names the file. */
static inline void check_line(const struct err *e)
{
    ck_assert_msg(strstr(e->text, path) != NULL, "'%s' does not name %s", e->text, path);
    ck_assert_msg(strchr(e->text, '\n') == NULL, "'%s' is more than a line", e->text);
}

static inline void refused(const char *reason)
{
    struct err e = ERR_INIT;
    struct store *s = store_open(path, 0, &e);
    ck_assert_ptr_null(s);
    check_line(&e);
    ck_assert_msg(strstr(e.text, reason) != NULL, "'%s' lacks '%s'", e.text, reason);
}

/* Fills a row so that every column differs. Ids are `id`; texts are `text`. */
static inline void fill(enum row_kind kind, int64_t *row, int64_t id, uint32_t text)
{
    const struct table *t = &tables[kind];
    memset(row, 0, t->row_size);
    for (size_t i = 0; i < t->count; i++) {
        char *member = (char *)row + t->columns[i].offset;
        int64_t v = strcmp(t->columns[i].name, "id") == 0
                        ? id
                        : ((int64_t)kind << 40) + 1000 * (int64_t)i + id;
        if (i % 5 == 4)
            v = -v;
        if (t->columns[i].is_string)
            memcpy(member, &text, sizeof text);
        else
            memcpy(member, &v, sizeof v);
    }
}

#endif
