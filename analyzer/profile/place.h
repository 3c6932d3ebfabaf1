/* Where a new profile is written, and how it gets its name. It is written to a new file beside the
 * final name, PATH.XXXXXX.partial, created with O_EXCL and so never through a link. While one
 * process writes a profile, another process that wants to write the same one is refused. Files left
 * by processes that no longer exist are removed once they are a minute old. */
#ifndef GPUPROF_PROFILE_PLACE_H
#define GPUPROF_PROFILE_PLACE_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* What to do if the name is taken. */
enum place_as {
    PLACE_NEW = 0,     /* refuse */
    PLACE_REPLACE = 1, /* replace the file */
    PLACE_SPARE = 2,   /* use the next free name, PATH.2.gpuprof; also if another process
                          is writing to the name */
    PLACE_YIELD = 4,   /* like PLACE_SPARE, but only if another process is writing to the name */
};

struct place {
    char *path;    /* the final name; with PLACE_SPARE the first free one */
    char *partial; /* the file being written; NULL: it is in place, or was given up */
    dev_t device;  /* device and inode identify the file that this process created */
    ino_t inode;
    int as;       /* bits of enum place_as */
    bool written; /* another process is writing to the last name that was tried */
    int turn;     /* locked descriptor of the folder: other gpuprofs wait before
                     they start; -1 = not held */
};

/* Creates the file. `tag`: the letters for its XXXXXX, NULL: random ones. No other gpuprof starts
 * in this folder until the caller calls place_taken. Before that the caller must lock the file
 * (opening it with SQLite does). -1 with *e set: nothing to release. */
int place_make(struct place *p, const char *path, int as, const char *tag, struct err *e);
void place_taken(struct place *p);
/* Takes the folder's lock again, so that other gpuprofs wait until place_put or place_release. Call
 * it before the file is closed, because closing it releases SQLite's lock on it. If another process
 * holds the folder's lock too long, continues without it. */
void place_close(struct place *p);
/* Renames the file to its final name. Replaces an existing file only with
 * PLACE_REPLACE. -1 with *e set. */
int place_put(struct place *p, struct err *e);
/* Removes the file unless it is in place. */
void place_release(struct place *p);

/* A profile that is written on another disk. moved_reserve reserves its final name with an empty,
 * locked file: while this process lives, other gpuprofs that want to write to the name are refused.
 * The finished profile is copied into that file, which then gets the name. */
struct moved {
    struct place place;
    int lock; /* descriptor of the locked file; -1 = not reserved */
};
int moved_reserve(struct moved *m, const char *path, int as, struct err *e);
/* Copies `from` to the reserved place, and removes it. -1 with *e set: `from` still
 * exists, and *e names it. */
int moved_put(struct moved *m, const char *from, struct err *e);
void moved_release(struct moved *m); /* removes the reserving file unless moved_put succeeded */

/* Finds what a killed recording left. If the folder .gpuprof-XXXXXX of its spools still exists, the
 * file PATH.XXXXXX.partial beside it is kept, because only both together contain all that was
 * recorded. place_left returns the file's path, malloc'ed; NULL: there is none, or it is
 * still being written. place_remove_left removes it. */
char *place_left(const char *spools);
void place_remove_left(const char *partial);

/* -1 with *e set if another process still writes this profile. `path` is its final name, which does
 * not exist yet, or the file it is written to. 0: no process does. */
int place_unfinished(const char *path, struct err *e);

#endif
