/* The folder in which a run keeps its spools, private, beside its profile or on a disk of the node:
 * .gpuprof-XXXXXX. Its letters stand in the name of the file in which the profile grows, too
 * (place.h), so that the two find each other after a kill. */
#ifndef GPUPROF_PROFILE_SPOOLS_FOLDER_H
#define GPUPROF_PROFILE_SPOOLS_FOLDER_H

#include <stdbool.h>
#include <string.h>

#define SPOOLS_FOLDER_PREFIX   ".gpuprof-"
#define SPOOLS_FOLDER_TEMPLATE SPOOLS_FOLDER_PREFIX "XXXXXX" /* of mkdtemp */
enum { SPOOLS_FOLDER_LETTERS = 6 };

/* A name without the path. */
static inline bool spools_folder_is(const char *name)
{
    return strlen(name) == sizeof SPOOLS_FOLDER_TEMPLATE - 1 &&
           strncmp(name, SPOOLS_FOLDER_PREFIX, sizeof SPOOLS_FOLDER_PREFIX - 1) == 0;
}

/* Its letters; the name may have a path. */
static inline const char *spools_folder_tag(const char *folder)
{
    return folder + strlen(folder) - SPOOLS_FOLDER_LETTERS;
}

#endif
