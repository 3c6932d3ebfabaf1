/* What place.c (a new profile) and place_left.c (those of others) share. */
#ifndef GPUPROF_PROFILE_PLACE_PRIVATE_H
#define GPUPROF_PROFILE_PLACE_PRIVATE_H

#include "analyzer/profile/spools_folder.h"

#include <stdbool.h>
#include <sys/types.h>

#define PLACE_SUFFIX ".partial"
enum { PLACE_UNIQUE = SPOOLS_FOLDER_LETTERS }; /* letters between the dots */

/* The folder of a path, "." where it names none; malloc'ed. */
char *place_folder(const char *path);
/* What SQLite left beside a profile of this name belongs to the one before. */
void place_remove_siblings(const char *path);
/* Somebody else who writes the profile `name` in this folder: his process, 0 = nobody. `alone`:
 * what the dead left goes, in time. */
pid_t place_look_for_others(int folder, const char *name, bool alone);

#endif
