/* Which column of which table holds which member of a row struct: one description for writing,
 * reading and testing. The order of columns is that of schema.sql. */
#ifndef GPUPROF_PROFILE_TABLES_H
#define GPUPROF_PROFILE_TABLES_H

#include "analyzer/profile/rows.h"

struct column {
    const char *name;
    uint16_t offset;   /* of the member in the row struct */
    uint8_t is_string; /* 1: a uint32_t id of the string table; 0: an int64_t */
    uint8_t since;     /* schema version that added the column; 0 = it was always there */
};

struct table {
    const char *name;
    const struct column *columns;
    size_t count;
    size_t row_size;
    uint8_t since; /* schema version that added the table; 0 = it was always there */
};

enum { TABLE_MAX_COLUMNS = 32, TABLE_MAX_ROW = sizeof(struct row_call) };

extern const struct table tables[ROW_KINDS];
extern const struct table derived_tables[DERIVED_KINDS];

/* Offset in the row struct of the time that decides whether a row lies in a window of the run; -1:
 * the kind has no time, or describes something that lasts longer than a window. */
int table_time_offset(enum row_kind kind);
/* Offset in the row struct of the process id; -1: the kind has none. */
int table_process_offset(enum row_kind kind);

#endif
