/* PyTorch's reductions (ReduceOp in Reduce.cuh), by the only argument of their kernel. */
#ifndef VGPU_VALUES_REDUCE_H
#define VGPU_VALUES_REDUCE_H

#include <stddef.h>
#include <stdint.h>

/* What they are told of their work, in the middle of the argument. */
struct vg_reduce_config {
    int32_t element, inputs, outputs; /* bytes of an element; how many of each */
    int32_t splits[8];
    int32_t width, height, threads; /* of a block */
    int32_t others[2];
};

/* Writes small results, of `each` bytes: `value`, or those of a few integers. The kernel's mangled
 * name and its argument. */
void vg_reduce(const char *name, unsigned char value, size_t each, const char *argument);

#endif
