/* Counts accesses in machine code. Since Volta an instruction has 128 bits: the operation in bits 0
 * to 11, registers in bits 16 to 31, a constant or an address from bit 32 on, the width of an
 * access in bits 73 to 75. NVIDIA does not document this; nvdisasm shows it, and agrees on the
 * accesses of Triton's kernels for sm_80 and sm_90. */
#include "ptx/sass.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum operation {
    LDG = 0x981,
    STG = 0x986,
    BRA = 0x947,
    ISETP = 0x20c,
    ISETP_CONSTANT = 0x80c,
    IADD3_CONSTANT = 0x810,
    VIADD_CONSTANT = 0x836,
    HMMA = 0x23c,
    IMMA = 0x237,
    HGMMA = 0x5f0
};
enum { INSTRUCTION = 16, LOOPS = 32, MOST = 1 << 20 };

struct code {
    const char *at;
    size_t n; /* number of instructions */
};

struct loop {
    size_t first, last;
    double turns;
};

static uint64_t word(const struct code *c, size_t i, int which)
{
    uint64_t v;
    memcpy(&v, c->at + i * INSTRUCTION + 8 * (size_t)which, sizeof v);
    return v;
}

static enum operation operation(const struct code *c, size_t i)
{
    return (enum operation)(word(c, i, 0) & 0xfff);
}

static unsigned registered(const struct code *c, size_t i, int bit)
{
    return (unsigned)(word(c, i, 0) >> bit) & 0xff;
}

static uint32_t constant(const struct code *c, size_t i)
{
    return (uint32_t)(word(c, i, 0) >> 32);
}

/* Distance of a branch in bytes, from the next instruction. Since Hopper eight more bits are stored
 * separately, below the others. */
static int64_t branch_offset(const struct code *c, size_t i)
{
    uint64_t low = word(c, i, 0);
    int64_t high = (int64_t)((low >> 34) | (word(c, i, 1) & 0x3ffff) << 30);
    high = (int64_t)((uint64_t)high << 16) >> 16; /* sign of 48 bits */
    int64_t apart = (int64_t)(low >> 16 & 0xff);
    return apart ? (high * 256 + apart) * 4 : high * 4;
}

/* True if another instruction in the loop than k writes k's register: then k does not count
 * turns. */
static bool computed_anew(const struct code *c, size_t first, size_t last, size_t k)
{
    for (size_t i = first; i <= last; i++) {
        enum operation o = operation(c, i);
        bool writes = o != STG && o != BRA && o != ISETP_CONSTANT && o != ISETP;
        if (i != k && writes && registered(c, i, 16) == registered(c, k, 16))
            return true;
    }
    return false;
}

/* Turns of a loop whose counter gets a constant added and is compared with a constant; 0:
 * unknown. */
static double turns(const struct code *c, size_t first, size_t last)
{
    for (size_t i = first; i <= last; i++) {
        if (operation(c, i) != ISETP_CONSTANT)
            continue;
        for (size_t k = first; k <= last; k++) {
            bool adds = operation(c, k) == IADD3_CONSTANT || operation(c, k) == VIADD_CONSTANT;
            unsigned counter = registered(c, k, 24);
            uint32_t step = constant(c, k), limit = constant(c, i);
            if (adds && counter == registered(c, k, 16) && counter == registered(c, i, 24) &&
                step > 0 && step <= limit && limit / step < 1 << 20 &&
                !computed_anew(c, first, last, k))
                return limit / step + 1;
        }
    }
    return 0;
}

/* Finds the loops. -1: too many, or the turns of one that moves data are unknown. */
static int find_loops(const struct code *c, struct loop *loops)
{
    int count = 0;
    for (size_t i = 0; i < c->n; i++) {
        int64_t offset = operation(c, i) == BRA ? branch_offset(c, i) : 0;
        int64_t to = (int64_t)i + 1 + offset / INSTRUCTION;
        if (offset >= -INSTRUCTION || to < 0) /* forward, or the end of the code */
            continue;
        if (count == LOOPS)
            return -1;
        loops[count++] = (struct loop){(size_t)to, i, turns(c, (size_t)to, i)};
    }
    return count;
}

double sass_bytes(const void *code, size_t size)
{
    static const double width[8] = {1, 1, 2, 2, 4, 8, 16, 16};
    struct code c = {code, size / INSTRUCTION};
    struct loop loops[LOOPS];
    int count = c.n <= MOST ? find_loops(&c, loops) : -1;
    double bytes = 0;
    for (size_t i = 0; count >= 0 && i < c.n; i++) {
        enum operation o = operation(&c, i);
        if (o == HMMA || o == IMMA || o == HGMMA)
            return -1;
        if (o != LDG && o != STG)
            continue;
        double times = 1;
        for (int k = 0; k < count; k++)
            if (i >= loops[k].first && i <= loops[k].last)
                times *= loops[k].turns;
        if (times <= 0)
            return -1;
        bytes += times * width[word(&c, i, 1) >> 9 & 7];
    }
    return bytes > 0 ? bytes : -1;
}
