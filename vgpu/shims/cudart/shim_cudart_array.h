/* Arrays, which textures and surfaces read. In the virtual GPU an array's elements lie row by row
 * in device memory. */
#ifndef VGPU_SHIM_CUDART_ARRAY_H
#define VGPU_SHIM_CUDART_ARRAY_H

#include "shims/cudart/shim_cudart.h"

struct cudaArray {
    uint32_t magic;
    struct cudaChannelFormatDesc format;
    struct cudaExtent extent; /* in elements; 0: the array does not have this dimension */
    unsigned flags;
    void *memory;
    size_t pitch; /* bytes from row to row */
};

/* NULL: not an array. */
struct cudaArray *array_of(const struct cudaArray *a);
static inline size_t array_element(const struct cudaArray *a)
{
    return (size_t)(a->format.x + a->format.y + a->format.z + a->format.w) / 8;
}
static inline size_t array_rows(const struct cudaArray *a)
{
    return a->extent.height ? a->extent.height : 1;
}

/* Translates a 3D copy for vg_copy. -1: one of its ends is missing. */
int box_of(const struct cudaMemcpy3DParms *p, bool async, struct vg_copy *out);

#endif
