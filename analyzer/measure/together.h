/* Which of several files hold ranks of one run. What is known of each comes from one timeline of
 * all of them, or from one after another, of which few names stay in memory. Files belong together
 * where nothing speaks against it (world size, distinct ranks, kind of GPU, overlapping time,
 * kernels) and something for it: the same recorded communicator, ranks of one world, or exchanges
 * of the same kind. Cost: one pass over the operations and collectives, files squared. */
#ifndef GPUPROF_MEASURE_TOGETHER_H
#define GPUPROF_MEASURE_TOGETHER_H

#include "analyzer/timeline/timeline.h"

struct file_role {
    bool taken;
    const char *why; /* not taken: "another GPU: NVIDIA A100"; in the arena */
};

struct together;

/* NULL: out of memory. */
struct together *together_open(struct arena *arena, size_t files);
/* Takes what the timeline tells of file number `file`, or, TOGETHER_ALL, of every file whose number
 * a process carries (meta IMPORT_FILE_KEY). All timelines count from the same moment. -1: out of
 * memory. */
#define TOGETHER_ALL SIZE_MAX
int together_add(struct together *x, const struct timeline *t, size_t file);
/* Fills roles[files]: the largest group of files that belong together is taken, of two equal ones
 * the one that comes first. Returns how many that are: 1, where no two belong together. -1: out of
 * memory. */
int together_roles(const struct together *x, struct file_role *roles);
void together_close(struct together *x); /* NULL is fine */

/* All of it with one timeline of all files. */
int together_find(const struct timeline *t, struct arena *arena, size_t files,
                  struct file_role *roles);

#endif
