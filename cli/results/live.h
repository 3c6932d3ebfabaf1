/* Metrics of a running program: analyses the rows that `pour` writes, and replaces the file `path`
 * at once. */
#ifndef GPUPROF_CLI_RESULTS_LIVE_H
#define GPUPROF_CLI_RESULTS_LIVE_H

#include "analyzer/profile/rows.h"
#include "report/export.h"

/* running: the program has not ended. */
int live_metrics(int (*pour)(void *self, struct sink *to, struct err *e), void *self, bool running,
                 const char *path, struct err *e);
/* For a program that has ended. */
int live_metrics_of(const struct advice *a, const char *path, struct err *e);

#endif
