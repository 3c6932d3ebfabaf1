/* What place.c (creating a profile) and place_left.c (files of other processes) share. */
#ifndef GPUPROF_PROFILE_PLACE_PRIVATE_H
#define GPUPROF_PROFILE_PLACE_PRIVATE_H

#include "analyzer/profile/spools_folder.h"

#include <stdbool.h>
#include <sys/types.h>

#define PLACE_SUFFIX ".partial"
enum { PLACE_UNIQUE = SPOOLS_FOLDER_LETTERS }; /* number of letters between the dots */

/* The folder of a path, "." if the path names none; malloc'ed, NULL: out of memory. */
char *place_folder(const char *path);
/* Removes files that SQLite left beside an earlier profile of this name:
 * journal, WAL, shared memory. */
void place_remove_siblings(const char *path);
/* The other process that writes the profile `name` in this folder; 0 = none. alone: the folder is
 * locked, so also remove old files of processes that no longer exist. */
pid_t place_look_for_others(int folder, const char *name, bool alone);

#endif
