/* A gzip file as a file that has a name: SQLite wants one. */
#ifndef GPUPROF_IMPORT_UNPACK_H
#define GPUPROF_IMPORT_UNPACK_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

bool unpack_is_gzip(const char *path);
/* Unpacks it in $TMPDIR. Until all of it is there the file has no name where the file system can do
 * that, so nothing stays behind when we are killed. The caller removes `out` once he has opened it.
 * -1 with *e set: no room, damaged, or it grows as no report does. */
int unpack(const char *path, char *out, size_t size, struct err *e);

#endif
