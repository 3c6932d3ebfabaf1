/* The common end of analyze, report, export, diff and gate: one exporter into one output. */
#ifndef GPUPROF_CLI_RESULTS_EXPORT_TO_H
#define GPUPROF_CLI_RESULTS_EXPORT_TO_H

#include "cli/load/load.h"
#include "report/export.h"

/* Exactly one is not NULL. */
struct exported {
    const struct advice *analysis;
    const struct diff *diff;
    const struct gate *gate;
};

/* The exporter called `name`, if it can write that; NULL with *e set, naming those that can. */
const struct exporter *export_format(const char *name, const struct exported *what, struct err *e);
/* What --format calls it. */
const char *export_name(const struct exporter *x);
/* Before any work: -1 with *e set if the suffix of `path` (NULL: stdout) promises another kind of
 * file than `format` is (a page called x.json). Unknown formats and suffixes pass. */
int export_named(const char *format, const char *path, struct err *e);
/* path NULL or "-" is stdout. */
int export_to(const struct exporter *x, const struct exported *what, const struct export_options *o,
              const char *path, bool force, struct err *e);
/* Gzipped into the open file `fd`, which stays open. */
int export_to_fd(const struct exporter *x, const struct exported *what,
                 const struct export_options *o, int fd, struct err *e);
/* All of it, by the exporter `format`: writes `path`, says so, and releases *l. An exit status.
 * `files`: what was loaded, n of them. */
int export_loaded(struct loaded *l, const char *const *files, size_t n, const char *format,
                  const char *path, bool force);

#endif
