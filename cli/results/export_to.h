/* The last stage of analyze, report, export, diff and gate: one exporter writes one output. */
#ifndef GPUPROF_CLI_RESULTS_EXPORT_TO_H
#define GPUPROF_CLI_RESULTS_EXPORT_TO_H

#include "cli/load/load.h"
#include "report/export.h"

/* What to write: exactly one is not NULL. */
struct exported {
    const struct advice *analysis;
    const struct diff *diff;
    const struct gate *gate;
};

/* The exporter called `name` if it can write `what`; NULL with *e set, which names those that
 * can. */
const struct exporter *export_format(const char *name, const struct exported *what, struct err *e);
/* Its name for --format. */
const char *export_name(const struct exporter *x);
/* The format that the suffix of `path` names (".pftrace", also before ".gz"), else `otherwise`. Several write .json. */
const char *export_by_suffix(const char *path, const char *otherwise);
/* Checks before any work. -1 with *e set if the suffix of `path` (NULL: stdout) belongs to another
 * kind of file than `format` (a page called x.json). Unknown formats and suffixes pass. */
int export_named(const char *format, const char *path, struct err *e);
/* path NULL or "-": stdout. */
int export_to(const struct exporter *x, const struct exported *what, const struct export_options *o,
              const char *path, bool force, struct err *e);
/* Gzipped, into the open file `fd`, which stays open. */
int export_to_fd(const struct exporter *x, const struct exported *what,
                 const struct export_options *o, int fd, struct err *e);
/* Writes `path` by the exporter `format`, prints that, and releases *l. Returns the exit status.
 * files: the n files that were loaded. */
int export_loaded(struct loaded *l, const char *const *files, size_t n, const char *format,
                  const char *path, bool force);

#endif
