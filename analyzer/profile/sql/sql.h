/* SQLite with errors in struct err: prepare, bind, step, finalize. The only wrapper of sqlite3.h;
 * importers of other tools' databases use it, too. Columns and parameters count from 0. */
#ifndef GPUPROF_PROFILE_SQL_SQL_H
#define GPUPROF_PROFILE_SQL_SQL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sql_mode { SQL_READ, SQL_WRITE, SQL_CREATE };

struct sql; /* used by one thread at a time */
struct sql_stmt;

/* NULL with *e set: the file does not exist, is no database, is damaged, or may not be read. A file
 * opened for reading may be hostile: code in its schema is never run, and the work to read it is
 * bounded by its size. Files that others put beside it are not touched (sql_files.h): a later call
 * then fails, and sql_is_refused returns true. */
struct sql *sql_open(const char *path, enum sql_mode mode, struct err *e);
bool sql_is_refused(const struct sql *db);
/* True if a file beside the database may be the journal of an interrupted change. */
bool sql_has_journal(const char *path);
/* -1 with *e set: the database is shorter than its header says. 0 also for
 * files that are no database. */
int sql_check_whole(const char *path, struct err *e);
void sql_close(struct sql *db); /* accepts NULL */
/* Sets the function that is called when a write finds no space on the disk. It returns true if the
 * write should be tried again. */
void sql_on_full(struct sql *db, bool (*make_room)(void *self), void *self);
int sql_exec(struct sql *db, const char *text, struct err *e);
/* Lets queries on a file that is read use the views that `schema` creates, in place of any that the
 * file has. -1 with *e set. */
int sql_own_views(struct sql *db, const char *schema, struct err *e);
/* True for an ordinary table: no view, no virtual table, no computed columns. */
bool sql_has_table(struct sql *db, const char *table);
/* True if something else has that name, or if it cannot be decided. */
bool sql_has_else(struct sql *db, const char *table);
bool sql_has_column(struct sql *db, const char *table, const char *column);
/* First column of the first row of a query; `none` if there is no row or the query fails. */
int64_t sql_value(struct sql *db, const char *query, int64_t none);

struct sql_stmt *sql_prepare(struct sql *db, const char *text, struct err *e);
void sql_bind_int(struct sql_stmt *s, int i, int64_t v);
void sql_bind_text(struct sql_stmt *s, int i, const char *text,
                   size_t n); /* `text` must stay valid until the next step has ended */
int sql_step(struct sql_stmt *s, struct err *e); /* 1 a row, 0 the end, -1 with *e set */
int sql_run(struct sql_stmt *s, struct err *e);  /* steps to the end and resets: for
                                                    INSERT. -1 with *e set */
void sql_reset(struct sql_stmt *s);
int64_t sql_int(struct sql_stmt *s, int col); /* 0 for NULL and for text without digits */
const char *sql_text(struct sql_stmt *s, int col,
                     /* "" for NULL; valid until the next step. The total of all texts is limited
                      * for files that are read: beyond it texts are "", and the next step fails */
                     size_t *n);
bool sql_is_null(struct sql_stmt *s, int col);
bool sql_is_number(struct sql_stmt *s, int col);
const char *sql_column(struct sql_stmt *s, int col); /* its name; NULL: there are no more */
void sql_finalize(struct sql_stmt *s);

#endif
