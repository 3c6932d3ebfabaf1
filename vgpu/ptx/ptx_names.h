/* The names of an entry while it is decoded. */
#ifndef VGPU_PTX_NAMES_H
#define VGPU_PTX_NAMES_H

#include "ptx/ptx.h"

enum name_kind { NAME_REG, NAME_LABEL, NAME_SYMBOL, NAME_SHARED, NAME_PARAM, NAME_RETURN };

struct name {
    const char *text; /* points into the PTX */
    size_t length;
    enum name_kind kind;
    int reg;        /* -1: none yet */
    uint64_t value; /* an address, the number of an argument, or (label) of an instruction */
};

struct names {
    struct name *name;
    int count, room;
    int *slot; /* open addressing: index + 1; 0: empty */
    int slots;
};

/* NULL: not there, or out of memory. With `make`, a missing name is added: a register, or without %
 * a symbol. A returned pointer is valid until the next name is added. */
struct name *names_get(struct names *n, const char *text, size_t length, bool make);
void names_free(struct names *n);

/* ptx_labels.c. Ends a scope that began with instruction `from`: its labels are its own, as in
 * inline assembly, and the next scope may use the same names. */
void ptx_labels_end_scope(struct ptx_kernel *k, const struct names *names, int from);
/* Call it at the end. False: a label is missing. */
bool ptx_labels_resolve(struct ptx_kernel *k, const struct names *names);

#endif
