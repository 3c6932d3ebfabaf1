/* Resolves the targets of branches. While an entry is decoded, a target is the index of a name,
 * because the label may come later. Targets that are already known are kept as negative numbers
 * until the end. */
#include "ptx/ptx_names.h"

static int kept(int target)
{
    return -2 - target;
}

void ptx_labels_end_scope(struct ptx_kernel *k, const struct names *names, int from)
{
    for (int i = from; i < k->inst_count; i++) {
        struct ptx_inst *x = &k->inst[i];
        if (x->op != OP_BRANCH || x->target < 0)
            continue;
        const struct name *label = &names->name[x->target];
        if (label->kind == NAME_LABEL && label->value >= (uint64_t)from)
            x->target = kept((int)label->value);
    }
}

bool ptx_labels_resolve(struct ptx_kernel *k, const struct names *names)
{
    bool found = true;
    for (int i = 0; i < k->inst_count; i++) {
        struct ptx_inst *x = &k->inst[i];
        if (x->op != OP_BRANCH)
            continue;
        if (x->target < 0) {
            x->target = kept(x->target);
            continue;
        }
        found &= names->name[x->target].kind == NAME_LABEL;
        x->target = (int)names->name[x->target].value;
    }
    return found;
}
