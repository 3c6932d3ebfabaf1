/* The folder in which a run keeps its spools, private to the user, beside its profile or on a
 * disk of the node: .gpuprof-XXXXXX. The file in which the profile is written has the same
 * letters in its name (place.h), so that both are found again after a kill. The name alone proves
 * nothing: users have folders with such names (.gpuprof-backup). So gpuprof puts a mark, a file,
 * into each folder that it creates. It removes only folders with that mark, and in them only
 * files with the names that it uses. While the mark is missing, before it is created and after it
 * is removed, the folder has another name that no user would choose. So a kill at any moment leaves
 * no folder whose owner the next run cannot tell. */
#ifndef GPUPROF_PROFILE_SPOOLS_FOLDER_H
#define GPUPROF_PROFILE_SPOOLS_FOLDER_H

#include <stdbool.h>
#include <string.h>

#define SPOOLS_FOLDER_PREFIX   ".gpuprof-"
#define SPOOLS_FOLDER_TEMPLATE SPOOLS_FOLDER_PREFIX "XXXXXX" /* the template for mkdtemp */
#define SPOOLS_FOLDER_MARK     ".made-by-gpuprof-run"
#define SPOOLS_FOLDER_UNMARKED SPOOLS_FOLDER_MARK "-" /* the letters follow */
enum { SPOOLS_FOLDER_LETTERS = 6 };

/* True if the name, without a path, has the form of such a folder. */
static inline bool spools_folder_is(const char *name)
{
    return strlen(name) == sizeof SPOOLS_FOLDER_TEMPLATE - 1 &&
           strncmp(name, SPOOLS_FOLDER_PREFIX, sizeof SPOOLS_FOLDER_PREFIX - 1) == 0;
}

/* The same for a folder without its mark. */
static inline bool spools_folder_is_unmarked(const char *name)
{
    return strlen(name) == sizeof SPOOLS_FOLDER_UNMARKED - 1 + SPOOLS_FOLDER_LETTERS &&
           strncmp(name, SPOOLS_FOLDER_UNMARKED, sizeof SPOOLS_FOLDER_UNMARKED - 1) == 0;
}

/* Creates a folder with mode 0700 and the mark. `path` must end with the template, and gets the
 * final name. 0, or -1 with errno set. */
int spools_folder_make(char *path);
/* True if the open folder was created by gpuprof for this user. */
bool spools_folder_is_ours(int fd);
/* Removes gpuprof's files from such a folder, and the folder if nothing else is in it. Does nothing
 * to a folder without the mark. */
void spools_folder_remove(const char *path);
/* Removes an unmarked folder of this user if it is empty but for the mark. */
void spools_folder_remove_unmarked(const char *path);

/* The six letters at the end of a folder's name or path. */
static inline const char *spools_folder_tag(const char *folder)
{
    return folder + strlen(folder) - SPOOLS_FOLDER_LETTERS;
}

#endif
