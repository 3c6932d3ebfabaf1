/* What PyTorch's reductions are told of their work (ReduceConfig in Reduce.cuh), in the middle of
 * the only argument of their kernel. */
#ifndef VGPU_CODE_REDUCE_H
#define VGPU_CODE_REDUCE_H

#include <stdint.h>

struct vg_reduce_config {
    int32_t element, inputs, outputs; /* bytes of an element; how many of each */
    int32_t splits[8];
    int32_t width, height, threads; /* of a block */
    int32_t others[2];
};

#endif
