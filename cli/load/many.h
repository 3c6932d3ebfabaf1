/* Many ranks: a few KB of each recording stay in memory, and all rows of one. What `analyze` and
 * its kind do with folders of more files than MANY_FILES, and `reduce` with any number. */
#ifndef GPUPROF_CLI_LOAD_MANY_H
#define GPUPROF_CLI_LOAD_MANY_H

#include "analyzer/reduce/job.h"

enum { MANY_FILES = 16 };

/* Adds the summary of the recording at `path`, or why it cannot be read. -1 with *e set: out of
 * memory. */
int many_add(struct job *j, const char *path, struct err *e);
/* Adds all of them in this order, on all usable cores (many_workers.c). -1 with *e set. */
int many_add_all(struct job *j, char *const *paths, size_t n, struct err *e);
int many_cores(void); /* usable ones */
/* Leaves out what is damaged or of another run (*left_out, in the arena; NULL: nothing) and pours
 * the job into `out`, with a line in its health about what it has of each rank. */
int many_pour(struct job *j, struct sink *out, struct arena *arena, const char **left_out,
              struct err *e);

#endif
