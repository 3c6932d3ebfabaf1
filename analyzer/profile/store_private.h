/* What store.c (writing) and read.c (opening, reading) share. */
#ifndef GPUPROF_PROFILE_STORE_PRIVATE_H
#define GPUPROF_PROFILE_STORE_PRIVATE_H

#include "analyzer/profile/place.h"
#include "analyzer/profile/sql/sql.h"
#include "analyzer/profile/store.h"
#include "analyzer/profile/tables.h"
#include "base/str.h"
#include "base/vec.h"

/* A row that stays to be put until it is committed. */
struct pending_row {
    enum row_kind kind;
    int64_t bytes[TABLE_MAX_ROW / sizeof(int64_t) + 1];
};

struct store {
    struct sql *db;
    char *path;
    struct place place; /* of a new profile; nothing is in it where one was opened */
    struct str_table strings;
    uint32_t stored_strings;                /* of `strings`, already in the table */
    uint32_t committed_strings;             /* of these */
    struct VEC(struct pending_row) pending; /* not committed, and without a time */
    bool behind;                            /* the tables lack them, after store_roll_back */
    int64_t rows, rows_of[ROW_KINDS];
    bool kept; /* committed when the collector says so, with its states */
    struct sql_stmt *insert_state, *delete_state;
    struct sql_stmt *pages; /* asks for the size; made at the first question */
    struct sql_stmt *insert[ROW_KINDS], *insert_derived[DERIVED_KINDS], *insert_string;
};

#define STORE_STATE "gpuprof_state" /* a table of a recording that is not finished */

/* Before an existing profile is opened: completes what a killed writer left half done. */
int store_recover(const char *path, struct err *e);

#endif
