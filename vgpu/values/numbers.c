/* Numbers that PyTorch's kernels generate: arange(), range(), linspace() and logspace() of every
 * type, and uniform and normal draws. Programs read back positions, schedules and first weights, or
 * print them. */
#include "core/core_state.h"
#include "values/cast.h"
#include "values/integers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_DRAWN = 1024 /* the host needs 40 ns for each */ };
enum type { U8, I8, I32, I64, I16, F64, F32, C64, C32, F16, B16, TYPES };

static const size_t bytes_of[TYPES] = {1, 1, 4, 8, 2, 8, 4, 16, 8, 2, 2};

enum vg_integers vg_numbers_of(const char *name)
{
    return strstr(name, "17_RangeFactories_cu") && strstr(name, "29elementwise_kernel_with_indexI")
               ? VG_RANGE
           : strstr(name, "43distribution_elementwise_grid_stride_kernel") &&
                   (strstr(name, "14uniform_kernel") || strstr(name, "13normal_kernel"))
               ? VG_DRAW_NUMBERS
               : VG_NO_INTEGERS;
}

/* The number of the next lambda in a mangled name; -1: there is none. The cases of a dispatch are
 * numbered _, 0_, 1_ ... */
static int lambda(const char **at)
{
    int n = -1;
    *at = *at ? strstr(*at, "NKUlvE") : NULL;
    if (!*at)
        return -1;
    *at += strlen("NKUlvE");
    return **at == '_' ? 0 : sscanf(*at, "%d_", &n) == 1 ? n + 1 : -1;
}

/* The type of the elements. Some kernels dispatch integers and other types separately, others
 * dispatch all types together. */
static enum type type_of(const char *name, const char *function)
{
    static const enum type all[] = {U8, I8, I32, I64, I16, F64, F32, F16, B16},
                           reals[] = {F64, F32, C64, C32, F16, B16};
    const char *at = strstr(name, function);
    int outer = lambda(&at), inner = lambda(&at);
    if (outer == 0 && inner >= 0 && inner < (int)(sizeof all / sizeof *all))
        return all[inner];
    bool real = outer == 1 && inner >= 0 && inner < (int)(sizeof reals / sizeof *reals);
    return real ? reals[inner] : TYPES;
}

static double get(enum type t, const char *at)
{
    union {
        uint8_t u8;
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        _Float16 f16;
        float f32;
        double f64;
        uint32_t bits;
    } v = {.i64 = 0};
    memcpy(&v, at, bytes_of[t]);
    switch (t) {
    case U8:
        return v.u8;
    case I8:
        return v.i8;
    case I16:
        return v.i16;
    case I32:
        return v.i32;
    case I64:
        return (double)v.i64;
    case F64:
        return v.f64;
    case F16:
        return (double)v.f16;
    case B16:
        v.bits <<= 16;
        return (double)v.f32;
    default:
        return (double)v.f32;
    }
}

static void put(enum type t, char *at, double value)
{
    int64_t whole = (int64_t)value;
    float single = (float)value;
    uint32_t bits;
    uint16_t brain;
    _Float16 half = (_Float16)value;
    if (t == F64 || t == F32) {
        memcpy(at, t == F64 ? (const void *)&value : (const void *)&single, bytes_of[t]);
    } else if (t == F16) {
        memcpy(at, &half, sizeof half);
    } else if (t == B16) { /* rounded to the nearest, ties to even */
        memcpy(&bits, &single, sizeof bits);
        brain = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        memcpy(at, &brain, sizeof brain);
    } else {
        memcpy(at, &whole, bytes_of[t]); /* little-endian, like the device */
    }
}

static const char *aligned(const char *at, const char *from, size_t bytes)
{
    return at + (bytes - (size_t)(at - from) % bytes) % bytes;
}

/* The kernel's function holds start and end, logspace's base, the number of steps, a step, and half
 * of the steps; from there on it counts back from the end. */
static void spaced(enum type t, bool log, const char *f, char *to, int32_t n)
{
    size_t each = bytes_of[t];
    double start = get(t, f), end = get(t, f + each), base = 0;
    const char *at = f + 2 * each;
    if (log) {
        enum type of_base = t >= F64 ? t : F32;
        at = aligned(at, f, bytes_of[of_base]);
        base = get(of_base, at);
        at += bytes_of[of_base];
    }
    at = aligned(at, f, 8);
    double steps = get(I64, at), step = get(t >= F64 ? t : F32, at + 8);
    for (int32_t i = 0; i < n; i++) {
        double v = i < (int32_t)steps / 2 ? start + step * i : end - step * (steps - i - 1);
        put(t, to + (size_t)i * each, log ? pow(base, v) : v);
    }
}

/* The kernel's function holds start and step, in the type in which the device adds. */
static void even(enum type t, const char *f, char *to, int32_t n)
{
    enum type sums = t < F64 ? I64 : t == F64 ? F64 : F32;
    double start = get(sums, f), step = get(sums, f + bytes_of[sums]);
    int64_t whole[2];
    for (int32_t i = 0; sums != I64 && i < n; i++)
        put(t, to + (size_t)i * bytes_of[t], start + step * i);
    if (sums != I64)
        return;
    memcpy(whole, f, sizeof whole);
    for (uint64_t i = 0; i < (uint64_t)n; i++) {
        uint64_t v = (uint64_t)whole[0] + (uint64_t)whole[1] * i;
        memcpy(to + i * bytes_of[t], &v, bytes_of[t]);
    }
}

/* Arguments: the count, the function, the address. */
void vg_range(const char *name, void *const *args)
{
    static const char *const functions[] = {"15arange_cuda_out", "14range_cuda_out",
                                            "17linspace_cuda_out", "17logspace_cuda_out"};
    int32_t n;
    char *to;
    size_t which = 0;
    while (which < 4 && !strstr(name, functions[which]))
        which++;
    enum type t = which < 4 ? type_of(name, functions[which]) : TYPES;
    if (t == TYPES || t == C64 || t == C32 || !args[1] || !args[2])
        return;
    memcpy(&n, args[0], sizeof n);
    memcpy(&to, args[2], sizeof to);
    if (n <= 0 || n > VG_MOST_INTEGERS ||
        !vg_within(vg_stretch_of(to), to, (size_t)n * bytes_of[t]))
        return;
    if (which < 2)
        even(t, args[1], to, n);
    else
        spaced(t, which == 3, args[1], to, n);
}

/* Arguments: the count, the generator's state, a function, and an object with the address, the
 * stride, and the width and start of the range (in the tensor's type) or the mean and the
 * deviation. */
void vg_draw_numbers(const char *name, void *const *args)
{
    static const struct {
        const char *first; /* its template argument */
        enum type t;
    } types[] = {{"f", F32}, {"d", F64}, {"N3c108BFloat16E", B16}, {"N3c104HalfE", F16}};
    bool normal = strstr(name, "13normal_kernel") != NULL;
    const char *function = normal ? "20normal_and_transformI" : "21uniform_and_transformI";
    const char *at = strstr(name, function);
    enum type t = TYPES;
    for (size_t i = 0; at && i < sizeof types / sizeof *types; i++)
        if (strncmp(at + strlen(function), types[i].first, strlen(types[i].first)) == 0)
            t = types[i].t;
    if (t == TYPES || !args[1] || !args[2] || !args[3])
        return;
    enum type of = t == F64 ? F64 : F32;
    int32_t n, stride;
    char *to;
    memcpy(&n, args[0], sizeof n);
    memcpy(&to, args[3], sizeof to);
    memcpy(&stride, (const char *)args[3] + 8, sizeof stride);
    const char *more = (const char *)args[3] + (of == F64 ? 16 : 12);
    double a = get(of, more), b = get(normal ? of : t, more + bytes_of[of]);
    if (n <= 0 || n > MOST_DRAWN || stride != (int32_t)bytes_of[t] ||
        !vg_within(vg_stretch_of(to), to, (size_t)n * bytes_of[t]))
        return;
    for (size_t i = 0; i < (size_t)n; i++) {
        double u = ((double)(vg_drawn() >> 11) + 0.5) * 0x1p-53;
        double turn = normal ? cos(6.283185307179586 * (double)(vg_drawn() >> 11) * 0x1p-53) : 0;
        put(t, to + i * bytes_of[t], normal ? a + b * sqrt(-2 * log(u)) * turn : b + a * u);
    }
}
