/* Integer instructions of PTX that work on bits and on parts of a word. */
#include "ptx/ptx_value.h"

static unsigned width_of(const struct ptx_inst *i)
{
    return 8 * ptx_type_bytes(i->type);
}

static bool is_signed(int type)
{
    return type == T_S8 || type == T_S16 || type == T_S32 || type == T_S64;
}

static int64_t shifted(const struct ptx_inst *i, int64_t a, uint64_t n)
{
    unsigned width = 8 * ptx_type_bytes(i->type);
    if (i->op == OP_SHL)
        return n >= width ? 0 : (int64_t)((uint64_t)a << n);
    if (n >= width)
        n = i->type == T_S32 || i->type == T_S64 || i->type == T_S16 ? width - 1 : 64;
    if (n >= 64)
        return 0;
    return i->type == T_U64 ? (int64_t)((uint64_t)a >> n) : a >> n;
}

static int64_t field(const struct ptx_inst *i, uint64_t a, uint64_t from, uint64_t length)
{
    from &= 255;
    length &= 255;
    if (from > 63 || length == 0)
        return 0;
    uint64_t v = a >> from;
    if (length >= 64)
        return (int64_t)v;
    v &= ((uint64_t)1 << length) - 1;
    bool negative = (i->type == T_S32 || i->type == T_S64) && v >> (length - 1);
    return (int64_t)(negative ? v | ~(uint64_t)0 << length : v);
}

static int64_t inserted(uint64_t a, uint64_t into, uint64_t from, uint64_t length)
{
    from &= 255;
    length &= 255;
    if (from > 63 || length == 0)
        return (int64_t)into;
    uint64_t mask = (length >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << length) - 1) << from;
    return (int64_t)((into & ~mask) | (a << from & mask));
}

static uint64_t lookup(uint64_t a, uint64_t b, uint64_t c, uint64_t table)
{
    uint64_t out = 0;
    for (unsigned bit = 0; bit < 8; bit++)
        if (table >> bit & 1)
            out |= (bit & 4 ? a : ~a) & (bit & 2 ? b : ~b) & (bit & 1 ? c : ~c);
    return out;
}

static uint64_t permuted(uint64_t a, uint64_t b, uint64_t how)
{
    uint64_t all = (uint32_t)a | b << 32, out = 0;
    for (unsigned n = 0; n < 4; n++) {
        unsigned pick = how >> (4 * n) & 15;
        uint64_t byte = all >> (8 * (pick & 7)) & 255;
        out |= (pick & 8 ? (byte & 128 ? 255 : 0) : byte) << (8 * n);
    }
    return out;
}

static uint64_t reversed(uint64_t a)
{
    uint64_t out = 0;
    for (unsigned bit = 0; bit < 64; bit++)
        out |= (a >> bit & 1) << (63 - bit);
    return out;
}

/* The place of the highest bit that is no copy of the sign, or with .shiftamt its distance from the
 * word's highest bit. */
static int64_t highest(const struct ptx_inst *i, int64_t a)
{
    uint64_t v = (uint64_t)(is_signed(i->type) && a < 0 ? ~a : a);
    if (!v)
        return UINT32_MAX;
    unsigned at = 63 - (unsigned)__builtin_clzll(v);
    return i->part == P_SHIFT ? (int64_t)(width_of(i) - 1 - at) : (int64_t)at;
}

static uint64_t ones(uint64_t from, uint64_t count)
{
    return from > 31 ? 0 : (uint32_t)((count > 31 ? UINT32_MAX : (1u << count) - 1) << from);
}

static int64_t extended(const struct ptx_inst *i, uint64_t a, uint64_t bits)
{
    return bits > 31 ? (int64_t)(uint32_t)a : field(i, (uint32_t)a, 0, bits);
}

static uint64_t with_sign(const struct ptx_inst *i, uint64_t sign, uint64_t a)
{
    uint64_t bit = (uint64_t)1 << (width_of(i) - 1);
    return (sign & bit) | (a & ~bit);
}

/* The sum of four products of bytes, or of two of a half word with a byte, and of a third number. */
static int64_t dot(const struct ptx_inst *i, const uint64_t *raw)
{
    unsigned step = i->op == OP_DP4A ? 8 : 16, base = i->op == OP_DP2A && i->part == P_HI ? 16 : 0;
    int64_t sum = (int32_t)raw[2];
    for (unsigned n = 0; n < 32 / step; n++) {
        uint64_t a = raw[0] >> step * n & (step == 8 ? 255 : 65535);
        uint64_t b = raw[1] >> (base + 8 * n) & 255;
        int64_t x = !is_signed(i->type) ? (int64_t)a : step == 8 ? (int8_t)a : (int16_t)a;
        sum += x * (is_signed(i->from) ? (int8_t)b : (int64_t)b);
    }
    return (uint32_t)sum;
}

/* 32 bits of two words that stand side by side, shifted. */
uint64_t ptx_funnel(const struct ptx_inst *i, const uint64_t *raw)
{
    uint64_t both = raw[1] << 32 | (uint32_t)raw[0];
    unsigned n = raw[2] & 31;
    return (uint32_t)(i->part == P_RIGHT ? both >> n : both >> (32 - n));
}

int64_t ptx_bits(const struct ptx_inst *i, int64_t a, int64_t b, const uint64_t *raw)
{
    switch (i->op) {
    case OP_NOT:
        return i->type == T_PRED ? !a : ~a;
    case OP_AND:
        return a & b;
    case OP_OR:
        return a | b;
    case OP_XOR:
        return a ^ b;
    case OP_SHL:
    case OP_SHR:
        return shifted(i, a, (uint32_t)raw[1]);
    case OP_BFE:
        return field(i, raw[0], raw[1], raw[2]);
    case OP_BFI:
        return inserted(raw[0], raw[1], raw[2], raw[3]);
    case OP_POPC:
        return __builtin_popcountll((uint64_t)a);
    case OP_CLZ:
        return a ? __builtin_clzll((uint64_t)a) - (64 - 8 * (int)ptx_type_bytes(i->type))
                 : 8 * (int)ptx_type_bytes(i->type);
    case OP_BREV:
        return (int64_t)(reversed((uint64_t)a) >> (64 - width_of(i)));
    case OP_BFIND:
        return highest(i, a);
    case OP_CNOT:
        return a == 0;
    case OP_BMSK:
        return (int64_t)ones(raw[0], raw[1]);
    case OP_SZEXT:
        return extended(i, raw[0], raw[1]);
    case OP_COPYSIGN:
        return (int64_t)with_sign(i, raw[0], raw[1]);
    case OP_DP4A:
    case OP_DP2A:
        return dot(i, raw);
    case OP_LOP3:
        return (int64_t)lookup(raw[0], raw[1], raw[2], raw[3]);
    case OP_PRMT:
        return (int64_t)permuted(raw[0], raw[1], raw[2]);
    default:
        return 0;
    }
}
