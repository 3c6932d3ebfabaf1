/* What a killed `gpuprof run` leaves: the folder of its spools, and the unfinished profile beside
 * it. */
#ifndef GPUPROF_CLI_IMPORT_LEFT_H
#define GPUPROF_CLI_IMPORT_LEFT_H

#include "analyzer/profile/rows.h"

/* Imports all of it, each record once. */
int import_left(const char *folder, struct sink sink, struct err *e);

#endif
