/* Finds the values that decide what a warp does: those on which a branch or an address depends.
 * Only these are computed. Any other argument (a learning rate) only changes numbers, so one
 * estimate holds for all its values. */
#include "ptx/ptx.h"

#include <stdlib.h>

static bool need(bool *needed, int reg)
{
    bool fresh = reg >= 0 && !needed[reg];
    if (fresh)
        needed[reg] = true;
    return fresh;
}

static bool spread(struct ptx_inst *i, bool *needed)
{
    bool changed = false;
    for (int n = 0; n < i->outs; n++)
        i->steers |= needed[i->out[n]];
    if (i->op == OP_BRANCH || i->op == OP_EXIT || i->address >= 0 || i->steers)
        changed |= need(needed, i->guard);
    changed |= need(needed, i->address);
    for (int n = 0; i->steers && n < i->ins; n++)
        changed |= need(needed, i->in[n]);
    return changed;
}

void ptx_find_steering(struct ptx_kernel *k)
{
    bool *needed = calloc((size_t)k->reg_count + 1, sizeof *needed);
    if (!needed)
        return;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = k->inst_count; i-- > 0;)
            changed |= spread(&k->inst[i], needed);
    }
    for (int i = 0; i < k->slot_count; i++)
        k->slot[i].steers = needed[k->slot[i].reg];
    free(needed);
}
