/* Wraps SQLite: prepare, bind, step, finalize, with errors in struct err. */
#include "analyzer/profile/sql/sql.h"

#include "analyzer/profile/sql/sql_files.h"
#include "analyzer/profile/sql/sql_guard.h"
#include "analyzer/profile/sql/sql_journal.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* The columns of the table that was last asked about; most questions are about the same table. */
struct columns {
    char *table;  /* NULL: no table was asked about */
    char **plain; /* names of its ordinary columns */
    size_t count;
    bool others; /* it also has hidden or computed columns */
};

struct sql {
    sqlite3 *db;
    struct sql_files *files;
    char *path;
    struct columns columns;
    struct sql_guard guard; /* limits of a connection that reads */
    bool guarded;
};

struct sql_stmt {
    sqlite3_stmt *s;
    struct sql *owner;
};

/* Sets *e to one line that tells the user what to do. Always -1. */
static int fail(struct sql *db, struct err *e)
{
    if (db->guarded && db->guard.exhausted)
        return err_set(e, "%s: damaged: it expands to more data than a file of its size can hold",
                       db->path);
    if (db->files->foreign)
        return err_set(e, "%s: gpuprof did not write the file %s-journal beside it; move that away",
                       db->path, db->path);
    if (db->files->wal)
        return err_set(e,
                       "%s: another program writes to it, or has left a write-ahead log beside it; "
                       "`sqlite3 %s 'PRAGMA journal_mode = DELETE'` makes it one whole file",
                       db->path, db->path);
    struct rlimit most;
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
    case SQLITE_IOERR:
        if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY)
            return err_set(e,
                           "%s: cannot write: files may have at most %llu bytes here (ulimit -f)",
                           db->path, (unsigned long long)most.rlim_cur);
        break;
    default:
        break;
    }
    return err_set(e, "%s: %s", db->path, sqlite3_errmsg(db->db));
}

/* Opens the database file. Puts "./" before relative paths, so that SQLite treats the name as
 * nothing but a file's: a name that begins with "file:" would be a URI, which can choose another
 * VFS, and ":memory:" is no file. */
static int open_file(struct sql *db, int flags)
{
    char *name = NULL;
    if (asprintf(&name, "%s%s", db->path[0] == '/' ? "" : "./", db->path) < 0)
        return SQLITE_NOMEM;
    int rc = sqlite3_open_v2(name, &db->db, flags, db->files->name);
    free(name);
    return rc;
}

struct sql *sql_open(const char *path, enum sql_mode mode, struct err *e)
{
    static const int flags[] = {SQLITE_OPEN_READONLY, SQLITE_OPEN_READWRITE,
                                SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE};
    struct sql *db = calloc(1, sizeof *db);
    if (mode != SQL_CREATE && sql_check_whole(path, e) < 0) {
        free(db);
        return NULL;
    }
    if (!db || !(db->path = strdup(path)) || !(db->files = sql_files_open(mode != SQL_READ))) {
        sql_close(db);
        err_set(e, "out of memory");
        return NULL;
    }
    /* NOMUTEX: only one thread at a time uses a struct sql */
    if (open_file(db, flags[mode] | SQLITE_OPEN_NOMUTEX) != SQLITE_OK) {
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

void sql_on_full(struct sql *db, bool (*make_room)(void *self), void *self)
{
    db->files->make_room = make_room;
    db->files->self = self;
}

bool sql_has_journal(const char *path)
{
    char *real = realpath(path, NULL), *journal = NULL;
    bool has =
        real && asprintf(&journal, "%s-journal", real) >= 0 && sql_journal_at(AT_FDCWD, journal);
    free(real);
    free(journal);
    return has;
}

bool sql_is_refused(const struct sql *db)
{
    return db->files->foreign || db->files->wal;
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
    /* otherwise a statement was not finalized and still needs files and database */
    if (sqlite3_close(db->db) == SQLITE_OK)
        sql_files_close(db->files);
    free(db->path);
    free(db);
}

int sql_exec(struct sql *db, const char *text, struct err *e)
{
    forget_columns(&db->columns); /* the statement may change the columns */
    return sqlite3_exec(db->db, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(db, e);
}

/* Temporary views come before those of the file, and are the only ones that SQLITE_DBCONFIG_ENABLE_VIEW
 * leaves on. */
int sql_own_views(struct sql *db, const char *schema, struct err *e)
{
    sqlite3_set_authorizer(db->db, NULL, NULL);
    int rc = sqlite3_exec(db->db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
    for (const char *at = strstr(schema, "\nCREATE VIEW "); rc == SQLITE_OK && at;
         at = strstr(at + 1, "\nCREATE VIEW ")) {
        sqlite3_stmt *s = NULL;
        char *text = sqlite3_mprintf("CREATE TEMP%s", at + strlen("\nCREATE"));
        rc = text ? sqlite3_prepare_v2(db->db, text, -1, &s, NULL) : SQLITE_NOMEM; /* one of them */
        if (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_DONE)
            rc = SQLITE_OK;
        sqlite3_finalize(s);
        sqlite3_free(text);
    }
    db->guard.own_views = true;
    sqlite3_set_authorizer(db->db, sql_guard_authorize, &db->guard);
    return rc == SQLITE_OK ? 0 : fail(db, e);
}

/* Looks up an entry of the schema by its name: 1 an ordinary table, 0
 * anything else, -1 no entry. */
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

/* NULL if they cannot be read. */
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

bool sql_is_number(struct sql_stmt *s, int col)
{
    int type = sqlite3_column_type(s->s, col);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

const char *sql_column(struct sql_stmt *s, int col)
{
    return sqlite3_column_name(s->s, col);
}

void sql_finalize(struct sql_stmt *s)
{
    if (!s)
        return;
    sqlite3_finalize(s->s);
    free(s);
}
