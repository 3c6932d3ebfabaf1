/* Limits what a database of unknown origin may do, and how much work it may cause.
 * Private to this folder. */
#ifndef GPUPROF_PROFILE_SQL_SQL_GUARD_H
#define GPUPROF_PROFILE_SQL_SQL_GUARD_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* What reading may still use. Each limit is a small multiple of what a file of that size can
 * contain, and covers all of gpuprof's queries together. */
struct sql_guard {
    int64_t steps; /* instructions of SQLite's virtual machine, in units of GUARD_STEPS */
    int64_t rows;
    int64_t bytes;  /* of texts */
    bool exhausted; /* a limit was reached */
    bool own_views; /* the only views are those of sql_own_views */
};

enum { GUARD_STEPS = 1000 };

/* Call it before the first query. Disables views, triggers and functions in the schema, allows only
 * reading, and interrupts statements that run too long. */
void sql_guard_reading(sqlite3 *db, struct sql_guard *g, const char *path);
/* SQLite's authorizer on such a connection; self: its struct sql_guard. `source`: the view or
 * trigger that contains the access, NULL for gpuprof's own statements. */
int sql_guard_authorize(void *self, int action, const char *a, const char *b, const char *database,
                        const char *source);
/* The same for a connection that writes, as far as possible: no views, no triggers, no
 * functions in the schema. */
void sql_guard_writing(sqlite3 *db);

/* Count one row, or n bytes of text. False: more than the file can contain. */
bool sql_guard_row(struct sql_guard *g);
bool sql_guard_bytes(struct sql_guard *g, int64_t n);

#endif
