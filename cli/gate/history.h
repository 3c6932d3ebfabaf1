/* The earlier runs of a folder that a new run is compared with: the last good ones that did the
 * same work. */
#ifndef GPUPROF_CLI_GATE_HISTORY_H
#define GPUPROF_CLI_GATE_HISTORY_H

#include "analyzer/compare/compare.h"
#include "cli/load/load.h"

struct history {
    struct arena arena;
    struct past_run *runs; /* oldest first */
    size_t count;
    const char *left_out; /* in words: which runs do not count, and why; NULL: none */
    struct loaded newest; /* the newest of them, to show what changed; empty if none counts */
};

struct history_wish {
    const char *folder; /* each file in it, and each folder (the ranks of one run), is a run */
    const char *path;   /* of the new run: it does not count, nor do runs that began after it */
    const struct advice *now; /* the new run's analysis */
    const struct load_how *how;
    int most; /* at most so many runs */
    bool per_sample;
};
/* Returns -1 with *e set. */
int history_find(struct history *h, const struct history_wish *w, struct err *e);
void history_release(struct history *h);

#endif
