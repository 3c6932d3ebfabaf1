/* The JSON reader (simdjson) that bench_import compares itself with, if it was found at build
 * time. */
#ifndef GPUPROF_BENCH_IMPORT_PEER_H
#define GPUPROF_BENCH_IMPORT_PEER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the number of events in the text, -1 if it cannot be read. The caller must have allocated
 * peer_padding() bytes behind the text. */
int64_t peer_read(const char *text, size_t n);
size_t peer_padding(void);

#ifdef __cplusplus
}
#endif

#endif
