/* Metrics of a run that goes on: analyses what `pour` puts, and writes `path` by renaming. */
#ifndef GPUPROF_CLI_RESULTS_LIVE_H
#define GPUPROF_CLI_RESULTS_LIVE_H

#include "analyzer/profile/rows.h"
#include "report/export.h"

/* `running`: the run goes on. */
int live_metrics(int (*pour)(void *self, struct sink *to, struct err *e), void *self, bool running,
                 const char *path, struct err *e);
/* Of a run that has ended. */
int live_metrics_of(const struct advice *a, const char *path, struct err *e);

#endif
