/* Steps where no mark says where they begin: from what the GPU ran again and again, or from a
 * kernel that the user names. Times are in ns, of launches on the host. */
#ifndef GPUPROF_DETECT_DETECT_H
#define GPUPROF_DETECT_DETECT_H

#include "analyzer/measure/spans.h"
#include "analyzer/timeline/timeline.h"

struct detected {
    struct span *at; /* arena; segments of the steady state and around it */
    bool *steady;
    size_t count;
    double confidence; /* 0 to 1 */
    size_t votes;
    const char *text;  /* for people; NULL = nothing found */
    const char *doubt; /* why others may be the steps, for people; NULL = nothing says so */
    bool guessed;      /* that they are all the same is all that is known */
};
/* Steps from repetition alone. `wanted`: how many the user says there are, 0 = nothing is said.
 * `guess`: where nothing else is found, what is only alike may be the steps. The arena owns what it
 * returns. 0, or -1 with *e set: no memory, or not so many. */
int detect_steps(struct detected *d, const struct timeline *t, uint32_t process, size_t wanted,
                 bool guess, struct arena *arena, struct err *e);
/* From one launch of a kernel whose name holds `kernel` to the next; fails where there are not
 * two. */
int detect_given(struct detected *d, const struct timeline *t, uint32_t process, const char *kernel,
                 struct arena *arena, struct err *e);

#endif
