/* Integers of 8 bytes and flags, one by one: compared, added, multiplied, combined, copied. */
#include "reference_workloads/vgpu/code/cast.h"
#include "reference_workloads/vgpu/code/integers.h"

#include <string.h>

enum { MOST_OPERANDS = 3 };

enum does { COMPARE, EQUAL, ADD, ADD_TO, MULTIPLY, AND, OR, NOT, COPY };

/* How a functor is told, and what it holds: which comparison, a scalar. */
static const struct functor {
    const char *name, *also; /* parts of the kernel's name */
    enum does does;
    unsigned char operands, bytes;  /* with the result; of an input's element */
    signed char how, scalar, scale; /* where its members lie, in bytes; -1: none */
} functors[] = {
    {"21compare_scalar_kernelIlE", "", COMPARE, 2, 8, 0, 8, -1},
    {"14CompareFunctorIlE", "", COMPARE, 3, 8, 0, -1, -1},
    {"16CompareEqFunctorIlE", "13AUnaryFunctorIllb", EQUAL, 2, 8, 0, 8, -1},
    {"16CompareEqFunctorIlE", "13BUnaryFunctorIllb", EQUAL, 2, 8, 0, 8, -1},
    {"16CompareEqFunctorIlE", "13BinaryFunctorIllb", EQUAL, 3, 8, 0, -1, -1},
    {"21CUDAFunctorOnSelf_addIlE", "", ADD, 2, 8, -1, 0, 8},
    {"22CUDAFunctorOnOther_addIlE", "", ADD_TO, 2, 8, -1, 0, 8},
    {"15CUDAFunctor_addIlE", "", ADD, 3, 8, -1, -1, 0},
    {"10MulFunctorIlE", "13AUnaryFunctorIlll", MULTIPLY, 2, 8, -1, 8, -1},
    {"10MulFunctorIlE", "13BUnaryFunctorIlll", MULTIPLY, 2, 8, -1, 8, -1},
    {"10MulFunctorIlE", "13BinaryFunctorIlll", MULTIPLY, 3, 8, -1, -1, -1},
    {"17BitwiseAndFunctorIbE", "13BinaryFunctorIbbb", AND, 3, 1, -1, -1, -1},
    {"10MulFunctorIbE", "13BinaryFunctorIbbb", AND, 3, 1, -1, -1, -1},
    {"23logical_and_kernel_cuda", "13BinaryFunctorIbbb", AND, 3, 1, -1, -1, -1},
    {"16BitwiseOrFunctorIbE", "13BinaryFunctorIbbb", OR, 3, 1, -1, -1, -1},
    {"22logical_or_kernel_cuda", "13BinaryFunctorIbbb", OR, 3, 1, -1, -1, -1},
    {"23bitwise_not_kernel_cuda", "EUlbE_", NOT, 2, 1, -1, -1, -1},
    {"23logical_not_kernel_cuda", "EUlbE_", NOT, 2, 1, -1, -1, -1},
    {"23direct_copy_kernel_cuda", "EUllE_", COPY, 2, 8, -1, -1, -1},
    {"23direct_copy_kernel_cuda", "EUlbE_", COPY, 2, 1, -1, -1, -1},
};

/* One element behind the other. */
static bool in_vectors(const char *name)
{
    return strstr(name, "2at6native29vectorized_elementwise_kernel") ||
           (strstr(name, "2at6native27unrolled_elementwise_kernel") &&
            strstr(name, "15LoadWithoutCast"));
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
    uint32_t n;
    const char *functor; /* its members */
    char *at[MOST_OPERANDS];
    const char *offsets; /* OffsetCalculator, in bytes; NULL: one element behind the other */
};

/* Arguments: how many, the functor, the addresses; or how many, and a calculator of offsets, the
 * addresses and the functor in one. */
static bool read_work(struct work *w, const char *name, void *const *args)
{
    int32_t n;
    w->f = functor_of(name);
    if (!w->f || !args[1])
        return false;
    memcpy(&n, args[0], sizeof n);
    w->n = (uint32_t)n;
    size_t addresses = w->f->operands * sizeof *w->at, dims = 4 + 25 * 12,
           calculator = (dims + 25 * 4 * (size_t)w->f->operands + 7) / 8 * 8;
    if (in_vectors(name)) {
        if (!args[2])
            return false;
        w->functor = args[1];
        w->offsets = NULL;
        memcpy(w->at, args[2], addresses);
    } else {
        w->offsets = args[1];
        memcpy(w->at, w->offsets + calculator, addresses);
        w->functor = w->offsets + calculator + addresses;
    }
    return n > 0 && n <= VG_MOST_INTEGERS;
}

static void offsets_of(const struct work *w, uint32_t i, size_t at[MOST_OPERANDS])
{
    uint32_t dims, size, stride, operands = w->f->operands;
    memcpy(&dims, w->offsets, sizeof dims);
    memset(at, 0, MOST_OPERANDS * sizeof *at);
    for (uint32_t d = 0; d < dims && d < 25; d++) {
        memcpy(&size, w->offsets + 4 + d * 12, sizeof size);
        if (size == 0)
            return;
        for (uint32_t k = 0; k < operands; k++) {
            memcpy(&stride, w->offsets + 4 + 25 * 12 + (d * operands + k) * 4, sizeof stride);
            at[k] += (size_t)(i % size) * stride;
        }
        i /= size;
    }
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

struct members {
    int how;
    int64_t scalar, scale;
};

static int64_t result(const struct functor *f, const struct members *m, int64_t a, int64_t b)
{
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
    case AND:
        return a == 1 && b == 1; /* another byte is what lay there before */
    case OR:
        return a == 1 || b == 1;
    case NOT:
        return a == 0;
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

static int64_t value_at(const char *at, size_t bytes)
{
    int64_t value;
    if (bytes == 1)
        return (unsigned char)*at;
    memcpy(&value, at, sizeof value);
    return value;
}

/* By the offsets of a calculator, or one behind the other. */
static void each_element(const struct work *w, const struct members *m)
{
    const struct functor *f = w->f;
    bool only_check = w->n == 1 && f->does == AND; /* two checks of one value: both hold */
    size_t in = f->bytes, out = f->does == COMPARE || f->does == EQUAL ? 1 : in;
    size_t bytes[MOST_OPERANDS] = {out, in, in};
    struct vg_stretch within[MOST_OPERANDS] = {{0, 0}};
    for (int k = 0; k < f->operands; k++)
        within[k] = vg_stretch_of(w->at[k]);
    for (uint32_t i = 0; i < w->n; i++) {
        size_t at[MOST_OPERANDS] = {i * out, i * in, i * in};
        if (w->offsets)
            offsets_of(w, i, at);
        for (int k = 0; k < f->operands; k++)
            if (!vg_within(within[k], w->at[k] + at[k], bytes[k]))
                return;
        int64_t a = value_at(w->at[1] + at[1], in);
        int64_t b = f->operands == 3 ? value_at(w->at[2] + at[2], in) : m->scalar;
        int64_t value = only_check ? 1 : result(f, m, a, b);
        char *to = w->at[0] + at[0];
        if (out == 1)
            *to = (char)value;
        else
            memcpy(to, &value, sizeof value);
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
