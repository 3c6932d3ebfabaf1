/* The output of a command: stdout, or a file. The file gets its name only when it is complete (it
 * is written beside it and renamed). It is gzipped if the name ends in .gz. Its permissions are
 * those of mode_of_output(). If the file exists, the command refuses before any work, unless
 * force. */
#ifndef GPUPROF_CLI_COMMON_OUTPUT_H
#define GPUPROF_CLI_COMMON_OUTPUT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>

struct output {
    FILE *f;
    const char *path; /* NULL: stdout */
    char temporary[4096];
};

/* path NULL or "-": stdout. */
int output_open(struct output *o, const char *path, bool force, struct err *e);
/* Gzipped, into an open file, which stays open. */
int output_open_fd(struct output *o, int fd, struct err *e);
/* Flushes and closes the output, and gives the file its name. */
int output_commit(struct output *o, struct err *e);
void output_discard(struct output *o); /* after a failure: leaves no file */

/* Checks before any work. -1 with *e set if `path` exists and force is not given, or if it cannot
 * be created there. */
int output_check(const char *path, bool force, struct err *e);

#endif
