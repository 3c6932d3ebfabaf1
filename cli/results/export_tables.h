/* export --format csv: each operand is one run, a file or the folder of its ranks. All runs go into
 * the same three files. */
#ifndef GPUPROF_CLI_RESULTS_EXPORT_TABLES_H
#define GPUPROF_CLI_RESULTS_EXPORT_TABLES_H

#include "cli/load/load.h"

/* output: a folder, which is created, for runs.csv, steps.csv and findings.csv; or X.csv for
 * X.runs.csv and so on. Names and leaves out a run that cannot be read. Returns the exit status. */
int export_tables(const char *const *runs, size_t n, const struct load_how *how, const char *output,
                  bool force);

#endif
