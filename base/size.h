/* Sizes and durations as people write them. */
#ifndef GPUPROF_BASE_SIZE_H
#define GPUPROF_BASE_SIZE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* "500M", "1.5G", "4GiB", "4294967296": bytes; K, M, G and T count by 1024. -1 with *e set. */
int size_parse(const char *text, int64_t *bytes, struct err *e);
/* Three figures, in `out`: "4.69 ms", "64.0 ms", "176 ms", "12.3 s". */
const char *time_words(char *out, size_t size, int64_t ns);

#endif
