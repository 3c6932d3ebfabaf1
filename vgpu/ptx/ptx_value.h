/* Computes what an instruction leaves in registers, for the lanes of a warp at once. */
#ifndef VGPU_PTX_VALUE_H
#define VGPU_PTX_VALUE_H

#include "ptx/ptx.h"

typedef uint64_t ptx_lanes[PTX_LANES];

/* Writes the results of an instruction that reads and writes only registers. Predicates are 0 or 1.
 * Values that are not computed (half precision, texture) become 0. */
void ptx_compute(const struct ptx_inst *i, ptx_lanes *reg, uint32_t mask);
/* The difference of a comparison's operands. */
double ptx_difference(const struct ptx_inst *i, ptx_lanes *reg, int lane);

#endif
