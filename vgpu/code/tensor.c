/* Encodes, edits and reads tensor descriptions for bulk copies (tensor.h). */
#include "code/tensor.h"
#include "core/core.h"
#include "ptx/ptx_bulk.h"

#include <string.h>

enum { MAP_BYTES = 128, BOX_MOST = 256 };
_Static_assert(sizeof(struct ptx_tensor) <= MAP_BYTES, "a CUtensorMap is opaque, but not larger");

bool vg_tensor_write(void *map, const struct vg_tensor *t)
{
    struct ptx_tensor made = {.mark = PTX_TENSOR_MARK, .address = t->address};
    if (!map || t->rank < 1 || t->rank > PTX_DIMENSIONS || !t->bits)
        return false;
    made.rank = (uint16_t)t->rank;
    made.bits = (uint16_t)t->bits;
    for (unsigned d = 0; d < t->rank; d++) {
        if (t->dim[d] < 1 || t->dim[d] > UINT32_MAX || t->box[d] < 1 || t->box[d] > BOX_MOST)
            return false;
        made.dim[d] = (uint32_t)t->dim[d];
        made.box[d] = (uint16_t)t->box[d];
        made.step[d] = t->step ? (uint8_t)t->step[d] : 1;
        if (d > 0)
            made.stride[d - 1] = t->stride[d - 1];
    }
    memset(map, 0, MAP_BYTES);
    memcpy(map, &made, sizeof made);
    return true;
}

bool vg_tensor_move(void *map, uint64_t address)
{
    struct ptx_tensor t;
    if (!map)
        return false;
    memcpy(&t, map, sizeof t);
    t.address = address;
    memcpy(map, &t, sizeof t);
    return t.mark == PTX_TENSOR_MARK;
}
