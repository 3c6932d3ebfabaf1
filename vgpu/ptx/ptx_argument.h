/* Inside the reader of PTX: which registers hold the address of a kernel's argument. */
#ifndef VGPU_PTX_ARGUMENT_H
#define VGPU_PTX_ARGUMENT_H

#include "ptx/ptx.h"

struct ptx_place {
    int param; /* -1: none */
    int64_t offset;
};
struct ptx_places { /* by register */
    struct ptx_place *at;
    int room;
};

/* An argument, as it is being declared: `.align` behind `.ptr` is that of what it points to. */
struct ptx_declared {
    unsigned align, size;
    bool pointer;
};
/* Takes a word of the declaration; `end` is behind it. */
void ptx_declares(struct ptx_declared *d, const char *word, const char *end);
/* Gives the kernel's next argument its place behind the others. */
void ptx_argument_placed(struct ptx_kernel *k, struct ptx_declared *d);

/* False: out of memory. */
bool ptx_place_set(struct ptx_places *p, int reg, int param, int64_t offset);
struct ptx_place ptx_place_of(const struct ptx_places *p, int reg);
/* What the instruction makes of such an address, if it does: a copy, or a sum with a number. */
bool ptx_place_follow(struct ptx_places *p, const struct ptx_kernel *k, const struct ptx_inst *i);
/* A load from there: each element becomes a copy of an argument's slot. */
void ptx_from_argument(struct ptx_kernel *k, struct ptx_inst *i, struct ptx_place from);

#endif
