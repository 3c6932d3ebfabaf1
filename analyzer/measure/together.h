/* Which of several files hold ranks of one run. Every process carries the number of its file (meta
 * IMPORT_FILE_KEY). Files belong together where nothing speaks against it (world size, distinct
 * ranks, kind of GPU, overlapping time, kernels) and something for it: the same recorded
 * communicator, ranks of one world, or exchanges of the same kind. Cost: one pass over the
 * operations and collectives, files squared. */
#ifndef GPUPROF_MEASURE_TOGETHER_H
#define GPUPROF_MEASURE_TOGETHER_H

#include "analyzer/timeline/timeline.h"

struct file_role {
    bool taken;
    const char *why; /* not taken: "another GPU: NVIDIA A100"; in the arena */
};

/* Fills roles[files]: the largest group of files that belong together is taken, of two equal ones
 * the one that comes first. Returns how many that are: 1, where no two belong together. -1: out of
 * memory. */
int together_find(const struct timeline *t, struct arena *arena, size_t files,
                  struct file_role *roles);

#endif
