/* Bulk copies (TMA): one lane starts them, and a unit of the multiprocessor does the work. */
#ifndef VGPU_PTX_BULK_H
#define VGPU_PTX_BULK_H

#include "ptx/ptx_argument.h"
#include "ptx/ptx_warp.h"

enum { PTX_DIMENSIONS = 5 };

/* What the virtual driver writes into a CUtensorMap, whose 128 bytes are opaque to programs. */
struct ptx_tensor {
    uint32_t mark;
    uint16_t rank;
    uint16_t bits; /* per element */
    uint32_t dim[PTX_DIMENSIONS];
    uint16_t box[PTX_DIMENSIONS];        /* elements that a copy takes */
    uint8_t step[PTX_DIMENSIONS];        /* 1: each element, 2: every second one ... */
    uint64_t stride[PTX_DIMENSIONS - 1]; /* in bytes, from the second dimension on */
    uint64_t address; /* last member, because a copy's time does not depend on it */
};
enum { PTX_TENSOR_MARK = 0x76677475 };

/* Sets the kind of bulk copy. Instructions that only prefetch, wait or stay in shared memory cost
 * nothing. Leaves cp.async unchanged. */
void ptx_bulk_opcode(struct ptx_inst *i, const char *s, size_t n);
/* Finds where the tensor's description lies. */
void ptx_bulk_map(struct ptx_kernel *k, struct ptx_inst *i, const struct ptx_places *places);
/* Counts the copies that these lanes start. */
void ptx_bulk(struct ptx_run *r, int at, uint32_t mask);

#endif
