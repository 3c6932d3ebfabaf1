/* The parts of `gpuprof record`.
 *   record_find.c  the run that a process belongs to
 *   cmd_record.c   options, asking, waiting
 */
#ifndef GPUPROF_CLI_RECORD_RECORD_H
#define GPUPROF_CLI_RECORD_RECORD_H

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

/* The folder in which the run keeps its spools that process `pid` (gpuprof itself, the program, or
 * a process that it started) belongs to. -1 with *e set: there is none. */
int record_find(pid_t pid, char *folder, size_t n, struct err *e);

#endif
