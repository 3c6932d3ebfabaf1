/* Many ranks: a few KB of each recording stay in memory, and all rows of one. `analyze` and the
 * like do this with more files than MANY_FILES, `reduce` with any number. */
#ifndef GPUPROF_CLI_LOAD_MANY_H
#define GPUPROF_CLI_LOAD_MANY_H

#include "analyzer/reduce/job.h"

enum { MANY_FILES = 16 };

/* Adds the summary of the recording at `path`, or the reason why it cannot be read. -1 with *e set:
 * out of memory. */
int many_add(struct job *j, const char *path, struct err *e);
/* Adds all of them in this order, using all usable cores (many_workers.c). -1 with *e set. */
int many_add_all(struct job *j, char *const *paths, size_t n, struct err *e);
int many_cores(void); /* number of cores that this process may use */
/* Writes the job that job_sort_out left into `out`, with lines in its health that say what it has
 * of each rank, and what was left out (left_out NULL: nothing). */
int many_pour(const struct job *j, size_t focus, const char *left_out, struct sink *out,
              struct arena *arena, struct err *e);

#endif
