/* What somebody asks of a run that goes on: by a file in the folder of its spools (`gpuprof
 * record PID`, ask.h), by the file gpuprof.record beside the profile (`gpuprof record DIR`, from
 * another node), or by a signal. Requests wait here for their turn. */
#ifndef GPUPROF_CLI_RUN_RUN_ASKED_H
#define GPUPROF_CLI_RUN_RUN_ASKED_H

#include "cli/common/ask.h"
#include "cli/run/run.h"

#include <stdint.h>
#include <sys/stat.h>

struct wish {                   /* one window */
    int64_t steps, duration_ns; /* one of them is 0 */
    int64_t number;             /* of the window; 0 = the next one */
    struct asked from;
};

enum { WISHES = 16 };

struct wishes {
    const char *folder; /* of the spools */
    char path[PATH_MAX + 16];
    struct stat seen; /* of gpuprof.record; st_nlink 0: it is not there */
    int64_t next_look_ns;
    struct wish at[WISHES];
    size_t n;
    /* Answers at once where the program is, a line `state TEXT` each. */
    void (*status)(void *self, const struct asked *from);
    void (*show)(void *self); /* the same, to all who see the folder */
    void *self;
};

/* Right after the folders were made: who writes gpuprof.record sees that the run is there. */
void wishes_begin(struct wishes *w, const struct run_folders *folders, const char *profile);
void wishes_look(struct wishes *w);   /* takes what came; a few times a second */
void wishes_signal(struct wishes *w); /* somebody sent the signal */
bool wishes_next(struct wishes *w, struct wish *out);
void wishes_refuse(struct wishes *w, const char *why); /* all that wait */
/* "20 steps", "1 step", "2.5 s". */
void wish_text(const struct wish *w, char *out, size_t n);

#endif
