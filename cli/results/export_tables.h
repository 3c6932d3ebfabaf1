/* export --format csv: each operand is one run, a file or the folder of its ranks; all of them into
 * three files. */
#ifndef GPUPROF_CLI_RESULTS_EXPORT_TABLES_H
#define GPUPROF_CLI_RESULTS_EXPORT_TABLES_H

#include "cli/load/load.h"

/* `output`: a folder, which is made, for runs.csv, steps.csv and findings.csv; X.csv names
 * X.runs.csv and so on. A run that cannot be read is named and left out. An exit status. */
int export_tables(const char *const *runs, size_t n, const struct load_how *how, const char *output,
                  bool force);

#endif
