/* Source lines of the program, as its files were when the recording began: only of the user's own
 * code, and only from files that were not written since then. Each file is read once; at most 64
 * files of at most 1 MiB each. */
#ifndef GPUPROF_COLLECTOR_SOURCES_H
#define GPUPROF_COLLECTOR_SOURCES_H

#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source_file {
    char *path, *text; /* text NULL: the file cannot be used */
};
struct sources {
    struct VEC(struct source_file) files;
    int64_t start_ns; /* start of the recording, CLOCK_MONOTONIC */
};

/* Writes the line to `out`, without spaces around it. False: it is not known, or empty. */
bool source_line(struct sources *s, const char *path, int64_t line, char *out, size_t size);
void sources_release(struct sources *s);

#endif
