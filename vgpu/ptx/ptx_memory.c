/* Accesses of a warp to memory: the sectors and lines that they touch in global memory, conflicts
 * between banks of shared memory, which sectors earlier accesses of the block have left in the
 * multiprocessor's cache, and how long the warp waits. */
#include "ptx/ptx_warp.h"

#include <string.h>

enum { SECTOR = 32, LINE = 128, BANKS = 32, WORD = 4 };

static bool has_sector(const struct ptx_access *a, uint64_t sector, uint64_t unit)
{
    for (int i = a->sectors; i-- > 0;)
        if (a->sector[i] / unit == sector / unit)
            return true;
    return false;
}

/* Adds a sector if it is new. One above all others is new for certain. */
static void add_sector(struct ptx_access *a, uint64_t sector, uint64_t *highest)
{
    const uint64_t per_line = LINE / SECTOR;
    bool above = a->sectors == 0 || sector > *highest;
    if (a->sectors == (int)(sizeof a->sector / sizeof *a->sector) ||
        (!above && has_sector(a, sector, 1)))
        return;
    a->lines += a->sectors == 0 || (above ? sector / per_line > *highest / per_line
                                          : !has_sector(a, sector, per_line));
    a->sector[a->sectors++] = sector;
    *highest = above ? sector : *highest;
}

/* Words in one bank are read one after another, unless they are the same word. */
int ptx_bank_cycles(const uint64_t *address, int64_t offset, uint32_t mask, unsigned bytes)
{
    uint64_t word[BANKS][PTX_LANES];
    int count[BANKS] = {0}, most = 1;
    bool same = true;
    for (int lane = 1; lane < PTX_LANES && same; lane++)
        same = address[lane] == address[0];
    if (same && mask)
        return 1;
    for (int lane = 0; lane < PTX_LANES; lane++)
        for (unsigned at = 0; (mask >> lane & 1) && at < bytes; at += WORD) {
            uint64_t w = (address[lane] + (uint64_t)offset + at) / WORD;
            int bank = (int)(w % BANKS), n = 0;
            while (n < count[bank] && word[bank][n] != w)
                n++;
            if (n == count[bank] && n < PTX_LANES)
                word[bank][count[bank]++] = w;
            most = count[bank] > most ? count[bank] : most;
        }
    return most;
}

int ptx_same_address(const uint64_t *address, uint32_t mask)
{
    int most = 0;
    for (int lane = 0; lane < PTX_LANES; lane++) {
        int n = 0;
        for (int other = 0; other < PTX_LANES; other++)
            n += (mask >> other & 1) && address[other] == address[lane];
        most = (mask >> lane & 1) && n > most ? n : most;
    }
    return most;
}

void ptx_access(struct ptx_access *a, const uint64_t *address, int64_t offset, uint32_t mask,
                unsigned bytes)
{
    uint64_t highest = 0;
    a->sectors = a->lines = 0;
    a->from = UINT64_MAX;
    a->to = 0;
    for (int lane = 0; lane < PTX_LANES; lane++) {
        if (!(mask >> lane & 1))
            continue;
        uint64_t from = address[lane] + (uint64_t)offset, to = from + bytes;
        for (uint64_t s = from / SECTOR; s <= (to - 1) / SECTOR; s++)
            add_sector(a, s, &highest);
        a->from = from < a->from ? from : a->from;
        a->to = to > a->to ? to : a->to;
    }
}

enum {              /* in cycles until the result is there */
       CACHED = 35, /* in the first-level cache */
       FAR = 350,   /* beyond it: between 270 for L2 and 600 for memory */
       SHARED = 29,
       ATOMIC = 500,
       STORED = 4
};

bool ptx_first_touch(struct ptx_run *r, uint64_t sector)
{
    size_t at = (size_t)(sector * 0x9e3779b97f4a7c15u >> 48) & (PTX_SEEN - 1);
    uint64_t mark = r->blocks << 48 | sector; /* addresses have 48 bits, so sectors have fewer */
    while (r->seen[at] >> 48 == r->blocks && r->seen[at] != mark)
        at = (at + 1) & (PTX_SEEN - 1);
    if (r->seen[at] == mark)
        return false;
    if (r->seen_count < PTX_SEEN / 4 * 3) {
        r->seen[at] = mark;
        r->seen_count++;
    }
    return true;
}

bool ptx_in_memory(const struct ptx_launch *l, uint64_t address, unsigned bytes)
{
    for (int i = 0; i < l->memories; i++) {
        uint64_t base = (uintptr_t)l->memory[i].base;
        if (address >= base && address + bytes <= base + l->memory[i].size)
            return true;
    }
    return false;
}

/* Value of a load that steers. Memory that was never written reads as 0, or as a number near 1 for
 * floating point; then `known` becomes false. */
static uint64_t load_value(const struct ptx_run *r, const struct ptx_inst *i, uint64_t address,
                           bool *known)
{
    unsigned bytes = ptx_type_bytes(i->type);
    uint64_t v = 0;
    float near = 0.5f + (float)(address / 4 * 2654435761u % 1024) / 1024;
    double nearer = (double)near;
    if (ptx_in_memory(r->l, address, bytes))
        memcpy(&v, (const void *)(uintptr_t)address, bytes);
    *known = *known && v != 0;
    if (v == 0 && i->type == T_F32)
        memcpy(&v, &near, sizeof near);
    if (v == 0 && i->type == T_F64)
        memcpy(&v, &nearer, sizeof nearer);
    return v;
}

static void load_values(struct ptx_run *r, const struct ptx_inst *i, uint32_t mask)
{
    bool known = true;
    for (int n = 0; n < i->outs; n++)
        for (int lane = 0; lane < PTX_LANES; lane++)
            if (mask >> lane & 1) {
                uint64_t at = r->reg[i->address][lane] + (uint64_t)i->offset;
                r->reg[i->out[n]][lane] =
                    load_value(r, i, at + (uint64_t)n * ptx_type_bytes(i->type), &known);
            }
    for (int n = 0; n < i->outs; n++)
        r->data[i->out[n]] = !known;
}

static bool is_global(const struct ptx_run *r, const struct ptx_inst *i, uint32_t mask)
{
    if (i->space != S_GENERIC)
        return i->space == S_GLOBAL || i->op == OP_COPY;
    uint64_t address = r->reg[i->address][__builtin_ctz(mask)] + (uint64_t)i->offset;
    return ptx_in_memory(r->l, address, 1);
}

static unsigned access_bytes(const struct ptx_run *r, const struct ptx_inst *i)
{
    int elements = i->op == OP_STORE ? i->ins : i->op == OP_LOAD ? i->outs : 1;
    if (i->op == OP_COPY)
        return i->ins > 0 ? (unsigned)r->reg[i->in[0]][0] & 31 : 4;
    return ptx_type_bytes(i->type) * (unsigned)(elements > 0 ? elements : 1);
}

void ptx_touched(struct ptx_run *r, int at, uint64_t from, uint64_t to, bool writes)
{
    struct ptx_touch *t = &r->touch[at];
    if (!t->to || from < t->from)
        t->from = from;
    if (to > t->to)
        t->to = to;
    t->writes = writes;
}

static double global_access(struct ptx_run *r, int at, uint32_t mask)
{
    const struct ptx_inst *i = &r->k->inst[at];
    struct ptx_tally *s = r->sum;
    struct ptx_access a;
    const uint64_t *address = r->reg[i->address];
    bool writes = i->op == OP_STORE || i->op == OP_ATOMIC, far = false;
    ptx_access(&a, address, i->offset, mask, access_bytes(r, i));
    ptx_touched(r, at, a.from, a.to, writes);
    s->lines += a.lines;
    s->requests++;
    if (i->op == OP_ATOMIC) {
        s->atomics += __builtin_popcount(mask);
        s->store_sectors += a.sectors;
        return i->outs > 0 ? ATOMIC : STORED;
    }
    if (writes) {
        s->store_sectors += a.sectors;
        return STORED;
    }
    for (int n = 0; n < a.sectors; n++)
        if (ptx_first_touch(r, a.sector[n])) {
            s->load_sectors++;
            far = true;
        }
    return far ? FAR : CACHED + a.lines - 1;
}

/* An access to shared memory. Aligned loads of neighbouring words count as one of 16 bytes. One
 * word per lane takes a cycle, and more if lanes want different words of a bank. */
static double shared_access(struct ptx_run *r, int at, uint32_t mask)
{
    const struct ptx_inst *i = &r->k->inst[at];
    const uint64_t *address = r->reg[i->address];
    unsigned bytes = access_bytes(r, i);
    int64_t offset = i->offset;
    bool joined = r->joined[at] && (address[__builtin_ctz(mask)] & 15) == 0;
    if (joined && r->joined[at] == PTX_FOLLOWS) {
        r->sum->issue--;
        return SHARED;
    }
    if (joined) {
        offset &= ~(int64_t)15;
        bytes = 16;
    }
    int cycles = ptx_bank_cycles(address, offset, mask, bytes);
    cycles = cycles < (int)bytes / 4 ? (int)bytes / 4 : cycles;
    if (i->op == OP_ATOMIC)
        cycles += 2 * ptx_same_address(address, mask);
    r->sum->shared += cycles;
    return i->op == OP_STORE ? STORED : SHARED + cycles - 1;
}

double ptx_memory(struct ptx_run *r, int at, uint32_t mask)
{
    const struct ptx_inst *i = &r->k->inst[at];
    if (!mask)
        return STORED;
    if (i->op == OP_TEXTURE) { /* a quarter of the rate of loads; neighbours share texels */
        r->sum->lines += 4;
        r->sum->requests++;
        r->sum->load_sectors += 4;
        return FAR;
    }
    if (i->address < 0)
        return STORED;
    if (i->op != OP_STORE)
        for (int n = 0; n < i->outs; n++)
            r->data[i->out[n]] = true;
    if (i->steers && i->op == OP_LOAD)
        load_values(r, i, mask);
    if (is_global(r, i, mask))
        return global_access(r, at, mask);
    if (i->space == S_LOCAL) { /* the words of the lanes lie side by side */
        r->sum->lines++;
        r->sum->requests++;
        return i->op == OP_LOAD ? CACHED : STORED;
    }
    return shared_access(r, at, mask);
}
