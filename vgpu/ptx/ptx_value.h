/* What an instruction computes, for the lanes of a warp at once. */
#ifndef VGPU_PTX_VALUE_H
#define VGPU_PTX_VALUE_H

#include "ptx/ptx.h"

typedef uint64_t ptx_lanes[PTX_LANES];

/* Writes the results of an instruction that reads and writes registers only. Predicates are 0 or 1.
 * What is not followed (half precision, texture) gives 0. */
void ptx_compute(const struct ptx_inst *i, ptx_lanes *reg, uint32_t mask);
/* The difference of a comparison's operands, as far as it has one. */
double ptx_difference(const struct ptx_inst *i, ptx_lanes *reg, int lane);

#endif
