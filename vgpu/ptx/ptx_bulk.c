/* Bulk copies. Their operands are (PTX ISA): [to], [map, {x, y...}], [barrier] to load a part of a
 * tensor; [map, {x, y...}], [from] to store one; [to], [from], bytes for a range. They do not pass
 * through the first-level cache and the load and store units, so only sectors and the time of
 * shared memory are counted. */
#include "ptx/ptx_bulk.h"

#include <string.h>

enum { SECTOR = 32, SHARED_BYTES = 128 /* per cycle */ };

static const char *find(const char *s, size_t n, const char *word)
{
    return memmem(s, n, word, strlen(word));
}

void ptx_bulk_opcode(struct ptx_inst *i, const char *s, size_t n)
{
    const char *shared = find(s, n, ".shared"), *global = find(s, n, ".global");
    const char *tensor = find(s, n, ".tensor.");
    if (!find(s, n, ".bulk"))
        return;
    i->op = shared && global ? OP_BULK : OP_NOTHING;
    i->steers = i->op == OP_BULK;
    i->bulk.stores = global && shared && global < shared;
    i->bulk.rank = tensor ? (uint8_t)(tensor[sizeof ".tensor." - 1] - '0') : 0;
    i->bulk.map = -1;
    if (i->bulk.rank > PTX_DIMENSIONS)
        i->op = OP_NOTHING;
}

static int map_operand(const struct ptx_inst *i)
{
    return i->bulk.stores ? 0 : 1;
}

void ptx_bulk_map(struct ptx_kernel *k, struct ptx_inst *i, const struct ptx_places *places)
{
    int n = map_operand(i);
    if (!i->bulk.rank || i->ins <= n + i->bulk.rank)
        return;
    struct ptx_place place = ptx_place_of(places, i->in[n]);
    for (int m = 0; m < k->map_count && place.param >= 0; m++)
        if (k->map[m].param == place.param && k->map[m].offset == (unsigned)place.offset)
            i->bulk.map = m;
    if (place.param < 0 || i->bulk.map >= 0 ||
        k->map_count == (int)(sizeof k->map / sizeof *k->map))
        return;
    i->bulk.map = k->map_count;
    k->map[k->map_count++] = (struct ptx_map){place.param, (unsigned)place.offset};
}

static bool read_map(const struct ptx_run *r, const struct ptx_inst *i, int lane,
                     struct ptx_tensor *out)
{
    const void *from = NULL;
    uint64_t address = r->reg[i->in[map_operand(i)]][lane];
    if (i->bulk.map >= 0) {
        const struct ptx_map *m = &r->k->map[i->bulk.map];
        if (m->param < r->k->param_count && r->l->args && r->l->args[m->param])
            from = (const char *)r->l->args[m->param] + m->offset;
    } else if (ptx_in_memory(r->l, address, sizeof *out)) {
        from = (const void *)(uintptr_t)address;
    }
    if (!from)
        return false;
    memcpy(out, from, sizeof *out);
    return out->mark == PTX_TENSOR_MARK && out->rank == i->bulk.rank;
}

struct box {
    double sectors, bytes;
    uint64_t from, to;
};

/* The part of the box that lies inside the tensor. */
static struct box box_of(const struct ptx_tensor *t, const int64_t *at)
{
    struct box b = {.from = t->address, .to = t->address};
    double rows = 1, row = 0;
    for (int d = 0; d < t->rank; d++) {
        int64_t from = at[d] > 0 ? at[d] : 0, to = at[d] + (int64_t)t->box[d];
        int64_t step = t->step[d] ? t->step[d] : 1;
        uint64_t stride = d ? t->stride[d - 1] : t->bits;
        to = to < (int64_t)t->dim[d] ? to : (int64_t)t->dim[d];
        if (to <= from)
            return (struct box){0};
        int64_t count = (to - from + step - 1) / step;
        uint64_t first = (uint64_t)from * stride, last = (uint64_t)(to - 1) * stride;
        b.from += d ? first : first / 8;
        b.to += d ? last : (last + t->bits) / 8;
        if (d)
            rows *= (double)count;
        else
            row = (double)(to - from) * t->bits / 8;
    }
    b.bytes = rows * row;
    b.sectors = rows * (double)(((uint64_t)row + SECTOR - 1) / SECTOR);
    return b;
}

static bool lane_box(const struct ptx_run *r, const struct ptx_inst *i, int lane, struct box *b)
{
    struct ptx_tensor t;
    int64_t at[PTX_DIMENSIONS] = {0};
    if (!i->bulk.rank) {
        if (i->ins < 3)
            return false;
        uint64_t bytes = r->reg[i->in[2]][lane] & UINT32_MAX;
        b->from = r->reg[i->in[i->bulk.stores ? 0 : 1]][lane];
        b->to = b->from + bytes;
        b->bytes = (double)bytes;
        b->sectors = (double)((bytes + SECTOR - 1) / SECTOR);
        return bytes > 0;
    }
    if (i->ins <= map_operand(i) + i->bulk.rank || !read_map(r, i, lane, &t))
        return false;
    for (int d = 0; d < i->bulk.rank; d++)
        at[d] = (int32_t)r->reg[i->in[map_operand(i) + 1 + d]][lane];
    *b = box_of(&t, at);
    return b->bytes > 0;
}

void ptx_bulk(struct ptx_run *r, int at, uint32_t mask)
{
    const struct ptx_inst *i = &r->k->inst[at];
    struct ptx_tally *s = r->sum;
    struct box b;
    for (int lane = 0; lane < PTX_LANES; lane++) {
        if (!(mask >> lane & 1) || !lane_box(r, i, lane, &b))
            continue;
        ptx_touched(r, at, b.from, b.to, i->bulk.stores);
        *(i->bulk.stores ? &s->store_sectors : &s->load_sectors) += b.sectors;
        s->bulk_sectors += b.sectors;
        s->shared += b.bytes / SHARED_BYTES;
    }
}
