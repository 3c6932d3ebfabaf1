/* Sizes as people write them. */
#ifndef GPUPROF_BASE_SIZE_H
#define GPUPROF_BASE_SIZE_H

#include "analyzer/base/err.h"

#include <stdint.h>

/* "500M", "1.5G", "4GiB", "4294967296": bytes; K, M, G and T count by 1024. -1 with *e set. */
int size_parse(const char *text, int64_t *bytes, struct err *e);

#endif
