/* The peer that bench_import is measured beside, where its library was found. */
#ifndef GPUPROF_BENCH_IMPORT_PEER_H
#define GPUPROF_BENCH_IMPORT_PEER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Events in the text, -1 when it cannot be read. `padding` bytes behind the text must be there. */
int64_t peer_read(const char *text, size_t n);
size_t peer_padding(void);

#ifdef __cplusplus
}
#endif

#endif
