/* The cost of instructions other than memory accesses: how many machine instructions of which unit
 * one PTX instruction becomes, and after how many cycles its result is there. Sources are NVIDIA's
 * tables of arithmetic throughput (CUDA programming guide) and published microbenchmarks of
 * latencies. The lengths of divisions and roots are guesses from what the compiler generates. */
#include "ptx/ptx_run.h"

static struct ptx_price on_alu(float n, float latency)
{
    return (struct ptx_price){.issue = n, .alu = n, .latency = latency};
}

static struct ptx_price on_fp32(float n, float latency)
{
    return (struct ptx_price){.issue = n, .fp32 = n, .latency = latency};
}

static struct ptx_price on_fp64(float n, float latency)
{
    return (struct ptx_price){.issue = n, .fp64 = n, .latency = latency};
}

static struct ptx_price simple(const struct ptx_inst *i)
{
    if (i->type == T_F32 || i->type == T_HALF || i->type == T_PAIR)
        return on_fp32(1, 4);
    if (i->type == T_F64)
        return on_fp64(1, 8);
    bool wide = ptx_type_bytes(i->type) == 8;
    bool product = i->op == OP_MUL || i->op == OP_MAD;
    return wide ? on_alu(product ? 4 : 1.5f, product ? 14 : 6) : on_alu(1, 4.5f);
}

static struct ptx_price division(const struct ptx_inst *i)
{
    if (i->type == T_F32)
        return i->approx ? (struct ptx_price){.issue = 3, .fp32 = 2, .special = 1, .latency = 28}
                         : (struct ptx_price){.issue = 10, .fp32 = 8, .special = 1, .latency = 60};
    if (i->type == T_F64)
        return (struct ptx_price){.issue = 20, .fp64 = 12, .special = 1, .latency = 150};
    return ptx_type_bytes(i->type) == 8 ? on_alu(80, 300) : on_alu(18, 90);
}

static struct ptx_price function(const struct ptx_inst *i)
{
    if (i->type == T_F64)
        return (struct ptx_price){.issue = 16, .fp64 = 10, .special = 1, .latency = 120};
    return i->approx ? (struct ptx_price){.issue = 2, .fp32 = 1, .special = 1, .latency = 22}
                     : (struct ptx_price){.issue = 8, .fp32 = 6, .special = 1, .latency = 45};
}

static struct ptx_price conversion(const struct ptx_inst *i)
{
    bool real = i->type >= T_HALF || i->from >= T_HALF;
    if (i->type == T_F64 || i->from == T_F64)
        return (struct ptx_price){.issue = 1, .special = 1, .latency = 12};
    return real ? on_alu(1, 6) : on_alu(0.5f, 4);
}

static bool looks_for_bits(int op)
{
    return op == OP_POPC || op == OP_CLZ || op == OP_BREV || op == OP_BFIND;
}

struct ptx_price ptx_price(const struct ptx_inst *i)
{
    if (looks_for_bits(i->op))
        return (struct ptx_price){.issue = 1, .special = 1, .latency = 8};
    switch (i->op) {
    case OP_MOV:
    case OP_NOTHING:
        return (struct ptx_price){.latency = 0}; /* mostly just another name for a register */
    case OP_DIV:
    case OP_REM:
        return division(i);
    case OP_RCP:
    case OP_SQRT:
    case OP_RSQRT:
    case OP_EX2:
    case OP_LG2:
    case OP_SIN:
    case OP_COS:
    case OP_TANH:
        return function(i);
    case OP_CVT:
        return conversion(i);
    case OP_SETP:
    case OP_SET:
        return i->type == T_F64 ? on_fp64(1, 8) : on_alu(1, 5);
    case OP_CALL:
        return on_alu(20, 60);
    case OP_SHUFFLE:
        return (struct ptx_price){.issue = 1, .latency = 23};
    case OP_VOTE:
    case OP_ELECT:
        return (struct ptx_price){.issue = 1, .latency = 12};
    case OP_BARRIER:
        return (struct ptx_price){.issue = 1, .latency = 25};
    case OP_MATRIX:
        return (struct ptx_price){.issue = 1, .latency = 32};
    case OP_LOAD:
    case OP_STORE:
    case OP_ATOMIC:
    case OP_COPY:
    case OP_BULK:
    case OP_TEXTURE:
    case OP_BRANCH:
    case OP_EXIT:
        return (struct ptx_price){.issue = 1};
    default:
        return simple(i);
    }
}
