/* Descriptions of tensors for bulk copies (CUtensorMap): programs pass them on, the estimates of
 * kernels read them. */
#ifndef VGPU_CODE_TENSOR_H
#define VGPU_CODE_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

struct vg_tensor {
    uint64_t address;
    unsigned rank, bits;    /* bits: of an element */
    const uint64_t *dim;    /* the fastest first */
    const uint64_t *stride; /* bytes, from the second dimension on */
    const uint32_t *box, *step;
};

/* Writes 128 bytes. False: no tensor that a bulk copy can have. */
bool vg_tensor_write(void *map, const struct vg_tensor *t);
bool vg_tensor_move(void *map, uint64_t address);

#endif
