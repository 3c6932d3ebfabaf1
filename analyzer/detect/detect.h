/* Finds steps in recordings without marks: by what the GPU ran repeatedly, or by a kernel that the
 * user names. Times are launch times on the host, in ns. */
#ifndef GPUPROF_DETECT_DETECT_H
#define GPUPROF_DETECT_DETECT_H

#include "analyzer/measure/spans.h"
#include "analyzer/timeline/timeline.h"

struct detected {
    struct span *at; /* all segments, also those outside the steady state; in the arena */
    bool *steady;
    size_t count;
    double confidence; /* 0 to 1 */
    size_t votes;
    const char *text;  /* for people; NULL = nothing was found */
    const char *doubt; /* for people: why others may be the steps; NULL = no doubt */
    bool guessed;      /* nothing is known but that the segments are alike */
    bool layers;       /* the segments may be layers: they begin anywhere in one */
};
/* Finds steps by repetition. `wanted`: the number of steps if the user gives it, else 0. `guess`:
 * if nothing else is found, accept segments that are only alike. The arena owns the result. Returns
 * 0, or -1 with *e set: no memory, or no cut into `wanted` steps. */
int detect_steps(struct detected *d, const struct timeline *t, uint32_t process, size_t wanted,
                 bool guess, struct arena *arena, struct err *e);
/* Cuts steps from one launch of a kernel whose name contains `kernel` to the next. Returns -1 with
 * *e set if there are fewer than two launches. */
int detect_given(struct detected *d, const struct timeline *t, uint32_t process, const char *kernel,
                 struct arena *arena, struct err *e);

#endif
