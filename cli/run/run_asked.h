/* Requests to a running gpuprof. They come as a file in the folder of its spools (`gpuprof record
 * PID`, ask.h), as the file gpuprof.record beside the profile (`gpuprof record DIR`, from another
 * node), or as a signal. They wait here for their turn. */
#ifndef GPUPROF_CLI_RUN_RUN_ASKED_H
#define GPUPROF_CLI_RUN_RUN_ASKED_H

#include "cli/common/ask.h"
#include "cli/run/run.h"

#include <stdint.h>
#include <sys/stat.h>

struct wish {                   /* a request for one window */
    int64_t steps, duration_ns; /* one of the two is 0 */
    int64_t number;             /* of the window; 0: the next one */
    struct asked from;
};

enum { WISHES = 16 };

struct wishes {
    const char *folder; /* of the spools */
    char path[PATH_MAX + 16];
    struct stat seen; /* gpuprof.record as last seen; st_nlink 0: it does not exist */
    int64_t next_look_ns;
    struct wish at[WISHES];
    size_t n;
    /* Writes at once where the program is, as lines `state TEXT`. */
    void (*status)(void *self, const struct asked *from);
    void (*show)(void *self); /* shows the same to all who see the folder */
    void *self;
};

/* Call it right after the folders were made, since they show the asker that the run is there. */
void wishes_begin(struct wishes *w, const struct run_folders *folders, const char *profile);
void wishes_look(struct wishes *w);   /* reads new requests, a few times a second */
void wishes_signal(struct wishes *w); /* the signal has come */
bool wishes_next(struct wishes *w, struct wish *out);
void wishes_refuse(struct wishes *w, const char *why); /* refuses all waiting requests */
/* Writes "20 steps", "1 step", "2.5 s". */
void wish_text(const struct wish *w, char *out, size_t n);

#endif
