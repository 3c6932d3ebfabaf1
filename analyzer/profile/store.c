/* Creates, opens, writes and finishes a profile; store.h has the contract.
 * Cost of a row: about 1 us. */
#include "analyzer/profile/store.h"

#include "analyzer/profile/keep_window.h"
#include "analyzer/profile/sql/sql.h"
#include "analyzer/profile/store_private.h"
#include "analyzer/profile/tables.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const char store_schema_sql[];

enum { COMMIT_ROWS = 100000, PAGE_BYTES = 8192 };

static void *out_of_memory(struct err *e)
{
    err_set(e, "out of memory");
    return NULL;
}

/* Prepares INSERT INTO name VALUES (?, ?, ...). NULL with *e set. */
static struct sql_stmt *prepare_insert(struct sql *db, const struct table *t, struct err *e)
{
    char text[256];
    size_t n = (size_t)snprintf(text, sizeof text, "INSERT INTO %s VALUES (?", t->name);
    for (size_t i = 1; i < t->count; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, ", ?");
    snprintf(text + n, sizeof text - n, ")");
    return sql_prepare(db, text, e);
}

static int prepare(struct store *s, struct err *e)
{
    for (int k = 0; k < ROW_KINDS; k++)
        if (!(s->insert[k] = prepare_insert(s->db, &tables[k], e)))
            return -1;
    for (int k = 0; k < DERIVED_KINDS; k++)
        if (!(s->insert_derived[k] = prepare_insert(s->db, &derived_tables[k], e)))
            return -1;
    s->insert_string = sql_prepare(s->db, "INSERT INTO string VALUES (?, ?)", e);
    return s->insert_string ? 0 : -1;
}

static struct store *allocate(const char *path, struct err *e)
{
    struct store *s = calloc(1, sizeof *s);
    if (!s)
        return out_of_memory(e);
    s->path = strdup(path);
    if (!s->path || str_table_init(&s->strings) < 0) {
        store_close(s);
        return out_of_memory(e);
    }
    return s;
}

/* SQLite's settings. For a recording (kept) SQLite saves the pages that a transaction changes until
 * it is committed. New pages, which are nearly all, need not be saved. */
static const char *settings(bool kept)
{
    return kept
               ? "PRAGMA page_size = 8192; PRAGMA journal_mode = PERSIST; PRAGMA synchronous = OFF;"
                 "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -8192;"
                 "PRAGMA secure_delete = ON"
               : "PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                 "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -8192";
}

static int prepare_states(struct store *s, struct err *e)
{
    if (sql_exec(s->db, "CREATE TABLE " STORE_STATE " (name TEXT PRIMARY KEY, state TEXT)", e) < 0)
        return -1;
    s->insert_state = sql_prepare(s->db, "INSERT OR REPLACE INTO " STORE_STATE " VALUES (?, ?)", e);
    s->delete_state = sql_prepare(s->db, "DELETE FROM " STORE_STATE " WHERE name = ?", e);
    return s->insert_state && s->delete_state ? 0 : -1;
}

static struct store *create(const char *path, int as, const char *tag, struct err *e)
{
    struct store *s = allocate(path, e);
    if (!s)
        return NULL;
    s->kept = tag != NULL;
    if (place_make(&s->place, path, as, tag, e) < 0) {
        store_close(s);
        return NULL;
    }
    s->db = sql_open(s->place.partial, SQL_CREATE, e);
    if (!s->db)
        err_wrap(e, "%s: cannot be created", path);
    char version[64];
    snprintf(version, sizeof version, "PRAGMA user_version = %d", STORE_SCHEMA_VERSION);
    /* Commits the tables now, so that they are on disk before the recorded program fills it. */
    if (!s->db || sql_exec(s->db, settings(s->kept), e) < 0 || sql_exec(s->db, "BEGIN", e) < 0 ||
        sql_exec(s->db, store_schema_sql, e) < 0 || sql_exec(s->db, version, e) < 0 ||
        (s->kept && prepare_states(s, e) < 0) ||
        sql_exec(s->db, "COMMIT; BEGIN; INSERT INTO string VALUES (0, '')", e) < 0 ||
        prepare(s, e) < 0) {
        store_close(s);
        return NULL;
    }
    place_taken(&s->place);
    s->stored_strings = 1;
    return s;
}

struct store *store_create(const char *path, int as, struct err *e)
{
    return create(path, as, NULL, e);
}

struct store *store_create_kept(const char *path, int as, const char *tag, struct err *e)
{
    return create(path, as, tag, e);
}

/* Inserts the strings interned since the last call, before the rows that refer to them are
 * committed. -1 with *e set. */
static int put_strings(struct store *s, struct err *e)
{
    for (; s->stored_strings < s->strings.n; s->stored_strings++) {
        uint32_t id = s->stored_strings;
        sql_bind_int(s->insert_string, 0, id);
        sql_bind_text(s->insert_string, 1, s->strings.text[id], s->strings.length[id]);
        if (sql_run(s->insert_string, e) < 0)
            return -1;
    }
    return 0;
}

static int put(struct sql_stmt *insert, const struct table *t, const void *row, struct err *e)
{
    for (size_t i = 0; i < t->count; i++) {
        const char *member = (const char *)row + t->columns[i].offset;
        if (t->columns[i].is_string) {
            uint32_t id;
            memcpy(&id, member, sizeof id);
            sql_bind_int(insert, (int)i, id);
        } else {
            int64_t v;
            memcpy(&v, member, sizeof v);
            sql_bind_int(insert, (int)i, v);
        }
    }
    return sql_run(insert, e);
}

static uint32_t sink_intern(void *self, const char *text, size_t n)
{
    return str_intern(&((struct store *)self)->strings, text, n);
}

/* True for rows without a time in a recording: they are also kept in memory until they are
 * committed, to survive a rollback. */
static bool stays(const struct store *s, enum row_kind kind, const void *row)
{
    int64_t ns;
    return s->kept && kind != ROW_EVENT && !window_time_of(kind, row, &ns);
}

static int remember(struct store *s, enum row_kind kind, const void *row, struct err *e)
{
    struct pending_row *p = vec_push(&s->pending);
    if (!p)
        return err_set(e, "out of memory");
    p->kind = kind;
    memcpy(p->bytes, row, tables[kind].row_size);
    return 0;
}

static int sink_put(void *self, enum row_kind kind, const void *row, struct err *e)
{
    struct store *s = self;
    bool later = false;
    if (stays(s, kind, row)) {
        if (remember(s, kind, row, e) < 0)
            return -1;
        later = s->behind;
    }
    if (!later && put(s->insert[kind], &tables[kind], row, e) < 0)
        return -1;
    s->rows_of[kind]++;
    if (++s->rows % COMMIT_ROWS || s->kept)
        return 0;
    return store_commit_rows(s, e);
}

int store_commit_rows(struct store *s, struct err *e)
{
    for (size_t i = 0; s->behind && i < s->pending.n; i++) {
        const struct pending_row *p = &s->pending.at[i];
        if (put(s->insert[p->kind], &tables[p->kind], p->bytes, e) < 0)
            return -1;
    }
    if (put_strings(s, e) < 0 || sql_exec(s->db, "COMMIT; BEGIN", e) < 0)
        return -1;
    s->committed_strings = s->stored_strings;
    s->pending.n = 0;
    s->behind = false;
    return 0;
}

void store_on_full(struct store *s, bool (*make_room)(void *self), void *self)
{
    sql_on_full(s->db, make_room, self);
}

int store_roll_back(struct store *s, struct err *e)
{
    struct err ignored = ERR_INIT;
    if (!s->kept)
        return err_set(e, "the disk is full");
    sql_exec(s->db, "ROLLBACK", &ignored); /* SQLite may already have rolled back */
    s->stored_strings = s->committed_strings;
    s->behind = true;
    return sql_exec(s->db, "BEGIN", e);
}

int store_put_state(struct store *s, const char *name, const void *state, size_t n, struct err *e)
{
    struct sql_stmt *q = n ? s->insert_state : s->delete_state;
    sql_bind_text(q, 0, name, strlen(name));
    if (n)
        sql_bind_text(q, 1, state, n);
    return sql_run(q, e);
}

struct sink store_sink(struct store *s)
{
    return (struct sink){.self = s, .intern = sink_intern, .put = sink_put};
}

int64_t store_rows(const struct store *s)
{
    return s->rows;
}

/* Estimates of bytes that store_finish and the analysis add: an index entry per call; at most
 * one gap between two operations, in the table and in the results; the remaining results;
 * strings not yet written. */
enum { INDEX_BYTES = 20, GAP_BYTES = 32, RESULT_BYTES = 2 << 20, NAME_BYTES = 64 };

int64_t store_expected_bytes(struct store *s)
{
    struct err ignored = ERR_INIT;
    int64_t pages = 0;
    if (!s->pages)
        s->pages = sql_prepare(s->db, "PRAGMA page_count", &ignored);
    if (s->pages && sql_step(s->pages, &ignored) == 1)
        pages = sql_int(s->pages, 0);
    if (s->pages)
        sql_reset(s->pages);
    return pages * PAGE_BYTES + s->rows_of[ROW_API] * INDEX_BYTES +
           (s->rows_of[ROW_KERNEL] + s->rows_of[ROW_COPY] + s->rows_of[ROW_MEMSET]) * GAP_BYTES +
           (int64_t)(s->strings.n - s->stored_strings) * NAME_BYTES + RESULT_BYTES;
}

static void finalize(struct store *s)
{
    for (int k = 0; k < ROW_KINDS; k++) {
        sql_finalize(s->insert[k]);
        s->insert[k] = NULL;
    }
    for (int k = 0; k < DERIVED_KINDS; k++) {
        sql_finalize(s->insert_derived[k]);
        s->insert_derived[k] = NULL;
    }
    sql_finalize(s->insert_string);
    sql_finalize(s->pages);
    sql_finalize(s->insert_state);
    sql_finalize(s->delete_state);
    s->insert_state = s->delete_state = NULL;
    s->insert_string = s->pages = NULL;
}

/* Commits the last rows. If that fails because the disk is full: rolls back and commits
 * without the rows that failed. */
static int commit_last(struct store *s, struct err *e)
{
    struct err ignored = ERR_INIT;
    if (store_commit_rows(s, e) == 0)
        return 0;
    return store_roll_back(s, &ignored) < 0 ? -1 : store_commit_rows(s, e);
}

void store_hurry(struct store *s)
{
    s->hurried = true;
}

int store_finish(struct store *s, struct err *e)
{
    /* For joins that users write. Each index costs a tenth of the recording's size, and tables that
     * are read as a whole need none. */
    static const char indices[] = "CREATE INDEX api_correlation ON api(process, correlation);"
                                  "CREATE INDEX launch_line_time ON launch_line(thread, start_ns)";
    struct err full = ERR_INIT;
    bool kept = s->kept;
    if (commit_last(s, e) < 0)
        return -1;
    finalize(s); /* a table cannot be dropped while statements on it are prepared */
    if ((kept && sql_exec(s->db, "DROP TABLE " STORE_STATE, e) < 0) ||
        sql_exec(s->db, "COMMIT", e) < 0)
        return -1;
    if (!s->hurried && sql_exec(s->db, indices, &full) < 0 &&
        !kept) /* a recording is complete without indices */
        return err_set(e, "%s", full.text);
    place_close(&s->place);
    sql_close(s->db);
    s->db = NULL;
    return place_put(&s->place, e);
}

const char *store_place(const struct store *s)
{
    return s->place.path;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    finalize(s);
    sql_close(s->db);
    place_release(&s->place);
    str_table_release(&s->strings);
    vec_release(&s->pending);
    free(s->path);
    free(s);
}

/* ---- results ---- */

uint32_t store_intern(struct store *s, const char *text)
{
    return str_intern(&s->strings, text ? text : "", text ? strlen(text) : 0);
}

int store_begin(struct store *s, struct err *e)
{
    if (!s->insert_string && prepare(s, e) < 0) {
        finalize(s);
        return -1;
    }
    return sql_exec(s->db, "BEGIN", e);
}

int store_commit(struct store *s, struct err *e)
{
    return put_strings(s, e) < 0 ? -1 : sql_exec(s->db, "COMMIT", e);
}

int store_clear_derived(struct store *s, struct err *e)
{
    return sql_exec(s->db, "DELETE FROM step; DELETE FROM gap; DELETE FROM finding", e);
}

int store_put_derived(struct store *s, enum derived_kind kind, const void *row, struct err *e)
{
    return put(s->insert_derived[kind], &derived_tables[kind], row, e);
}

int64_t store_next_trial(struct store *s)
{
    return sql_value(s->db, "SELECT coalesce(max(id), 0) + 1 FROM trial", 1);
}

int store_put_result(struct store *s, const char *kind, const char *json, struct err *e)
{
    struct sql_stmt *q = sql_prepare(s->db, "INSERT OR REPLACE INTO result VALUES (?, ?)", e);
    if (!q)
        return -1;
    sql_bind_text(q, 0, kind, strlen(kind));
    sql_bind_text(q, 1, json, strlen(json));
    int rc = sql_run(q, e);
    sql_finalize(q);
    return rc;
}

char *store_get_result(struct store *s, const char *kind, struct err *e)
{
    char *json = NULL;
    struct sql_stmt *q = sql_prepare(s->db, "SELECT json FROM result WHERE kind = ?", e);
    if (!q)
        return NULL;
    sql_bind_text(q, 0, kind, strlen(kind));
    if (sql_step(q, e) == 1)
        json = strdup(sql_text(q, 0, NULL));
    sql_finalize(q);
    return json;
}
