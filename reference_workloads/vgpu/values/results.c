/* What PyTorch's kernels leave in memory where programs read it back and branch on it. Kernels
 * compute nothing; but a value that they do not write reads as what its memory held before, and
 * that may be no index, no count and no flag:
 *
 *   zeros(), full(), fill_()   the value
 *   all()                      true: checks of values pass, loops that wait for all end
 *   sum, max, min of integers  theirs, if the input's memory holds what lengths and counts may be
 *   other reductions           0 (sums, means, any(), argmax(), the values and indices of max())
 *   integers and masks         what they are (integers.h): compared, added, selected, indexed,
 * joined checks of one value        true for x == x, x != inf, x >= a, x > 0, x < a > 0, x <= y, as
 *                              isfinite() and constraints of distributions ask; false for x != x
 *                              and x == inf
 *   other counts by CUB        0, 1 of unique()
 *   a few values cast          the values: any() and all() of one number are such a cast
 *
 * Only small results, as for copies. */
#include "reference_workloads/vgpu/values/results.h"

#include "reference_workloads/vgpu/core/core_state.h"
#include "reference_workloads/vgpu/values/cast.h"
#include "reference_workloads/vgpu/values/integers.h"
#include "reference_workloads/vgpu/values/reduce.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum writes {
    NOTHING,
    A_VALUE,
    ZEROS,
    ONES,
    A_COUNT,
    A_SET /* at least one is unique */,
    A_CHECK,
    BOUNDED,
    A_CAST,
    INTEGERS
};
struct vg_results {
    enum writes what;
    unsigned char bytes; /* of an element */
    unsigned char place; /* argument that is the count's address; of integers: which (integers.h) */
};

/* A mangled type at the start of `at`, and what follows it; the bytes of the type, 0: another. */
static unsigned char type_size(const char *at, const char *next)
{
    static const struct {
        const char *name;
        unsigned char bytes;
    } types[] = {{"N3c108BFloat16E", 2},
                 {"N3c104HalfE", 2},
                 {"N3c107complexIfEE", 8},
                 {"f", 4},
                 {"i", 4},
                 {"d", 8},
                 {"l", 8},
                 {"m", 8},
                 {"j", 4},
                 {"s", 2},
                 {"a", 1},
                 {"h", 1},
                 {"b", 1}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t n = strlen(types[i].name);
        if (strncmp(at, types[i].name, n) == 0 && strncmp(at + n, next, strlen(next)) == 0)
            return types[i].bytes;
    }
    return 0;
}

static unsigned char fills(const char *name)
{
    static const char functor[] = "11FillFunctorI";
    const char *at = strstr(name, "2at6native29vectorized_elementwise_kernel");
    at = at ? strstr(at, functor) : NULL;
    return at ? type_size(at + strlen(functor), "E") : 0;
}

/* reduce_kernel<THREADS, WIDTH, ReduceOp<IN, OPS, unsigned, OUT, 4, 4>>; a type of 16 bits that has
 * been named before, as IN, is a number: S4_ */
static unsigned char reduces(const char *name)
{
    const char *at = strstr(name, "2at6native13reduce_kernelI"), *in;
    in = at = at ? strstr(at, "8ReduceOpI") : NULL;
    unsigned char bytes = 0;
    while (at && bytes == 0 && (at = strchr(at, 'j'))) {
        bytes = type_size(++at, "Li");
        size_t n = *at == 'S' ? strcspn(at, "_") + 1 : 0;
        if (n > 1 && n <= 4 && strncmp(at + n, "Li", 2) == 0)
            bytes = strncmp(in, "8ReduceOpIN3c107complex", 23) == 0 ? 8 : 2;
    }
    return bytes;
}

/* Of the type that is named behind `part`, in bytes: of an integer or a number; 0: another. */
static unsigned char named_behind(const char *name, const char *part)
{
    const char *at = strstr(name, part);
    unsigned char bytes = at ? type_size(at + strlen(part), "") : 0;
    return bytes >= 4 ? bytes : 0;
}

/* CUB's kernels that leave a count in one place. A first kernel of select and reduce-by-key sets it
 * to 0, and their last one to what was found. */
static const struct vg_results *counts(const char *name)
{
    static const struct vg_results sum[] = {{A_COUNT, 4, 1}, {A_COUNT, 8, 1}},
                                   none[] = {{A_COUNT, 4, 2}, {A_COUNT, 8, 2}},
                                   unique = {A_SET, 1, 3}, runs = {A_SET, 1, 4};
    unsigned char bytes = 0;
    if (!strstr(name, "3cub"))
        return NULL;
    if (strstr(name, "28DeviceReduceSingleTileKernel")) {
        bytes = named_behind(name, "10policy_hubI");
        return bytes ? &sum[bytes == 8] : NULL;
    }
    if (strstr(name, "23DeviceCompactInitKernel")) {
        bytes = named_behind(name, "EEEP");
        return bytes ? &none[bytes == 8] : NULL;
    }
    if (strstr(name, "23DeviceSelectSweepKernel") && strstr(name, "8equal_toI"))
        return &unique;
    return strstr(name, "23DeviceReduceByKeyKernel") ? &runs : NULL;
}

enum number { NO_NUMBER, SINGLE, BRAIN, HALF };

/* The type of numbers that `part` of a name is for. */
static enum number number_of(const char *name, const char *part)
{
    static const char *const types[] = {
        [SINGLE] = "f", [BRAIN] = "N3c108BFloat16E", [HALF] = "N3c104HalfE"};
    const char *at = strstr(name, part);
    for (int i = SINGLE; at && i <= HALF; i++)
        if (strncmp(at + strlen(part), types[i], strlen(types[i])) == 0)
            return (enum number)i;
    return NO_NUMBER;
}

static double number_at(const void *from, enum number type)
{
    uint32_t bits = 0;
    float single;
    memcpy(&bits, from, type == SINGLE ? 4 : 2);
    bits <<= type == SINGLE ? 0 : 16;
    if (type == HALF) {
        int exponent = (int)(bits >> 26 & 31);
        double part = (bits >> 16 & 1023) / 1024.0;
        double value = exponent == 31
                           ? (part > 0 ? NAN : INFINITY)
                           : ldexp(part + (exponent > 0), (exponent ? exponent : 1) - 15);
        return bits >> 31 ? -value : value;
    }
    memcpy(&single, &bits, sizeof single);
    return (double)single;
}

/* all() of one value is a copy of it, so the checks that it would ask for have to write. */
static const struct vg_results *checks(const char *name)
{
    static const struct vg_results compares = {A_CHECK, 1, 2}, bounds = {BOUNDED, 1, 2};
    const char *at = strstr(name, "2at6native29vectorized_elementwise_kernel");
    if (at && strstr(at, "16CompareEqFunctorI") && !strstr(at, "BUnaryFunctor"))
        return &compares;
    bool scalar = at && number_of(at, "21compare_scalar_kernelI"),
         bound = at && number_of(at, "14CompareFunctorI");
    return scalar || bound ? &bounds : NULL;
}

static const struct vg_results *results_of(const char *name)
{
    enum { MOST = 8 };
    static const struct vg_results of[ONES + 1][MOST + 1] = {
#define ROW(what)                                                                                  \
    [what] = {                                                                                     \
        {what, 0, 0},                                                                              \
        {what, 1, 0},                                                                              \
        {what, 2, 0},                                                                              \
        {what, 3, 0},                                                                              \
        {what, 4, 0},                                                                              \
        {what, 5, 0},                                                                              \
        {what, 6, 0},                                                                              \
        {what, 7, 0},                                                                              \
        {what, 8, 0}                                                                               \
    }
        ROW(NOTHING), ROW(A_VALUE), ROW(ZEROS), ROW(ONES)
#undef ROW
    };
    static const struct vg_results cast = {A_CAST, 0, 0};
    static const struct vg_results integers[VG_INTEGERS] = {
        [VG_RANGE] = {INTEGERS, 0, VG_RANGE},
        [VG_RUNNING_SUM] = {INTEGERS, 0, VG_RUNNING_SUM},
        [VG_REPEAT] = {INTEGERS, 0, VG_REPEAT},
        [VG_JOIN] = {INTEGERS, 0, VG_JOIN},
        [VG_SCATTER] = {INTEGERS, 0, VG_SCATTER},
        [VG_INDEX] = {INTEGERS, 0, VG_INDEX},
        [VG_ELEMENTS] = {INTEGERS, 0, VG_ELEMENTS},
        [VG_COUNT_FLAGS] = {INTEGERS, 0, VG_COUNT_FLAGS},
        [VG_SELECT_FLAGS] = {INTEGERS, 0, VG_SELECT_FLAGS},
        [VG_DRAW] = {INTEGERS, 0, VG_DRAW},
        [VG_PERMUTE] = {INTEGERS, 0, VG_PERMUTE},
        [VG_TOP_K] = {INTEGERS, 0, VG_TOP_K},
    };
    if (vg_casts(name))
        return &cast;
    if (vg_integers_of(name))
        return &integers[vg_integers_of(name)];
    const struct vg_results *count = counts(name), *check = checks(name);
    unsigned char bytes = fills(name);
    if (count || check)
        return count ? count : check;
    if (bytes)
        return &of[A_VALUE][bytes];
    bytes = reduces(name);
    if (!bytes)
        return &of[NOTHING][0];
    return &of[strstr(name, "and_kernel_cuda") ? ONES : ZEROS][bytes];
}

/* Arguments: how many, the value, the address. */
static void fill(size_t each, void *const *args)
{
    int32_t n;
    char *to;
    if (!args[1] || !args[2])
        return;
    memcpy(&n, args[0], sizeof n);
    memcpy(&to, args[2], sizeof to);
    if (n <= 0 || (size_t)n * each > vg_core.copy_limit || !vg_writable(to))
        return;
    for (size_t i = 0; i < (size_t)n; i++)
        memcpy(to + i * each, args[1], each);
}

static void put_count(const struct vg_results *r, void *const *args)
{
    char *to;
    for (int i = 0; i <= r->place; i++)
        if (!args[i])
            return;
    memcpy(&to, args[r->place], sizeof to);
    if (!vg_writable(to) || !vg_writable(to + r->bytes - 1))
        return;
    memset(to, 0, r->bytes);
    *to = r->what == A_SET; /* little-endian */
}

/* What a check says of an ordinary positive number; -1: it asks something else. */
static int check_of(const char *name, enum writes what, const char *functor, bool with_itself)
{
    enum { EQUAL };
    enum { AT_LEAST, GREATER, AT_MOST };
    int32_t how;
    memcpy(&how, functor, sizeof how);
    if (with_itself)
        return how == EQUAL;
    enum number type =
        number_of(name, what == A_CHECK ? "13AUnaryFunctorI" : "21compare_scalar_kernelI");
    double with = type ? number_at(functor + sizeof how, type) : NAN;
    if (what == A_CHECK)
        return isinf(with) ? how != EQUAL : -1;
    bool holds = how == AT_LEAST || (!type            ? how == AT_MOST
                                     : how == GREATER ? with == 0
                                                      : with > 0);
    return holds ? 1 : -1;
}

/* Arguments: how many, the functor, the addresses of the result and of what is compared. */
static void put_check(const char *name, enum writes what, void *const *args)
{
    int32_t n;
    char *at[3];
    bool two = strstr(name, "13BinaryFunctorI") != NULL;
    if (!args[1] || !args[2])
        return;
    memcpy(&n, args[0], sizeof n);
    memcpy(at, args[2], (two ? 3 : 1) * sizeof *at);
    bool with_itself = what == A_CHECK && two;
    if (n != 1 || !vg_writable(at[0]) || (with_itself && at[1] != at[2]))
        return;
    int is = check_of(name, what, args[1], with_itself);
    if (is >= 0)
        *at[0] = (char)is;
}

void vg_results_write(_Atomic(const struct vg_results *) *known, const char *name,
                      void *const *args, const unsigned grid[2])
{
    const struct vg_results *r = *known;
    if (!r)
        *known = r = results_of(name);
    if (r->what == NOTHING || !args || !args[0])
        return;
    if (r->what == A_VALUE)
        fill(r->bytes, args);
    else if (r->what == A_CHECK || r->what == BOUNDED)
        put_check(name, r->what, args);
    else if (r->what == A_COUNT || r->what == A_SET)
        put_count(r, args);
    else if (r->what == A_CAST)
        vg_cast(name, args);
    else if (r->what == INTEGERS)
        vg_integers_write(r->place, name, args, grid);
    else
        vg_reduce(name, r->what == ONES, r->bytes, args[0]);
}
