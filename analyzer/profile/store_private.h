/* What store.c (writing) and read.c (opening, reading) share. */
#ifndef GPUPROF_PROFILE_STORE_PRIVATE_H
#define GPUPROF_PROFILE_STORE_PRIVATE_H

#include "analyzer/profile/place.h"
#include "analyzer/profile/sql/sql.h"
#include "analyzer/profile/store.h"
#include "analyzer/profile/tables.h"
#include "base/str.h"
#include "base/vec.h"

/* A row kept in memory until it is committed. */
struct pending_row {
    enum row_kind kind;
    int64_t bytes[TABLE_MAX_ROW / sizeof(int64_t) + 1];
};

struct store {
    struct sql *db;
    char *path;
    struct place place; /* for a new profile; empty if an existing one was opened */
    struct str_table strings;
    uint32_t stored_strings;    /* number of `strings` already inserted into the table */
    uint32_t committed_strings; /* number of those already committed */
    struct VEC(struct pending_row) pending; /* uncommitted rows without a time */
    bool behind; /* after store_roll_back: `pending` must be inserted again */
    int64_t rows, rows_of[ROW_KINDS];
    bool hurried; /* store_hurry was called */
    bool kept;    /* a recording: committed when the collector says so, together with its states */
    struct sql_stmt *insert_state, *delete_state;
    struct sql_stmt *pages; /* statement that asks for the size; prepared at the first use */
    struct sql_stmt *insert[ROW_KINDS], *insert_derived[DERIVED_KINDS], *insert_string;
};

#define STORE_STATE "gpuprof_state" /* a table that exists only in an unfinished recording */

/* Restores a profile whose writer was killed. Call it before opening the
 * profile. -1 with *e set. */
int store_recover(const char *path, struct err *e);

#endif
