/* Opens an existing profile, and pours its rows into a sink. Files may be hostile: every column is
 * read as an integer whatever its type, and string ids outside the table become "". */
#include "analyzer/profile/store.h"

#include "analyzer/profile/store_private.h"
#include "analyzer/profile/tables.h"
#include "base/plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { APPLICATION_ID = 0x47505246 }; /* "GPRF", schema.sql */

int store_is_profile(const char *path)
{
    unsigned char head[100];
    FILE *f = plain_file(path);
    if (!f)
        return 0;
    size_t n = fread(head, 1, sizeof head, f);
    fclose(f);
    if (n < sizeof head || memcmp(head, "SQLite format 3", 16) != 0)
        return 0;
    uint32_t id =
        (uint32_t)head[68] << 24 | (uint32_t)head[69] << 16 | (uint32_t)head[70] << 8 | head[71];
    return id == APPLICATION_ID;
}

static int need_table(struct store *s, const char *name, struct err *e)
{
    return sql_has_table(s->db, name)
               ? 0
               : err_set(e, "%s: damaged: %s is not a plain table", s->path, name);
}

static int need_columns(struct store *s, const struct table *t, int64_t version, struct err *e)
{
    if (t->since > version)
        return 0;
    if (need_table(s, t->name, e) < 0)
        return -1;
    for (size_t i = 0; i < t->count; i++)
        if (t->columns[i].since <= version && !sql_has_column(s->db, t->name, t->columns[i].name))
            return err_set(e, "%s: damaged: table %s has no column %s", s->path, t->name,
                           t->columns[i].name);
    return 0;
}

/* Checks that every table and column of the file's version exists. -1 with *e set. */
static int check_schema(struct store *s, struct err *e)
{
    int64_t version = sql_value(s->db, "PRAGMA user_version", -1);
    if (version > STORE_SCHEMA_VERSION)
        return err_set(e,
                       "%s was made by a newer gpuprof (profile version %lld, this one reads up to "
                       "%d): update gpuprof",
                       s->path, (long long)version, STORE_SCHEMA_VERSION);
    if (version < 1)
        return err_set(e, "%s: not a gpuprof profile", s->path);
    if (need_table(s, "string", e) < 0 || need_table(s, "result", e) < 0)
        return -1;
    for (int k = 0; k < ROW_KINDS; k++)
        if (need_columns(s, &tables[k], version, e) < 0)
            return -1;
    for (int k = 0; k < DERIVED_KINDS; k++)
        if (derived_tables[k].since <= version && need_table(s, derived_tables[k].name, e) < 0)
            return -1;
    return 0;
}

/* Refuses to write to profiles of older versions: rows are inserted by position, so a table
 * must have all its columns. */
static int check_writable(struct store *s, struct err *e)
{
    if (sql_value(s->db, "PRAGMA user_version", -1) == STORE_SCHEMA_VERSION)
        return 0;
    return err_set(
        e, "an older gpuprof made %s: this version can read it but not add to it; record it again",
        s->path);
}

/* Loads the file's strings. They keep their ids, so that new rows can refer
 * to them. -1 with *e set. */
static int load_strings(struct store *s, struct err *e)
{
    struct sql_stmt *q = sql_prepare(s->db, "SELECT id, text FROM string ORDER BY id", e);
    if (!q)
        return -1;
    int rc;
    while ((rc = sql_step(q, e)) == 1) {
        size_t n;
        const char *text = sql_text(q, 1, &n);
        if (sql_int(q, 0) == 0)
            continue;
        uint32_t id = str_intern(&s->strings, text, n);
        if (id != sql_int(q, 0)) {
            rc = err_set(e, "%s: damaged: the string table has holes", s->path);
            break;
        }
    }
    sql_finalize(q);
    s->stored_strings = s->strings.n;
    return rc;
}

static struct store *open_any(const char *path, int writable, struct err *e)
{
    if (place_unfinished(path, e) < 0)
        return NULL;
    FILE *f = plain_file(path);
    if (!f) {
        err_set(e, "%s: no such file, or no permission to read it", path);
        return NULL;
    }
    fclose(f);
    if (sql_check_whole(path, e) < 0)
        return NULL;
    if (!store_is_profile(path)) {
        err_set(e, "%s: not a gpuprof profile (cut off, or another kind of file)", path);
        return NULL;
    }
    if (store_recover(path, e) < 0)
        return NULL;
    struct store *s = calloc(1, sizeof *s);
    if (!s || !(s->path = strdup(path)) || str_table_init(&s->strings) < 0) {
        store_close(s);
        err_set(e, "out of memory");
        return NULL;
    }
    s->db = sql_open(path, writable ? SQL_WRITE : SQL_READ, e);
    if (!s->db || check_schema(s, e) < 0 || load_strings(s, e) < 0 ||
        (writable && check_writable(s, e) < 0)) {
        store_close(s);
        return NULL;
    }
    return s;
}

struct store *store_open(const char *path, int writable, struct err *e)
{
    struct store *s = open_any(path, writable, e);
    if (!s || !sql_has_table(s->db, STORE_STATE))
        return s;
    store_close(s);
    err_set(e,
            "%s: gpuprof was killed while it recorded this; `gpuprof import` of the folder "
            ".gpuprof-XXXXXX beside it completes it",
            path);
    return NULL;
}

int store_open_left(struct store **s, const char *partial, struct err *e)
{
    struct stat st;
    *s = NULL;
    if (store_recover(partial, e) < 0)
        return -1;
    if (stat(partial, &st) == 0 && st.st_size == 0)
        return 0;
    *s = open_any(partial, 0, e);
    if (!*s)
        return -1;
    if (!store_is_whole(*s) && sql_value((*s)->db, "SELECT 1 FROM " STORE_STATE, 0) == 0) {
        store_close(*s);
        *s = NULL;
    }
    return 0;
}

bool store_is_whole(const struct store *s)
{
    return !sql_has_table(s->db, STORE_STATE);
}

void *store_state(struct store *s, const char *name, size_t *n)
{
    struct err ignored = ERR_INIT;
    void *copy = NULL;
    struct sql_stmt *q =
        sql_prepare(s->db, "SELECT state FROM " STORE_STATE " WHERE name = ?", &ignored);
    if (!q)
        return NULL;
    sql_bind_text(q, 0, name, strlen(name));
    if (sql_step(q, &ignored) == 1) {
        const char *state = sql_text(q, 0, n);
        copy = *n ? malloc(*n) : NULL;
        if (copy)
            memcpy(copy, state, *n);
    }
    sql_finalize(q);
    return copy;
}

/* By string id of the file: string id of the sink. */
struct names {
    uint32_t *of;
    uint32_t count;
};

static int map_names(struct store *s, struct sink *out, struct names *names, struct err *e)
{
    names->count = s->strings.n;
    names->of = calloc(names->count + 1u, sizeof *names->of);
    if (!names->of)
        return err_set(e, "out of memory");
    for (uint32_t id = 0; id < names->count; id++) {
        names->of[id] = out->intern(out->self, s->strings.text[id], s->strings.length[id]);
        if (names->of[id] == STR_NONE)
            return err_set(e, "out of memory");
    }
    return 0;
}

static int read_table(struct store *s, enum row_kind kind, struct sink *out,
                      const struct names *names, struct err *e)
{
    const struct table *t = &tables[kind];
    char text[1024];
    size_t n = (size_t)snprintf(text, sizeof text, "SELECT ");
    int64_t version = sql_value(s->db, "PRAGMA user_version", 0);
    if (t->since > version)
        return 0;
    for (size_t i = 0; i < t->count; i++)
        /* a column that the profile's version lacks reads as -1: not known */
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? ", " : "",
                              t->columns[i].since <= version ? t->columns[i].name : "-1");
    snprintf(text + n, sizeof text - n, " FROM %s ORDER BY id", t->name);
    struct sql_stmt *q = sql_prepare(s->db, text, e);
    if (!q)
        return -1;
    int rc;
    int64_t row[TABLE_MAX_ROW / sizeof(int64_t) + 1];
    while ((rc = sql_step(q, e)) == 1) {
        memset(row, 0, t->row_size);
        for (size_t i = 0; i < t->count; i++) {
            int64_t v = sql_int(q, (int)i);
            char *member = (char *)row + t->columns[i].offset;
            if (t->columns[i].is_string) {
                uint32_t id = v > 0 && v < names->count ? names->of[v] : 0;
                memcpy(member, &id, sizeof id);
            } else {
                memcpy(member, &v, sizeof v);
            }
        }
        if (out->put(out->self, kind, row, e) < 0) {
            rc = -1;
            break;
        }
    }
    sql_finalize(q);
    return rc;
}

int64_t store_start_realtime(struct store *s)
{
    return sql_value(s->db,
                     "SELECT CAST(v.text AS INTEGER) FROM meta m JOIN string k ON k.id = m.key "
                     "JOIN string v ON v.id = m.value WHERE m.process = 0 AND k.text = "
                     "'start_realtime_ns' AND v.text > '' ORDER BY m.id DESC",
                     0);
}

int store_read(struct store *s, struct sink *out, struct err *e)
{
    struct names names = {0};
    int rc = map_names(s, out, &names, e);
    for (int k = 0; rc == 0 && k < ROW_KINDS; k++)
        rc = read_table(s, (enum row_kind)k, out, &names, e);
    free(names.of);
    return rc;
}
