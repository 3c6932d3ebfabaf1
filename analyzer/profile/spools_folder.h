/* The folder in which a run keeps its spools, private, beside its profile or on a disk of the node:
 * .gpuprof-XXXXXX. Its letters stand in the name of the file in which the profile grows, too
 * (place.h), so that the two find each other after a kill. A name alone proves nothing: users have
 * folders of such names (.gpuprof-backup). So gpuprof marks each folder that it makes, by a file in
 * it, and removes a folder only with that mark, and in it only files by the names that it gives. */
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

/* Makes one, private, from a path that ends with the template. 0, or -1 with errno. */
int spools_folder_make(char *path);
/* An open folder that gpuprof made for this user. */
bool spools_folder_is_ours(int fd);
/* Removes gpuprof's files in such a folder, and the folder unless something else is in it. One that
 * is not ours stays as it is. */
void spools_folder_remove(const char *path);

/* Its letters; the name may have a path. */
static inline const char *spools_folder_tag(const char *folder)
{
    return folder + strlen(folder) - SPOOLS_FOLDER_LETTERS;
}

#endif
