/* The runs of a folder that a new one is compared with: the last good ones that did the same work.
 */
#ifndef GPUPROF_CLI_GATE_HISTORY_H
#define GPUPROF_CLI_GATE_HISTORY_H

#include "analyzer/compare/compare.h"
#include "cli/load/load.h"

struct history {
    struct arena arena;
    struct past_run *runs; /* from old to new */
    size_t count;
    const char *left_out; /* which do not count, and why; NULL: none */
    struct loaded newest; /* of them, for what changed; empty where none counts */
};

struct history_wish {
    const char *folder; /* each file, and each folder in it (the ranks of one run), is a run */
    const char *path;   /* the new run: it does not count, nor does what began after it */
    const struct advice *now; /* its analysis */
    const struct load_how *how;
    int most; /* runs */
    bool per_sample;
};
/* -1 with *e set. */
int history_find(struct history *h, const struct history_wish *w, struct err *e);
void history_release(struct history *h);

#endif
