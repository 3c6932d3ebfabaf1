/* SQLite behind struct err: prepare, bind, step, finalize. The only wrapper of sqlite3.h; importers
 * of foreign databases use it too. Columns and parameters count from 0. */
#ifndef GPUPROF_PROFILE_SQL_SQL_H
#define GPUPROF_PROFILE_SQL_SQL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sql_mode { SQL_READ, SQL_WRITE, SQL_CREATE };

struct sql; /* belongs to one thread at a time */
struct sql_stmt;

/* NULL with *e set: not there, not a database, damaged, no permission. A file that is read may be
 * hostile: nothing in its schema is run, and what reading takes is bounded by its size. What others
 * lay beside it is not touched (sql_files.h); a later call fails then, and sql_is_refused. */
struct sql *sql_open(const char *path, enum sql_mode mode, struct err *e);
bool sql_is_refused(const struct sql *db);
/* Beside the database lies what may be the journal of a change that was cut off. */
bool sql_has_journal(const char *path);
/* -1 with *e set: a database that is shorter than it says. 0 also for what is no database. */
int sql_check_whole(const char *path, struct err *e);
void sql_close(struct sql *db); /* NULL is fine */
int sql_exec(struct sql *db, const char *text, struct err *e);
/* A table of plain columns: no view, no virtual table, nothing that is computed. */
bool sql_has_table(struct sql *db, const char *table);
/* Something else by that name, or something that cannot be told. */
bool sql_has_else(struct sql *db, const char *table);
bool sql_has_column(struct sql *db, const char *table, const char *column);
/* First column of the first row of a query; `none` when there is no row or it fails. */
int64_t sql_value(struct sql *db, const char *query, int64_t none);

struct sql_stmt *sql_prepare(struct sql *db, const char *text, struct err *e);
void sql_bind_int(struct sql_stmt *s, int i, int64_t v);
void sql_bind_text(struct sql_stmt *s, int i, const char *text,
                   size_t n);                    /* copied by step's end */
int sql_step(struct sql_stmt *s, struct err *e); /* 1 row, 0 end, -1 error */
int sql_run(struct sql_stmt *s, struct err *e);  /* step to the end and reset: for INSERT */
void sql_reset(struct sql_stmt *s);
int64_t sql_int(struct sql_stmt *s, int col); /* 0 for NULL and for text without digits */
const char *sql_text(struct sql_stmt *s, int col,
                     size_t *n); /* "" for NULL; valid until the next step; all texts together are
                                    bounded: from then on "", and the next step fails */
bool sql_is_null(struct sql_stmt *s, int col);
void sql_finalize(struct sql_stmt *s);

#endif
