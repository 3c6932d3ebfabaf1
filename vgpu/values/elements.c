/* Element-wise results for flags and 8-byte integers: comparisons, sums, products, logic and
 * copies. */
#include "values/cast.h"
#include "values/integers.h"

#include <string.h>

enum {
    MOST_OPERANDS = 4, /* the result is the first */
    FEW = 256          /* numbers of 4 and 2 bytes: a norm, or scales that the program clips */
};

enum does {
    COMPARE,
    EQUAL,
    ADD,
    ADD_TO,
    MULTIPLY,
    DIVIDE,
    REMAIN,
    AND,
    OR,
    NOT,
    COPY,
    FILL,
    CHOOSE
};

/* How a functor is recognised, and what it contains: which comparison, a scalar. */
static const struct functor {
    const char *name, *also; /* parts of the kernel's name */
    /* Bytes of an element of each operand; b, i: a flag or an int that is cast. */
    const char *bytes;
    enum does does;
    signed char how, scalar, scale; /* offsets of its members in bytes; -1: none */
} functors[] = {
    {"21compare_scalar_kernelIlE", "", "18", COMPARE, 0, 8, -1},
    {"14CompareFunctorIlE", "", "188", COMPARE, 0, -1, -1},
    {"16CompareEqFunctorIlE", "13AUnaryFunctorIllb", "18", EQUAL, 0, 8, -1},
    {"16CompareEqFunctorIlE", "13BUnaryFunctorIllb", "18", EQUAL, 0, 8, -1},
    {"16CompareEqFunctorIlE", "13BinaryFunctorIllb", "188", EQUAL, 0, -1, -1},
    {"21CUDAFunctorOnSelf_addIlE", "", "88", ADD, -1, 0, 8},
    {"22CUDAFunctorOnOther_addIlE", "", "88", ADD_TO, -1, 0, 8},
    {"15CUDAFunctor_addIlE", "", "888", ADD, -1, -1, 0},
    {"10MulFunctorIlE", "13AUnaryFunctorIlll", "88", MULTIPLY, -1, 8, -1},
    {"10MulFunctorIlE", "13BUnaryFunctorIlll", "88", MULTIPLY, -1, 8, -1},
    {"10MulFunctorIlE", "13BinaryFunctorIlll", "888", MULTIPLY, -1, -1, -1},
    {"21div_floor_kernel_cuda", "13BUnaryFunctorIlll", "88", DIVIDE, -1, 8, -1},
    {"21div_floor_kernel_cuda", "13BinaryFunctorIlll", "888", DIVIDE, -1, -1, -1},
    {"21remainder_kernel_cuda", "13BUnaryFunctorIlll", "88", REMAIN, -1, 8, -1},
    {"21remainder_kernel_cuda", "13BinaryFunctorIlll", "888", REMAIN, -1, -1, -1},
    {"17BitwiseAndFunctorIlE", "13BinaryFunctorIlll", "888", AND, -1, -1, -1},
    {"16BitwiseOrFunctorIlE", "13BinaryFunctorIlll", "888", OR, -1, -1, -1},
    {"17BitwiseAndFunctorIbE", "13BinaryFunctorIbbb", "111", AND, -1, -1, -1},
    {"10MulFunctorIbE", "13BinaryFunctorIbbb", "111", AND, -1, -1, -1},
    {"23logical_and_kernel_cuda", "13BinaryFunctorIbbb", "111", AND, -1, -1, -1},
    {"16BitwiseOrFunctorIbE", "13BinaryFunctorIbbb", "111", OR, -1, -1, -1},
    {"22logical_or_kernel_cuda", "13BinaryFunctorIbbb", "111", OR, -1, -1, -1},
    {"23bitwise_not_kernel_cuda", "EUlbE_", "11", NOT, -1, -1, -1},
    {"23logical_not_kernel_cuda", "EUlbE_", "11", NOT, -1, -1, -1},
    {"23direct_copy_kernel_cuda", "EUllE_", "88", COPY, -1, -1, -1},
    {"23direct_copy_kernel_cuda", "EUlbE_", "11", COPY, -1, -1, -1},
    {"27converting_copy_kernel_cudaIblE", "", "8b", COPY, -1, -1, -1},
    {"27converting_copy_kernel_cudaIilE", "", "8i", COPY, -1, -1, -1},
    {"18masked_fill_kernel", "EUllbE_", "881", FILL, -1, 0, -1},
    {"17where_kernel_impl", "EUlbmmE_", "8188", CHOOSE, -1, -1, -1},
    {"17where_kernel_impl", "EUlbjjE_", "4144", CHOOSE, -1, -1, -1},
    {"17where_kernel_impl", "EUlbttE_", "2122", CHOOSE, -1, -1, -1},
    {"17where_kernel_impl", "EUlbllE_", "8188", CHOOSE, -1, -1, -1}, /* PyTorch 2.11 */
    {"17where_kernel_impl", "EUlbffE_", "4144", CHOOSE, -1, -1, -1},
    {"17where_kernel_impl", "EUlbN3c108BFloat16ES", "2122", CHOOSE, -1, -1, -1},
    {"17where_kernel_impl", "EUlbN3c104HalfES", "2122", CHOOSE, -1, -1, -1},
};

/* True if the elements lie one behind another. */
static bool in_vectors(const char *name)
{
    return strstr(name, "2at6native29vectorized_elementwise_kernel") ||
           strstr(name, "2at6native27unrolled_elementwise_kernel");
}

static const struct functor *functor_of(const char *name)
{
    if (!in_vectors(name) && !strstr(name, "22gpu_kernel_impl_nocastI"))
        return NULL;
    for (size_t i = 0; i < sizeof functors / sizeof *functors; i++)
        if (strstr(name, functors[i].name) && strstr(name, functors[i].also))
            return &functors[i];
    return NULL;
}

bool vg_elements_known(const char *name)
{
    return functor_of(name) != NULL;
}

struct work {
    const struct functor *f;
    uint32_t n, operands;
    const char *functor; /* its members */
    char *at[MOST_OPERANDS];
    size_t bytes[MOST_OPERANDS];
    int type[MOST_OPERANDS]; /* of an input that is cast (vg_integer_at); -1: not cast */
    const char *offsets;     /* OffsetCalculator, in bytes; NULL: elements lie one behind another */
};

/* Reads the types and sizes of two inputs, if the load casts them. */
static bool read_casts(struct work *w, const char *name, void *const *args)
{
    struct {
        int8_t types[2];
        uint32_t bytes[2];
    } load;
    if (strstr(name, "12LoadWithCastILi2E") == NULL || w->operands != 3)
        return strstr(name, "12LoadWithCast") == NULL;
    for (int i = 3; i < 7; i++)
        if (!args[i])
            return false;
    memcpy(&load, args[5], sizeof load);
    for (int k = 0; k < 2; k++) {
        w->type[1 + k] = load.types[k];
        w->bytes[1 + k] = load.bytes[k];
        if (load.bytes[k] == 0 || vg_integer_bytes(load.types[k]) != load.bytes[k])
            return false;
    }
    int8_t stored;
    memcpy(&stored, args[6], sizeof stored);
    return vg_integer_bytes(stored) == w->bytes[0];
}

/* Reads the operands from the functor's row: vg_integer_at() reads those that are cast. */
static void read_operands(struct work *w)
{
    enum { INT = 3, BOOL = 11 }; /* numbered as c10::ScalarType */
    w->operands = (uint32_t)strlen(w->f->bytes);
    for (uint32_t k = 0; k < w->operands; k++) {
        char is = w->f->bytes[k];
        w->type[k] = is == 'b' ? BOOL : is == 'i' ? INT : -1;
        w->bytes[k] = w->type[k] >= 0 ? vg_integer_bytes(w->type[k]) : (size_t)(is - '0');
    }
}

/* Arguments: the count, the functor, the addresses, and what casts; or the count, and one object
 * with a calculator of offsets, the addresses and the functor. */
static bool read_work(struct work *w, const char *name, void *const *args)
{
    int32_t n;
    *w = (struct work){.f = functor_of(name)};
    if (!w->f || !args[1])
        return false;
    memcpy(&n, args[0], sizeof n);
    w->n = (uint32_t)n;
    read_operands(w);
    size_t addresses = w->operands * sizeof *w->at, dims = 4 + 25 * 12,
           calculator = (dims + 25 * 4 * (size_t)w->operands + 7) / 8 * 8;
    if (in_vectors(name)) {
        if (!args[2] || !read_casts(w, name, args))
            return false;
        w->functor = args[1];
        memcpy(w->at, args[2], addresses);
    } else {
        w->offsets = args[1];
        memcpy(w->at, w->offsets + calculator, addresses);
        w->functor = w->offsets + calculator + addresses;
    }
    return n > 0 && n <= (w->bytes[0] == 4 || w->bytes[0] == 2 ? FEW : VG_MOST_INTEGERS);
}

/* The offsets of element i. False: one lies outside of its memory. */
static bool offsets_of(const struct work *w, const struct vg_stretch *within, uint32_t i,
                       size_t at[MOST_OPERANDS])
{
    uint32_t dims, size = 1, stride;
    memcpy(&dims, w->offsets, sizeof dims);
    for (uint32_t d = 0; d < dims && d < 25 && size; d++) {
        memcpy(&size, w->offsets + 4 + d * 12, sizeof size);
        for (uint32_t k = 0; k < w->operands && size; k++) {
            memcpy(&stride, w->offsets + 4 + 25 * 12 + (d * w->operands + k) * 4, sizeof stride);
            at[k] += (size_t)(i % size) * stride;
        }
        i = size ? i / size : i;
    }
    for (uint32_t k = 0; k < w->operands; k++)
        if (!vg_within(within[k], w->at[k] + at[k], w->bytes[k]))
            return false;
    return true;
}

static bool compare(int how, int64_t a, int64_t b)
{
    enum { AT_LEAST, GREATER, AT_MOST, LESS };
    switch (how) {
    case AT_LEAST:
        return a >= b;
    case GREATER:
        return a > b;
    case AT_MOST:
        return a <= b;
    default:
        return a < b;
    }
}

/* Division towards minus infinity, as in PyTorch. 0 for a division by 0, since a kernel may not
 * have written the divisor. */
static int64_t floored(int64_t a, int64_t b, bool remainder)
{
    if (b == 0 || (b == -1 && a == INT64_MIN))
        return 0;
    int64_t rest = a % b, up = rest != 0 && (rest < 0) != (b < 0);
    return remainder ? rest + (up ? b : 0) : a / b - up;
}

struct members {
    int how;
    int64_t scalar, scale;
};

/* The result for one element. A flag byte other than 0 and 1 is no flag, but was there before. */
static int64_t result(const struct functor *f, const struct members *m, const int64_t in[3])
{
    int64_t a = in[0], b = in[1];
    bool flags = f->bytes[1] == '1';
    switch (f->does) {
    case COMPARE:
        return compare(m->how, a, b);
    case EQUAL:
        return (a == b) == (m->how == 0);
    case ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b * (uint64_t)m->scale);
    case ADD_TO:
        return (int64_t)((uint64_t)b + (uint64_t)a * (uint64_t)m->scale);
    case MULTIPLY:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case DIVIDE:
        return floored(a, b, false);
    case REMAIN:
        return floored(a, b, true);
    case AND:
        return flags ? a == 1 && b == 1 : a & b;
    case OR:
        return flags ? a == 1 || b == 1 : a | b;
    case NOT:
        return a == 0;
    case FILL:
        return b == 1 ? m->scalar : a;
    case CHOOSE:
        return a == 1 ? b : in[2];
    default:
        return a;
    }
}

static struct members members_of(const struct work *w)
{
    struct members m = {.scale = 1};
    if (w->f->how >= 0)
        memcpy(&m.how, w->functor + w->f->how, sizeof m.how);
    if (w->f->scalar >= 0)
        memcpy(&m.scalar, w->functor + w->f->scalar, sizeof m.scalar);
    if (w->f->scale >= 0)
        memcpy(&m.scale, w->functor + w->f->scale, sizeof m.scale);
    return m;
}

static int64_t value_at(const struct work *w, uint32_t k, size_t at)
{
    const char *from = w->at[k] + at;
    int64_t value = 0;
    if (w->type[k] >= 0)
        return vg_integer_at(from, w->type[k]);
    memcpy(&value, from, w->bytes[k]); /* little-endian, like the device */
    return value;
}

/* Goes through the elements, by the offsets of a calculator or one behind another. */
static void each_element(const struct work *w, const struct members *m)
{
    struct vg_stretch within[MOST_OPERANDS] = {{0, 0}};
    for (uint32_t k = 0; k < w->operands; k++)
        within[k] = vg_stretch_of(w->at[k]);
    for (uint32_t k = 0; k < w->operands && !w->offsets; k++)
        if (!vg_within(within[k], w->at[k], w->n * w->bytes[k]))
            return;
    for (uint32_t i = 0; i < w->n; i++) {
        size_t at[MOST_OPERANDS] = {0};
        int64_t in[MOST_OPERANDS - 1] = {0, m->scalar, 0};
        for (uint32_t k = 0; k < w->operands && !w->offsets; k++)
            at[k] = i * w->bytes[k];
        if (w->offsets && !offsets_of(w, within, i, at))
            return;
        for (uint32_t k = 1; k < w->operands; k++)
            in[k - 1] = value_at(w, k, at[k]);
        int64_t value = result(w->f, m, in);
        memcpy(w->at[0] + at[0], &value, w->bytes[0]);
    }
}

void vg_elements(const char *name, void *const *args)
{
    struct work w;
    if (!read_work(&w, name, args))
        return;
    struct members m = members_of(&w);
    each_element(&w, &m);
}
