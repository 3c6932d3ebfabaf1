/* Joins loads of neighbouring words of shared memory. PTX lists them one by one, but the machine
 * code reads them by one instruction of 16 bytes if they use the same address register and no
 * branch, store or barrier lies between them. */
#include "ptx/ptx_warp.h"

#include <stdlib.h>

enum { WORDS = 4, REACH = 512 };

static bool is_word(const struct ptx_inst *i)
{
    return i->op == OP_LOAD && i->space == S_SHARED && i->outs == 1 && i->guard < 0 &&
           ptx_type_bytes(i->type) == WORDS;
}

static bool writes_reg(const struct ptx_inst *i, int reg)
{
    for (int n = 0; n < i->outs; n++)
        if (i->out[n] == reg)
            return true;
    return false;
}

static bool separates(const struct ptx_inst *i)
{
    return i->op == OP_BRANCH || i->op == OP_EXIT || i->op == OP_BARRIER || i->op == OP_CALL ||
           i->op == OP_ATOMIC || (i->op == OP_STORE && i->space != S_GLOBAL);
}

static void join(const struct ptx_kernel *k, int first, const bool *target, uint8_t *joined)
{
    const struct ptx_inst *lead = &k->inst[first];
    for (int at = first + 1; at < k->inst_count && at < first + REACH && !target[at]; at++) {
        const struct ptx_inst *i = &k->inst[at];
        if (separates(i) || writes_reg(i, lead->address))
            return;
        if (!is_word(i) || i->address != lead->address || i->offset >> 4 != lead->offset >> 4)
            continue;
        joined[first] = PTX_LEADS;
        joined[at] = PTX_FOLLOWS;
    }
}

void ptx_join_loads(const struct ptx_kernel *k, uint8_t *joined)
{
    bool *target = calloc((size_t)k->inst_count + 1, sizeof *target);
    if (!target)
        return;
    for (int i = 0; i < k->inst_count; i++)
        if (k->inst[i].op == OP_BRANCH)
            target[k->inst[i].target] = true;
    for (int i = 0; i < k->inst_count; i++)
        if (is_word(&k->inst[i]) && !joined[i])
            join(k, i, target, joined);
    free(target);
}
