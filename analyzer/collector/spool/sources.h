/* The text of lines of the program, as its files had it when the recording began. Only the user's
 * own code, and files that nobody has written since. A file is read once: 1 MiB of 64 at most. */
#ifndef GPUPROF_COLLECTOR_SOURCES_H
#define GPUPROF_COLLECTOR_SOURCES_H

#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source_file {
    char *path, *text; /* text NULL: it cannot be had */
};
struct sources {
    struct VEC(struct source_file) files;
    int64_t start_ns; /* of the recording, CLOCK_MONOTONIC */
};

/* Writes the line without the spaces around it. False: it is not known, or empty. */
bool source_line(struct sources *s, const char *path, int64_t line, char *out, size_t size);
void sources_release(struct sources *s);

#endif
