/* Limits what SQLite may do with a file that may be hostile; see sql_guard.h. */
#include "analyzer/profile/sql/sql_guard.h"

#include <string.h>
#include <sys/stat.h>

/* Limits of a value's size and a statement's length in bytes. */
enum { VALUE_MIN = 1 << 20, VALUE_MAX = 256 << 20, STATEMENT_MAX = 1 << 16 };

static int on_progress(void *self)
{
    struct sql_guard *g = self;
    g->exhausted |= --g->steps < 0;
    return g->exhausted;
}

int sql_guard_authorize(void *self, int action, const char *a, const char *b, const char *database,
                        const char *source)
{
    const struct sql_guard *g = self;
    (void)database;
    if (g->own_views)
        source = NULL;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
        return source ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_FUNCTION:
        return source || (b && strcmp(b, "load_extension") == 0) ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA:
        return a && (strcmp(a, "table_info") == 0 || strcmp(a, "table_xinfo") == 0 ||
                     strcmp(a, "user_version") == 0)
                   ? SQLITE_OK
                   : SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

void sql_guard_writing(sqlite3 *db)
{
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 100);
    sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
    sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
}

void sql_guard_reading(sqlite3 *db, struct sql_guard *g, const char *path)
{
    struct stat st;
    int64_t size = stat(path, &st) == 0 ? st.st_size : 0;
    /* A row takes at least five bytes, and an instruction reads or copies one of its columns; texts
     * are stored once. gpuprof's queries pass over a table at most three times. */
    *g = (struct sql_guard){
        .steps = 5000 + size / 50, .rows = 20000 + size, .bytes = (8 << 20) + 4 * size};
    sql_guard_writing(db);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH,
                  size < VALUE_MIN   ? VALUE_MIN
                  : size > VALUE_MAX ? VALUE_MAX
                                     : (int)size);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, STATEMENT_MAX);
    sqlite3_exec(db, "PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON", NULL, NULL, NULL);
    sqlite3_progress_handler(db, GUARD_STEPS, on_progress, g);
    sqlite3_set_authorizer(db, sql_guard_authorize, g);
}

bool sql_guard_row(struct sql_guard *g)
{
    g->exhausted |= --g->rows < 0;
    return !g->exhausted;
}

bool sql_guard_bytes(struct sql_guard *g, int64_t n)
{
    g->bytes -= n;
    g->exhausted |= g->bytes < 0;
    return !g->exhausted;
}
