/* For the reader of PTX: which registers hold the address of a kernel's argument. */
#ifndef VGPU_PTX_ARGUMENT_H
#define VGPU_PTX_ARGUMENT_H

#include "ptx/ptx.h"

struct ptx_place {
    int param; /* -1: none */
    int64_t offset;
};
struct ptx_places { /* indexed by register */
    struct ptx_place *at;
    int room;
};

/* An argument while its declaration is read. `.align` behind `.ptr` belongs to the memory that it
 * points to. */
struct ptx_declared {
    unsigned align, size;
    bool pointer;
};
/* Reads one word of the declaration; it ends at `end`. */
void ptx_declares(struct ptx_declared *d, const char *word, const char *end);
/* Gives the kernel's next argument its offset behind the others. */
void ptx_argument_placed(struct ptx_kernel *k, struct ptx_declared *d);

/* False: out of memory. */
bool ptx_place_set(struct ptx_places *p, int reg, int param, int64_t offset);
struct ptx_place ptx_place_of(const struct ptx_places *p, int reg);
/* Follows such an address through an instruction that copies it or adds a number to it. */
bool ptx_place_follow(struct ptx_places *p, const struct ptx_kernel *k, const struct ptx_inst *i);
/* Turns a load from there into copies of the argument's slots, one for each element. */
void ptx_from_argument(struct ptx_kernel *k, struct ptx_inst *i, struct ptx_place from);

#endif
