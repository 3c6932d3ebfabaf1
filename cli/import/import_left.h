/* What a killed `gpuprof run` left: the folder of its spools, and beside it the profile that grew.
 */
#ifndef GPUPROF_CLI_IMPORT_LEFT_H
#define GPUPROF_CLI_IMPORT_LEFT_H

#include "analyzer/profile/rows.h"

int import_left(const char *folder, struct sink sink, struct err *e); /* all of it, once */

#endif
