/* Where a new profile grows, and how it gets its name. It grows in a file of its own beside the
 * profile, PATH.XXXXXX.partial, which nobody else has: made anew, never through a link. While one
 * process writes a profile, another that wants to write the same is refused. What a process that is
 * not there any more left of it is removed, once a minute has passed. */
#ifndef GPUPROF_PROFILE_PLACE_H
#define GPUPROF_PROFILE_PLACE_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* What to do where the name is taken. */
enum place_as {
    PLACE_NEW = 0,     /* refuse */
    PLACE_REPLACE = 1, /* replace the file */
    PLACE_SPARE = 2,   /* take the next free name, PATH.2.gpuprof; also where others write it */
    PLACE_YIELD = 4,   /* the same, only where others write it */
};

struct place {
    char *path;    /* PLACE_SPARE: the name that was free */
    char *partial; /* NULL: in place, or given up */
    dev_t device;  /* of the file that we made */
    ino_t inode;
    int as;       /* of enum place_as, or several */
    bool written; /* the last name that was tried: by another process */
    int turn;     /* descriptor of the folder: others wait with their start; -1 = not held */
};

/* Makes the file; `tag`: its XXXXXX, NULL: any. Until place_taken nobody else is between these two
 * in this folder: by then the file must be locked (SQLite does). -1 with *e set: there is nothing
 * to release. */
int place_make(struct place *p, const char *path, int as, const char *tag, struct err *e);
void place_taken(struct place *p);
/* Before the file is closed, and SQLite's lock goes: again nobody else looks until place_put or
 * place_release. Where others hold the lock we go on without it. */
void place_close(struct place *p);
/* Renames it. An existing file is replaced with PLACE_REPLACE alone. */
int place_put(struct place *p, struct err *e);
/* Removes the file unless it is in place. */
void place_release(struct place *p);

/* A profile that grows on another disk. Its name is reserved from now on: while this process lives,
 * others that want to write it are refused. Once finished it is copied there, and the copy gets the
 * name. */
struct moved {
    struct place place;
    int lock; /* descriptor by which the file is locked; -1 = not reserved */
};
int moved_reserve(struct moved *m, const char *path, int as, struct err *e);
/* Copies `from`, and removes it. -1 with *e set: `from` is still there, and *e names it. */
int moved_put(struct moved *m, const char *from, struct err *e);
void moved_release(struct moved *m); /* ... if it is not in place */

/* What a killed recording left: where the folder .gpuprof-XXXXXX of its spools is still there, the
 * file PATH.XXXXXX.partial beside it stays, because the two together hold all that was recorded.
 * malloc'ed; NULL: there is none, or nothing is in it. */
char *place_left(const char *spools);
void place_remove_left(const char *partial);

/* A profile that another process still writes: PATH, which is not there yet, or the file in which
 * it grows. -1 with *e set; 0: nobody does. */
int place_unfinished(const char *path, struct err *e);

#endif
