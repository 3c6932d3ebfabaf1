/* Unpacks gzip files for SQLite, which opens files by name. */
#ifndef GPUPROF_IMPORT_UNPACK_H
#define GPUPROF_IMPORT_UNPACK_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

bool unpack_is_gzip(const char *path);
/* Unpacks the file into $TMPDIR. If the file system allows it, the result gets its name only when
 * it is complete, so that nothing is left behind if gpuprof is killed. The caller unlinks `out`
 * once it has opened it. -1 with *e set: no room, damaged, or far larger than a report can be. */
int unpack(const char *path, char *out, size_t size, struct err *e);

#endif
