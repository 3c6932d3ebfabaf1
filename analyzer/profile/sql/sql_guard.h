/* What a database of unknown origin may cost and do, and what in it counts as a table. Private to
 * this folder. */
#ifndef GPUPROF_PROFILE_SQL_SQL_GUARD_H
#define GPUPROF_PROFILE_SQL_SQL_GUARD_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* What reading may still take. Each is a small multiple of what a file of that size can hold,
 * however often our queries pass over it. */
struct sql_guard {
    int64_t steps; /* instructions of SQLite's machine, in units of GUARD_STEPS */
    int64_t rows;
    int64_t bytes;  /* of texts */
    bool exhausted; /* one of them has come to its end */
};

enum { GUARD_STEPS = 1000 };

/* Before the first query. Views and triggers do nothing, the schema's functions are not called,
 * nothing but reading is allowed, and a statement that goes on too long is interrupted. */
void sql_guard_reading(sqlite3 *db, struct sql_guard *g, const char *path);
/* The same for one that is written to, as far as it can be: no views, no triggers, no functions of
 * the schema. */
void sql_guard_writing(sqlite3 *db);

/* Takes account of a row, or of a text. false: more than the file can hold. */
bool sql_guard_row(struct sql_guard *g);
bool sql_guard_bytes(struct sql_guard *g, int64_t n);

#endif
