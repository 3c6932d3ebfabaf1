/* Which files each of several processes reads. Each gets neighbouring files, so that the
 * concatenated results keep the files' order, and about as many bytes as the others. */
#ifndef GPUPROF_REDUCE_SHARE_H
#define GPUPROF_REDUCE_SHARE_H

#include <stddef.h>
#include <stdint.h>

/* Index of the first file of a process, 0 to `processes`; its share ends where the next process'
 * share begins. A file belongs to the process whose part of all bytes contains the file's
 * middle. Cost: one pass. */
size_t share_first(const int64_t *bytes, size_t n, size_t process, size_t processes);

#endif
