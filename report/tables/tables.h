/* Runs, steps and findings as three tables for a fleet's database. docs/fleet.md is their schema:
 * new columns are only added at the end. */
#ifndef GPUPROF_REPORT_TABLES_TABLES_H
#define GPUPROF_REPORT_TABLES_TABLES_H

#include "analyzer/advice/advice.h"

#include <stdio.h>

enum table_kind { TABLE_RUNS, TABLE_STEPS, TABLE_FINDINGS, TABLE_KINDS };

extern const char *const table_name[TABLE_KINDS]; /* "runs", "steps", "findings" */

void table_head(enum table_kind kind, FILE *f);
/* The rows of one run; `run` names it in all three. */
void table_rows(enum table_kind kind, FILE *f, const struct advice *a, const char *run);

#endif
