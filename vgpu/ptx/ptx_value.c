/* Computes the results of PTX instructions, for all lanes of a warp at once. */
#include "ptx/ptx_value.h"

#include <math.h>
#include <string.h>

static bool is_float(int type)
{
    return type == T_F32 || type == T_F64;
}

static int64_t integer(int type, uint64_t raw)
{
    switch (type) {
    case T_U8:
        return (uint8_t)raw;
    case T_S8:
        return (int8_t)raw;
    case T_U16:
        return (uint16_t)raw;
    case T_S16:
        return (int16_t)raw;
    case T_U32:
        return (uint32_t)raw;
    case T_S32:
        return (int32_t)raw;
    default:
        return (int64_t)raw;
    }
}

static uint64_t bits_of(int type, int64_t v)
{
    switch (ptx_type_bytes(type)) {
    case 1:
        return type == T_PRED ? (v != 0) : (uint8_t)v;
    case 2:
        return (uint16_t)v;
    case 4:
        return (uint32_t)v;
    default:
        return (uint64_t)v;
    }
}

static double real(int type, uint64_t raw)
{
    float f;
    double d;
    memcpy(&f, &raw, sizeof f);
    if (type == T_F32)
        return (double)f;
    memcpy(&d, &raw, sizeof d);
    return d;
}

static uint64_t bits_of_real(int type, double v)
{
    float f = (float)v;
    uint64_t raw = 0;
    if (type == T_F32)
        memcpy(&raw, &f, sizeof f);
    else
        memcpy(&raw, &v, sizeof v);
    return raw;
}

static bool compares(int how, int sign, bool ordered)
{
    switch (how) {
    case C_EQ:
        return ordered && sign == 0;
    case C_NE:
        return sign != 0 || !ordered;
    case C_LT:
        return ordered && sign < 0;
    case C_LE:
        return ordered && sign <= 0;
    case C_GT:
        return ordered && sign > 0;
    case C_GE:
        return ordered && sign >= 0;
    default:
        return !ordered;
    }
}

static bool test(const struct ptx_inst *i, int type, uint64_t a, uint64_t b)
{
    if (is_float(type)) {
        double x = real(type, a), y = real(type, b);
        return compares(i->compare, (x > y) - (x < y), !isnan(x) && !isnan(y));
    }
    int64_t x = integer(type, a), y = integer(type, b);
    if (type == T_U64)
        return compares(i->compare, ((uint64_t)x > (uint64_t)y) - ((uint64_t)x < (uint64_t)y),
                        true);
    return compares(i->compare, (x > y) - (x < y), true);
}

static double real_result(int op, double a, double b, double c)
{
    switch (op) {
    case OP_ADD:
        return a + b;
    case OP_SUB:
        return a - b;
    case OP_MUL:
        return a * b;
    case OP_MAD:
        return a * b + c;
    case OP_DIV:
        return a / b;
    case OP_MIN:
        return fmin(a, b);
    case OP_MAX:
        return fmax(a, b);
    case OP_NEG:
        return -a;
    case OP_ABS:
        return fabs(a);
    case OP_RCP:
        return 1 / a;
    case OP_SQRT:
        return sqrt(a);
    case OP_RSQRT:
        return 1 / sqrt(a);
    case OP_EX2:
        return exp2(a);
    case OP_LG2:
        return log2(a);
    case OP_SIN:
        return sin(a);
    case OP_COS:
        return cos(a);
    case OP_TANH:
        return tanh(a);
    default:
        return 0;
    }
}

static int64_t high_half(int type, int64_t a, int64_t b)
{
    if (type == T_U64)
        return (int64_t)(uint64_t)((unsigned __int128)(uint64_t)a * (uint64_t)b >> 64);
    if (type == T_S64)
        return (int64_t)((__int128)a * b >> 64);
    return (int64_t)((uint64_t)(a * b) >> (8 * ptx_type_bytes(type)));
}

static int64_t product(const struct ptx_inst *i, int64_t a, int64_t b)
{
    return i->part == P_HI ? high_half(i->type, a, b) : (int64_t)((uint64_t)a * (uint64_t)b);
}

static int64_t quotient(const struct ptx_inst *i, int64_t a, int64_t b)
{
    bool rest = i->op == OP_REM;
    if (b == 0)
        return -1;
    if (i->type == T_U64)
        return (int64_t)(rest ? (uint64_t)a % (uint64_t)b : (uint64_t)a / (uint64_t)b);
    if (b == -1)
        return rest ? 0 : (int64_t) - (uint64_t)a;
    return rest ? a % b : a / b;
}

static int64_t integer_result(const struct ptx_inst *i, const uint64_t *raw)
{
    int t = i->type;
    int64_t a = integer(t, raw[0]), b = integer(t, raw[1]);
    switch (i->op) {
    case OP_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case OP_SUB:
        return (int64_t)((uint64_t)a - (uint64_t)b);
    case OP_MUL:
        return product(i, a, b);
    case OP_MAD:
        return (int64_t)((uint64_t)product(i, a, b) + raw[2]);
    case OP_DIV:
    case OP_REM:
        return quotient(i, a, b);
    case OP_MIN:
        return t == T_U64 ? ((uint64_t)a < (uint64_t)b ? a : b) : a < b ? a : b;
    case OP_MAX:
        return t == T_U64 ? ((uint64_t)a > (uint64_t)b ? a : b) : a > b ? a : b;
    case OP_NEG:
        return (int64_t) - (uint64_t)a;
    case OP_ABS:
        return a < 0 ? (int64_t) - (uint64_t)a : a;
    case OP_SAD:
        return (int64_t)((t == T_U64 ? (uint64_t)a > (uint64_t)b : a > b)
                             ? (uint64_t)a - (uint64_t)b + raw[2]
                             : (uint64_t)b - (uint64_t)a + raw[2]);
    default:
        return ptx_bits(i, a, b, raw);
    }
}

/* The type of a result: a wide product is twice as long as its factors. */
static int result_type(const struct ptx_inst *i)
{
    if (i->part != P_WIDE)
        return i->type;
    return i->type == T_S32 ? T_S64 : i->type == T_U32 ? T_U64 : i->type == T_S16 ? T_S32 : T_U32;
}

static uint64_t converted(const struct ptx_inst *i, uint64_t raw)
{
    double v = is_float(i->from) ? real(i->from, raw) : (double)integer(i->from, raw);
    if (is_float(i->type))
        return bits_of_real(i->type, v);
    if (!is_float(i->from))
        return bits_of(i->type, integer(i->from, raw));
    return fabs(v) < 9e18 ? bits_of(i->type, (int64_t)v) : 0;
}

static uint64_t result(const struct ptx_inst *i, const uint64_t *raw)
{
    bool yes;
    switch (i->op) {
    case OP_MOV:
        return raw[0];
    case OP_CVT:
        return converted(i, raw[0]);
    case OP_SELP:
        return raw[2] ? raw[0] : raw[1];
    case OP_SET:
        yes = test(i, i->from, raw[0], raw[1]);
        return !yes ? 0 : is_float(i->type) ? bits_of_real(i->type, 1) : bits_of(i->type, -1);
    case OP_SETP:
        yes = test(i, i->type, raw[0], raw[1]);
        if (i->combine) {
            bool other = (raw[2] != 0) != i->combine_not;
            yes = i->combine == OP_AND  ? yes && other
                  : i->combine == OP_OR ? yes || other
                                        : yes != other;
        }
        return yes;
    case OP_SHF:
        return ptx_funnel(i, raw);
    case OP_SLCT:
        yes = is_float(i->from) ? real(i->from, raw[2]) >= 0 : integer(i->from, raw[2]) >= 0;
        return yes ? raw[0] : raw[1];
    case OP_COPYSIGN:
        return ptx_bits(i, (int64_t)raw[0], (int64_t)raw[1], raw);
    }
    if (is_float(i->type))
        return bits_of_real(i->type, real_result(i->op, real(i->type, raw[0]),
                                                 real(i->type, raw[1]), real(i->type, raw[2])));
    return bits_of(result_type(i), integer_result(i, raw));
}

#define ALL_LANES(value)                                                                           \
    for (int n = 0; n < PTX_LANES; n++)                                                            \
        to[n] = (value);                                                                           \
    return true

/* A fast path for the most frequent integer instructions with all lanes active. */
static bool quick(const struct ptx_inst *i, ptx_lanes *reg, uint32_t mask)
{
    static const uint64_t none[PTX_LANES];
    const uint64_t *a = i->ins > 0 ? reg[i->in[0]] : none, *b = i->ins > 1 ? reg[i->in[1]] : none;
    const uint64_t *c = i->ins > 2 ? reg[i->in[2]] : none;
    bool short_one = i->type == T_U32 || i->type == T_S32;
    uint64_t *to = reg[i->out[0]], keep = short_one ? UINT32_MAX : UINT64_MAX;
    if (mask != UINT32_MAX || i->outs != 1 || i->part == P_HI || i->combine ||
        (i->part == P_WIDE && i->op != OP_MUL) ||
        !(short_one || i->type == T_U64 || i->type == T_S64) || i->op == OP_OTHER)
        return false;
    switch (i->part == P_WIDE ? OP_OTHER : i->op) {
    case OP_OTHER:
        ALL_LANES((uint64_t)(integer(i->type, a[n]) * integer(i->type, b[n])));
    case OP_SETP:
        ALL_LANES(test(i, i->type, a[n], b[n]));
    case OP_MOV:
        ALL_LANES(a[n]);
    case OP_ADD:
        ALL_LANES((a[n] + b[n]) & keep);
    case OP_SUB:
        ALL_LANES((a[n] - b[n]) & keep);
    case OP_MUL:
        ALL_LANES((a[n] * b[n]) & keep);
    case OP_MAD:
        ALL_LANES((a[n] * b[n] + c[n]) & keep);
    case OP_AND:
        ALL_LANES((a[n] & b[n]) & keep);
    default:
        return false;
    }
}

void ptx_compute(const struct ptx_inst *i, ptx_lanes *reg, uint32_t mask)
{
    if (quick(i, reg, mask))
        return;
    for (int lane = 0; lane < PTX_LANES; lane++) {
        if (!(mask >> lane & 1))
            continue;
        uint64_t raw[PTX_OPERANDS] = {0};
        for (int n = 0; n < i->ins; n++)
            raw[n] = reg[i->in[n]][lane];
        uint64_t v = result(i, raw);
        for (int n = 0; n < i->outs; n++) /* p|q: the second result is the opposite */
            reg[i->out[n]][lane] = n == 0                          ? v
                                   : i->op == OP_SETP              ? !v
                                   : i->op == OP_MOV && i->ins > n ? raw[n]
                                                                   : v;
    }
}

double ptx_difference(const struct ptx_inst *i, ptx_lanes *reg, int lane)
{
    uint64_t a = reg[i->in[0]][lane], b = reg[i->in[1]][lane];
    if (is_float(i->type))
        return real(i->type, a) - real(i->type, b);
    return (double)integer(i->type, a) - (double)integer(i->type, b);
}
