/* The parts of `gpuprof record`:
 *   record_find.c   the run that a process belongs to
 *   record_folder.c all runs of a folder
 *   cmd_record.c    options, asking, waiting */
#ifndef GPUPROF_CLI_RECORD_RECORD_H
#define GPUPROF_CLI_RECORD_RECORD_H

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

/* Finds the folder of spools of the run that process `pid` belongs to: gpuprof itself, the program,
 * or a process that it started. -1 with *e set: there is none. */
int record_find(pid_t pid, char *folder, size_t n, struct err *e);

/* Ask all runs that record into the folder: for a window, or where they are. Return the exit
 * status. */
int record_ask_folder(const char *folder, const char *wanted);
int record_status_folder(const char *folder);

#endif
