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

/* Each file of `folder`, and each folder in it (the ranks of one run), is a run. At most `most`
 * count; `path` itself and what began after it does not. -1 with *e set. */
int history_find(struct history *h, const char *folder, const char *path, const struct advice *now,
                 int most, bool per_sample, struct err *e);
void history_release(struct history *h);

#endif
