/* Contents of a fat binary: nvcc's container of device code for several GPUs, as cubins (ELF) and
 * as PTX text, each perhaps compressed (LZ4 up to CUDA 12, zstd since). */
#ifndef VGPU_PTX_FATBIN_H
#define VGPU_PTX_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fat_kind { FAT_PTX = 1, FAT_CUBIN = 2 };

struct fat_entry {
    enum fat_kind kind;
    unsigned arch; /* compute capability times ten */
    const char *data;
    size_t size;
    size_t unpacked; /* 0: not compressed */
    bool zstd;
};

struct fat_walk {
    const char *at, *end;
};

/* True for a fat binary, or for the wrapper that nvcc's code registers. */
bool fat_is(const void *image);
/* The container to which a wrapper points; NULL: it is not there. */
const void *fat_container(const void *image);
/* The containers that a wrapper's was linked from (nvcc -rdc=true): linking keeps only the cubins,
 * these have the PTX. NULL: there are no more. */
const void *fat_linked(const void *image, size_t index);
size_t fat_size(const void *container);
struct fat_walk fat_walk(const void *image);
bool fat_next(struct fat_walk *w, struct fat_entry *out);
/* The contents with a zero behind them; to be freed. NULL: cannot be unpacked. */
char *fat_unpack(const struct fat_entry *e);
/* Unpacks LZ4's block format. Returns the length written; 0 if `in` is damaged or `out` too
 * small. */
size_t fat_lz4(const unsigned char *in, size_t in_size, unsigned char *out, size_t out_size);

#endif
