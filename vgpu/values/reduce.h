/* PyTorch's reductions (ReduceOp in Reduce.cuh), read from the only argument of their kernel. */
#ifndef VGPU_VALUES_REDUCE_H
#define VGPU_VALUES_REDUCE_H

#include <stddef.h>
#include <stdint.h>

/* Their configuration, in the middle of the argument. */
struct vg_reduce_config {
    /* Bytes of an element; number of inputs for each output, and of outputs. */
    int32_t element, inputs, outputs;
    int32_t splits[8];
    int32_t width, height, threads; /* of a block */
    int32_t others[2];
};

/* Writes small results of `each` bytes: `value`, or the results of a few integers. Takes the
 * kernel's mangled name and its argument. */
void vg_reduce(const char *name, unsigned char value, size_t each, const char *argument);

#endif
