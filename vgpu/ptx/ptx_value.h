/* Computes what an instruction leaves in registers, for the lanes of a warp at once. */
#ifndef VGPU_PTX_VALUE_H
#define VGPU_PTX_VALUE_H

#include "ptx/ptx.h"

typedef uint64_t ptx_lanes[PTX_LANES];

/* Writes the results of an instruction that reads and writes only registers. Predicates are 0 or 1.
 * Values that are not computed (half precision, texture) become 0. */
void ptx_compute(const struct ptx_inst *i, ptx_lanes *reg, uint32_t mask);
/* ptx_bits.c: what an integer instruction makes of its operands a and b, and of `raw`, which has
 * all of them. Other operations: 0. */
int64_t ptx_bits(const struct ptx_inst *i, int64_t a, int64_t b, const uint64_t *raw);
uint64_t ptx_funnel(const struct ptx_inst *i, const uint64_t *raw);
/* The difference of a comparison's operands. */
double ptx_difference(const struct ptx_inst *i, ptx_lanes *reg, int lane);

#endif
