#include "analyzer/profile/sql/sql.h"

#include "analyzer/profile/sql/sql_guard.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* The columns of the table that was asked about last: most questions are about the same one. */
struct columns {
    char *table;  /* NULL: of none */
    char **plain; /* their names */
    size_t count;
    bool others; /* some are hidden or computed */
};

struct sql {
    sqlite3 *db;
    char *path;
    struct columns columns;
    struct sql_guard guard; /* of one that is read */
    bool guarded;
};

struct sql_stmt {
    sqlite3_stmt *s;
    struct sql *owner;
};

/* One line that a user can act on. */
static int fail(struct sql *db, struct err *e)
{
    if (db->guarded && db->guard.exhausted)
        return err_set(e, "%s: damaged: it expands to more data than a file of its size can hold",
                       db->path);
    switch (sqlite3_errcode(db->db) & 0xff) {
    case SQLITE_NOTADB:
        return err_set(e, "%s: not a SQLite database", db->path);
    case SQLITE_CORRUPT:
        return err_set(e, "%s: damaged or cut off (%s)", db->path, sqlite3_errmsg(db->db));
    case SQLITE_AUTH:
        return err_set(e, "%s: damaged: its schema contains more than tables", db->path);
    case SQLITE_TOOBIG:
        return err_set(e, "%s: damaged: a value is too large", db->path);
    case SQLITE_FULL:
        return err_set(e, "%s: the disk is full", db->path);
    case SQLITE_CANTOPEN:
        return err_set(e, "cannot open %s", db->path);
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return err_set(e, "%s: no permission to write", db->path);
    default:
        return err_set(e, "%s: %s", db->path, sqlite3_errmsg(db->db));
    }
}

struct sql *sql_open(const char *path, enum sql_mode mode, struct err *e)
{
    static const int flags[] = {SQLITE_OPEN_READONLY, SQLITE_OPEN_READWRITE,
                                SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE};
    struct sql *db = calloc(1, sizeof *db);
    if (!db || !(db->path = strdup(path))) {
        free(db);
        err_set(e, "out of memory");
        return NULL;
    }
    int flag = flags[mode] | SQLITE_OPEN_NOMUTEX; /* a struct sql belongs to one thread at a time */
    if (sqlite3_open_v2(path, &db->db, flag, NULL) != SQLITE_OK) {
        if (db->db)
            fail(db, e);
        else
            err_set(e, "out of memory");
        sql_close(db);
        return NULL;
    }
    db->guarded = mode == SQL_READ;
    if (mode == SQL_READ)
        sql_guard_reading(db->db, &db->guard, path);
    else if (mode == SQL_WRITE)
        sql_guard_writing(db->db);
    sqlite3_busy_timeout(db->db, 2000);
    return db;
}

static void forget_columns(struct columns *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->plain[i]);
    free(c->plain);
    free(c->table);
    *c = (struct columns){0};
}

void sql_close(struct sql *db)
{
    if (!db)
        return;
    forget_columns(&db->columns);
    sqlite3_close_v2(db->db);
    free(db->path);
    free(db);
}

int sql_exec(struct sql *db, const char *text, struct err *e)
{
    forget_columns(&db->columns); /* it may change them */
    return sqlite3_exec(db->db, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(db, e);
}

/* An entry of the schema by that name: 1 a table with pages of its own, 0 anything else, -1 none.
 */
static int entry(struct sql *db, const char *table)
{
    static const char query[] =
        "SELECT type = 'table' AND rootpage > 1 AND sql LIKE 'CREATE TABLE%' FROM sqlite_master "
        "WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')";
    sqlite3_stmt *s = NULL;
    int found = -1;
    if (sqlite3_prepare_v2(db->db, query, -1, &s, NULL) != SQLITE_OK)
        return 0;
    sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
    if (sqlite3_step(s) == SQLITE_ROW)
        found = sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    return found;
}

static int add_column(struct columns *c, const char *name)
{
    char **grown = realloc(c->plain, (c->count + 1) * sizeof *grown);
    if (!grown)
        return SQLITE_NOMEM;
    c->plain = grown;
    c->plain[c->count] = strdup(name ? name : "");
    return c->plain[c->count++] ? SQLITE_OK : SQLITE_NOMEM;
}

static int read_columns(struct sql *db, const char *table, struct columns *c)
{
    enum { NAME = 1, HIDDEN = 6 };
    sqlite3_stmt *s = NULL;
    char *query = sqlite3_mprintf("PRAGMA table_xinfo(\"%w\")", table);
    int rc = query ? sqlite3_prepare_v2(db->db, query, -1, &s, NULL) : SQLITE_NOMEM;
    sqlite3_free(query);
    while (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        rc = SQLITE_OK;
        if (sqlite3_column_int(s, HIDDEN))
            c->others = true;
        else
            rc = add_column(c, (const char *)sqlite3_column_text(s, NAME));
    }
    sqlite3_finalize(s);
    return rc;
}

/* NULL when it cannot be told. */
static const struct columns *columns_of(struct sql *db, const char *table)
{
    struct columns *c = &db->columns;
    if (c->table && strcmp(c->table, table) == 0)
        return c;
    forget_columns(c);
    c->table = strdup(table);
    if (c->table && read_columns(db, table, c) == SQLITE_DONE)
        return c;
    forget_columns(c);
    return NULL;
}

static bool is_plain(struct sql *db, const char *table)
{
    const struct columns *c = columns_of(db, table);
    return c && !c->others;
}

bool sql_has_table(struct sql *db, const char *table)
{
    return entry(db, table) == 1 && is_plain(db, table);
}

bool sql_has_else(struct sql *db, const char *table)
{
    int found = entry(db, table);
    return found == 0 || (found == 1 && !is_plain(db, table));
}

bool sql_has_column(struct sql *db, const char *table, const char *column)
{
    const struct columns *c = columns_of(db, table);
    for (size_t i = 0; c && i < c->count; i++)
        if (sqlite3_stricmp(c->plain[i], column) == 0)
            return true;
    return false;
}

int64_t sql_value(struct sql *db, const char *query, int64_t none)
{
    sqlite3_stmt *s = NULL;
    int64_t v = none;
    if (sqlite3_prepare_v2(db->db, query, -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW && sqlite3_column_type(s, 0) != SQLITE_NULL)
        v = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return v;
}

struct sql_stmt *sql_prepare(struct sql *db, const char *text, struct err *e)
{
    struct sql_stmt *s = calloc(1, sizeof *s);
    if (!s) {
        err_set(e, "out of memory");
        return NULL;
    }
    s->owner = db;
    if (sqlite3_prepare_v3(db->db, text, -1, SQLITE_PREPARE_PERSISTENT, &s->s, NULL) != SQLITE_OK) {
        fail(db, e);
        free(s);
        return NULL;
    }
    return s;
}

void sql_bind_int(struct sql_stmt *s, int i, int64_t v)
{
    sqlite3_bind_int64(s->s, i + 1, v);
}

void sql_bind_text(struct sql_stmt *s, int i, const char *text, size_t n)
{
    sqlite3_bind_text64(s->s, i + 1, text, n, SQLITE_STATIC, SQLITE_UTF8);
}

int sql_step(struct sql_stmt *s, struct err *e)
{
    int rc = sqlite3_step(s->s);
    struct sql *db = s->owner;
    if (db->guarded && (rc == SQLITE_ROW ? !sql_guard_row(&db->guard) : db->guard.exhausted))
        rc = SQLITE_INTERRUPT;
    return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : fail(db, e);
}

int sql_run(struct sql_stmt *s, struct err *e)
{
    int rc = sqlite3_step(s->s);
    int bad = rc != SQLITE_DONE && rc != SQLITE_ROW ? fail(s->owner, e) : 0;
    sqlite3_reset(s->s);
    return bad;
}

void sql_reset(struct sql_stmt *s)
{
    sqlite3_reset(s->s);
}

int64_t sql_int(struct sql_stmt *s, int col)
{
    return sqlite3_column_int64(s->s, col);
}

const char *sql_text(struct sql_stmt *s, int col, size_t *n)
{
    const char *text = (const char *)sqlite3_column_text(s->s, col);
    int size = text ? sqlite3_column_bytes(s->s, col) : 0;
    if (s->owner->guarded && !sql_guard_bytes(&s->owner->guard, size))
        size = 0;
    if (n)
        *n = (size_t)size;
    return size ? text : "";
}

bool sql_is_null(struct sql_stmt *s, int col)
{
    return sqlite3_column_type(s->s, col) == SQLITE_NULL;
}

void sql_finalize(struct sql_stmt *s)
{
    if (!s)
        return;
    sqlite3_finalize(s->s);
    free(s);
}
