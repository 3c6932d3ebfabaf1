/* Finds which of several files contain ranks of one run. What is known of each file comes from one
 * timeline of all files, or from one timeline after another, of which only a few names stay in
 * memory. Files belong together if nothing contradicts it (world size, distinct ranks, kind of GPU,
 * overlapping time, kernels) and something supports it: the same recorded communicator, ranks of
 * one world, or collectives of the same kind. Cost: one pass over operations and collectives, and
 * the square of the number of files. */
#ifndef GPUPROF_MEASURE_TOGETHER_H
#define GPUPROF_MEASURE_TOGETHER_H

#include "analyzer/timeline/timeline.h"

struct file_role {
    bool taken;
    const char *why; /* if not taken: e.g. "another GPU: NVIDIA A100"; in the arena */
};

struct together;

/* Returns NULL without memory. The caller frees the result by together_close(). */
struct together *together_open(struct arena *arena, size_t files);
/* Collects what the timeline shows of file number `file`, or with TOGETHER_ALL of every file whose
 * number a process carries (meta IMPORT_FILE_KEY). All timelines must count from the same moment.
 * Returns -1 without memory. */
#define TOGETHER_ALL SIZE_MAX
int together_add(struct together *x, const struct timeline *t, size_t file);
/* Fills roles[files]: takes the largest group of files that belong together, and of two equal
 * groups the first. Returns how many files are taken: 1 if no two belong together. -1 without
 * memory. */
int together_roles(const struct together *x, struct file_role *roles);
void together_close(struct together *x); /* accepts NULL */

/* Does all of this with one timeline of all files. */
int together_find(const struct timeline *t, struct arena *arena, size_t files,
                  struct file_role *roles);

#endif
