/* Arguments as the code reads them: `ld.param` by name, or by a register that holds an argument's
 * address plus a number, as compilers do for structures. */
#include "ptx/ptx_argument.h"

#include <stdlib.h>
#include <string.h>

void ptx_declares(struct ptx_declared *d, const char *word, const char *end)
{
    const char *digits = word + strcspn(word, "0123456789");
    if (strncmp(word, ".ptr", 4) == 0)
        d->pointer = true;
    else if (strncmp(word, ".align", 6) == 0 && !d->pointer)
        d->align = (unsigned)strtoul(end, NULL, 10);
    else if (*word == '[')
        d->size *= (unsigned)strtoul(end, NULL, 10);
    else if (*word == '.' && digits < end)
        d->size = (unsigned)strtoul(digits, NULL, 10) / 8;
}

void ptx_argument_placed(struct ptx_kernel *k, struct ptx_declared *d)
{
    unsigned align = d->align ? d->align : d->size ? d->size : 1;
    unsigned at = (k->param_end + align - 1) / align * align;
    if (k->param_count < (int)(sizeof k->param_at / sizeof *k->param_at))
        k->param_at[k->param_count] = at;
    k->param_end = at + d->size;
    *d = (struct ptx_declared){0};
}

bool ptx_place_set(struct ptx_places *p, int reg, int param, int64_t offset)
{
    if (reg >= p->room) {
        int room = reg * 2 + 64;
        struct ptx_place *grown = realloc(p->at, (size_t)room * sizeof *grown);
        if (!grown)
            return false;
        for (int i = p->room; i < room; i++)
            grown[i].param = -1;
        p->at = grown;
        p->room = room;
    }
    p->at[reg] = (struct ptx_place){param, offset};
    return true;
}

struct ptx_place ptx_place_of(const struct ptx_places *p, int reg)
{
    return reg >= 0 && reg < p->room ? p->at[reg] : (struct ptx_place){-1, 0};
}

static bool number_of(const struct ptx_kernel *k, int reg, int64_t *out)
{
    for (int i = 0; i < k->constant_count; i++)
        if (k->constant[i].reg == reg) {
            *out = (int64_t)k->constant[i].value;
            return true;
        }
    return false;
}

bool ptx_place_follow(struct ptx_places *p, const struct ptx_kernel *k, const struct ptx_inst *i)
{
    int64_t more = 0;
    bool moves = i->op == OP_MOV && i->ins == 1;
    if (i->outs != 1 || i->address >= 0 || !(moves || (i->op == OP_ADD && i->ins == 2)))
        return true;
    struct ptx_place from = ptx_place_of(p, i->in[0]);
    if (from.param < 0 || (!moves && !number_of(k, i->in[1], &more)))
        return true;
    return ptx_place_set(p, i->out[0], from.param, from.offset + more);
}

static int slot(struct ptx_kernel *k, int param, unsigned offset, unsigned size)
{
    for (int i = 0; i < k->slot_count; i++)
        if (k->slot[i].param == param && k->slot[i].offset == offset && k->slot[i].size == size)
            return k->slot[i].reg;
    int reg = k->reg_count++; /* its value is 0 if there is no slot left */
    if (k->slot_count < (int)(sizeof k->slot / sizeof *k->slot))
        k->slot[k->slot_count++] =
            (struct ptx_slot){.param = param, .offset = offset, .size = size, .reg = reg};
    return reg;
}

void ptx_from_argument(struct ptx_kernel *k, struct ptx_inst *i, struct ptx_place from)
{
    unsigned bytes = ptx_type_bytes(i->type), offset = (unsigned)(from.offset + i->offset);
    i->op = OP_MOV;
    i->address = -1;
    i->ins = 0;
    for (int e = 0; e < i->outs && e < 8; e++)
        i->in[i->ins++] = slot(k, from.param, offset + (unsigned)e * bytes, bytes);
}
