/* Bulk copies (TMA): one lane starts them, a unit of the multiprocessor makes them. */
#ifndef VGPU_PTX_BULK_H
#define VGPU_PTX_BULK_H

#include "ptx/ptx_argument.h"
#include "ptx/ptx_warp.h"

enum { PTX_DIMENSIONS = 5 };

/* What the virtual driver writes into a CUtensorMap, whose 128 bytes are opaque to programs. */
struct ptx_tensor {
    uint32_t mark;
    uint16_t rank;
    uint16_t bits; /* of an element */
    uint32_t dim[PTX_DIMENSIONS];
    uint16_t box[PTX_DIMENSIONS];        /* elements that a copy takes */
    uint8_t step[PTX_DIMENSIONS];        /* each element, or each second one ... */
    uint64_t stride[PTX_DIMENSIONS - 1]; /* bytes, from the second dimension on */
    uint64_t address;                    /* the last: it does not decide how long copies take */
};
enum { PTX_TENSOR_MARK = 0x76677475 };

/* Which kind of bulk copy it is; what only prefetches, waits or stays in shared memory costs
 * nothing. Leaves cp.async as it is. */
void ptx_bulk_opcode(struct ptx_inst *i, const char *s, size_t n);
/* Where the tensor's description is. */
void ptx_bulk_map(struct ptx_kernel *k, struct ptx_inst *i, const struct ptx_places *places);
/* Counts the copies that these lanes start. */
void ptx_bulk(struct ptx_run *r, int at, uint32_t mask);

#endif
