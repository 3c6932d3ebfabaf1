/* Which of many files each of several processes reads: neighbours, so that what the processes make
 * of them, one behind the other, keeps the order; about as many bytes each. */
#ifndef GPUPROF_REDUCE_SHARE_H
#define GPUPROF_REDUCE_SHARE_H

#include <stddef.h>
#include <stdint.h>

/* The first file of a process, 0 to `processes`; its share ends where that of the next begins. A
 * file belongs to the process in whose part of all bytes its middle lies. Cost: one pass. */
size_t share_first(const int64_t *bytes, size_t n, size_t process, size_t processes);

#endif
