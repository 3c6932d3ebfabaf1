/* The names of an entry while it is decoded. */
#ifndef VGPU_PTX_NAMES_H
#define VGPU_PTX_NAMES_H

#include "ptx/ptx.h"

enum name_kind { NAME_REG, NAME_LABEL, NAME_SYMBOL, NAME_SHARED, NAME_PARAM, NAME_RETURN };

struct name {
    const char *text; /* into the PTX */
    size_t length;
    enum name_kind kind;
    int reg;        /* -1: none yet */
    uint64_t value; /* address, number of the argument or, of a label, of an instruction */
};

struct names {
    struct name *name;
    int count, room;
    int *slot; /* open addressing: index + 1 */
    int slots;
};

/* NULL: not there, or out of memory. A new one is a register, without %, a symbol. Pointers hold
 * until the next one is made. */
struct name *names_get(struct names *n, const char *text, size_t length, bool make);
void names_free(struct names *n);

/* ptx_labels.c. A scope ends that began with instruction `from`: its labels are its own, as those
 * of inline assembly are, and the next scope may use the names again. */
void ptx_labels_end_scope(struct ptx_kernel *k, const struct names *names, int from);
/* At the end; false: a label is not there. */
bool ptx_labels_resolve(struct ptx_kernel *k, const struct names *names);

#endif
