/* Where a result goes: stdout, or a file that appears under its name only when it is whole (written
 * beside it and renamed), gzipped when the name ends in .gz, for the user's eyes alone: what a run
 * was called with and where it lay is nobody else's matter. An existing file is refused before any
 * work is done, unless force. */
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

/* path NULL or "-" is stdout. */
int output_open(struct output *o, const char *path, bool force, struct err *e);
/* Gzipped into a file that is open already and stays so. */
int output_open_fd(struct output *o, int fd, struct err *e);
/* Flushes, closes, renames. */
int output_commit(struct output *o, struct err *e);
void output_discard(struct output *o); /* after a failure; nothing is left behind */

/* -1 with *e set when `path` exists and force is not given, or cannot be made there. */
int output_check(const char *path, bool force, struct err *e);

#endif
