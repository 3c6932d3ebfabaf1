/* Descriptions of tensors for bulk copies (CUtensorMap). Programs pass them on; the estimates of
 * kernels read them. */
#ifndef VGPU_CODE_TENSOR_H
#define VGPU_CODE_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

struct vg_tensor {
    uint64_t address;
    unsigned rank, bits;    /* bits per element */
    const uint64_t *dim;    /* the fastest dimension first */
    const uint64_t *stride; /* in bytes, from the second dimension on */
    const uint32_t *box, *step;
};

/* Writes 128 bytes. False: a bulk copy cannot have such a tensor. */
bool vg_tensor_write(void *map, const struct vg_tensor *t);
bool vg_tensor_move(void *map, uint64_t address);

#endif
