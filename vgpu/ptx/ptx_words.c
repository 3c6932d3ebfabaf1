/* The words of PTX's instructions (PTX ISA): operation, type, space, comparison. */
#include "ptx/ptx.h"

#include <stdio.h>
#include <string.h>

struct word {
    const char *name;
    int value;
};

static const struct word ops[] = {
    {"mov", OP_MOV},
    {"ld", OP_LOAD},
    {"ldu", OP_LOAD},
    {"st", OP_STORE},
    {"add", OP_ADD},
    {"addc", OP_ADD},
    {"sub", OP_SUB},
    {"subc", OP_SUB},
    {"mul", OP_MUL},
    {"mul24", OP_MUL},
    {"mad", OP_MAD},
    {"madc", OP_MAD},
    {"mad24", OP_MAD},
    {"fma", OP_MAD},
    {"div", OP_DIV},
    {"rem", OP_REM},
    {"min", OP_MIN},
    {"max", OP_MAX},
    {"neg", OP_NEG},
    {"abs", OP_ABS},
    {"not", OP_NOT},
    {"and", OP_AND},
    {"or", OP_OR},
    {"xor", OP_XOR},
    {"shl", OP_SHL},
    {"shr", OP_SHR},
    {"setp", OP_SETP},
    {"set", OP_SET},
    {"selp", OP_SELP},
    {"cvt", OP_CVT},
    {"cvta", OP_MOV},
    {"bfe", OP_BFE},
    {"bfi", OP_BFI},
    {"popc", OP_POPC},
    {"clz", OP_CLZ},
    {"brev", OP_BREV},
    {"bfind", OP_BFIND},
    {"cnot", OP_CNOT},
    {"bmsk", OP_BMSK},
    {"szext", OP_SZEXT},
    {"sad", OP_SAD},
    {"slct", OP_SLCT},
    {"copysign", OP_COPYSIGN},
    {"dp4a", OP_DP4A},
    {"dp2a", OP_DP2A},
    {"lop3", OP_LOP3},
    {"prmt", OP_PRMT},
    {"shf", OP_SHF},
    {"rcp", OP_RCP},
    {"sqrt", OP_SQRT},
    {"rsqrt", OP_RSQRT},
    {"ex2", OP_EX2},
    {"lg2", OP_LG2},
    {"sin", OP_SIN},
    {"cos", OP_COS},
    {"tanh", OP_TANH},
    {"atom", OP_ATOMIC},
    {"red", OP_ATOMIC},
    {"bra", OP_BRANCH},
    {"ret", OP_EXIT},
    {"exit", OP_EXIT},
    {"trap", OP_EXIT},
    {"call", OP_CALL},
    {"bar", OP_BARRIER},
    {"barrier", OP_BARRIER},
    {"shfl", OP_SHUFFLE},
    {"redux", OP_SHUFFLE},
    {"match", OP_SHUFFLE},
    {"vote", OP_VOTE},
    {"activemask", OP_ACTIVE},
    {"elect", OP_ELECT},
    {"mbarrier", OP_READY},
    {"mma", OP_MATRIX},
    {"wmma", OP_MATRIX},
    {"wgmma", OP_MATRIX},
    {"tex", OP_TEXTURE},
    {"tld4", OP_TEXTURE},
    {"suld", OP_TEXTURE},
    {"sust", OP_TEXTURE},
    {"cp", OP_COPY},
    {"prefetch", OP_NOTHING},
    {"prefetchu", OP_NOTHING},
    {"nanosleep", OP_NOTHING},
    {"brkpt", OP_NOTHING},
    {NULL, OP_OTHER},
};

static const struct word types[] = {
    {"u8", T_U8},     {"b8", T_U8},    {"s8", T_S8},     {"u16", T_U16},    {"b16", T_U16},
    {"s16", T_S16},   {"u32", T_U32},  {"b32", T_U32},   {"s32", T_S32},    {"u64", T_U64},
    {"b64", T_U64},   {"b128", T_U64}, {"s64", T_S64},   {"f32", T_F32},    {"f64", T_F64},
    {"pred", T_PRED}, {"f16", T_HALF}, {"bf16", T_HALF}, {"f16x2", T_PAIR}, {"bf16x2", T_PAIR},
    {"tf32", T_F32},  {NULL, T_NONE},
};

static const struct word spaces[] = {
    {"global", S_GLOBAL}, {"shared", S_SHARED}, {"local", S_LOCAL},
    {"const", S_CONST},   {"param", S_PARAM},   {NULL, -1},
};

static const struct word compares[] = {
    {"eq", C_EQ},  {"ne", C_NE},     {"lt", C_LT},     {"le", C_LE},  {"gt", C_GT},
    {"ge", C_GE},  {"lo", C_LT},     {"ls", C_LE},     {"hi", C_GT},  {"hs", C_GE},
    {"equ", C_EQ}, {"neu", C_NE},    {"ltu", C_LT},    {"leu", C_LE}, {"gtu", C_GT},
    {"geu", C_GE}, {"num", C_OTHER}, {"nan", C_OTHER}, {NULL, -1},
};

static const struct word parts[] = {{"lo", P_LO},   {"hi", P_HI},          {"wide", P_WIDE},
                                    {"r", P_RIGHT}, {"shiftamt", P_SHIFT}, {NULL, -1}};
static const struct word combines[] = {{"and", OP_AND}, {"or", OP_OR}, {"xor", OP_XOR}, {NULL, -1}};

static int find(const struct word *w, const char *word, size_t n)
{
    while (w->name && (strlen(w->name) != n || memcmp(w->name, word, n) != 0))
        w++;
    return w->value;
}

int ptx_op_of(const char *word, size_t n)
{
    return find(ops, word, n);
}

static void test_suffix(struct ptx_inst *i, const char *word, size_t n)
{
    int compare = find(compares, word, n), combine = find(combines, word, n);
    if (compare >= 0)
        i->compare = (uint8_t)compare;
    if (combine >= 0)
        i->combine = (uint8_t)combine;
}

void ptx_suffix(struct ptx_inst *i, const char *word, size_t n, int *seen)
{
    int type = find(types, word, n), space = find(spaces, word, n), part = find(parts, word, n);
    if (type != T_NONE) {
        if (++*seen == 1)
            i->type = i->from = (uint8_t)type;
        else
            i->from = (uint8_t)type;
    } else if (i->op == OP_SETP || i->op == OP_SET) {
        test_suffix(i, word, n);
    } else if (space >= 0) {
        i->space = (uint8_t)space;
    } else if (part >= 0) {
        i->part = (uint8_t)part;
    } else if (i->op == OP_SHUFFLE && n == 3 && memcmp(word, "idx", 3) == 0) {
        i->indexed = true;
    } else if (n == 2 && memcmp(word, "nc", 2) == 0) {
        i->constant = true;
    } else if ((n == 6 && memcmp(word, "approx", 6) == 0) ||
               (n == 4 && memcmp(word, "full", 4) == 0)) {
        i->approx = true;
    }
}

unsigned ptx_type_bytes(int type)
{
    static const unsigned bytes[] = {4, 1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 4, 8, 1};
    return bytes[type];
}

int ptx_special_of(const char *name, size_t n)
{
    static const struct word vectors[] = {{"%tid.", SR_TID},
                                          {"%ctaid.", SR_CTAID},
                                          {"%ntid.", SR_NTID},
                                          {"%nctaid.", SR_NCTAID},
                                          {NULL, -1}};
    static const struct word names[] = {{"%laneid", SR_LANE},
                                        {"%warpid", SR_WARP},
                                        {"%nwarpid", SR_NWARP},
                                        {"%lanemask_lt", SR_LANEMASK_LT},
                                        {"%lanemask_le", SR_LANEMASK_LE},
                                        {"%lanemask_gt", SR_LANEMASK_GT},
                                        {"%lanemask_ge", SR_LANEMASK_GE},
                                        {"%lanemask_eq", SR_LANEMASK_EQ},
                                        {"%clock", SR_CLOCK},
                                        {"%clock64", SR_CLOCK},
                                        {"%globaltimer", SR_TIMER},
                                        {"%smid", SR_OTHER},
                                        {"%nsmid", SR_OTHER},
                                        {"%gridid", SR_OTHER},
                                        {"%dynamic_smem_size", SR_OTHER},
                                        {"%total_smem_size", SR_OTHER},
                                        {NULL, -1}};
    for (const struct word *w = vectors; w->name; w++) {
        size_t head = strlen(w->name);
        if (n == head + 1 && memcmp(w->name, name, head) == 0 && name[head] >= 'x' &&
            name[head] <= 'z')
            return w->value + name[head] - 'x';
    }
    return find(names, name, n);
}

/* Clocks of the tensor cores per operation, relative to 16-bit operands, by the rates in NVIDIA's
 * data sheets for A100 and H100. */
static double matrix_weight(const char *opcode)
{
    static const struct {
        const char *type;
        double weight;
    } weights[] = {{".f64", 16}, {".tf32", 2},  {".e4m3", 0.5}, {".e5m2", 0.5},   {".s8", 0.5},
                   {".u8", 0.5}, {".s4", 0.25}, {".u4", 0.25},  {".b1", 1.0 / 16}};
    double weight = 1;
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        if (strstr(opcode, weights[i].type)) {
            weight = weights[i].weight;
            break;
        }
    return strstr(opcode, ".sp") ? weight / 2 : weight; /* half of the operands are zeros */
}

/* Operations of a warp's matrix instruction, from its shape: mma.sync.aligned.m16n8k16... Loads,
 * stores and fences of the same family have no product. Four warps share a wgmma. */
double ptx_matrix_flops(const char *opcode, size_t n)
{
    char text[128];
    size_t kept = n < sizeof text - 1 ? n : sizeof text - 1;
    memcpy(text, opcode, kept);
    text[kept] = '\0';
    for (const char *at = strstr(text, ".m"); at; at = strstr(at + 1, ".m")) {
        double m, columns, k;
        if (sscanf(at, ".m%4lfn%4lfk%4lf", &m, &columns, &k) == 3)
            return 2 * m * columns * k * matrix_weight(text) /
                   (strncmp(text, "wgmma", 5) == 0 ? 4 : 1);
    }
    return 0;
}
