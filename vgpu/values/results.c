/* What PyTorch's kernels leave in memory where programs read it back and branch on it. The
 * virtual GPU computes nothing; but a result that is never written reads as what its memory held
 * before, which may not be a valid index, count or flag. So these results are written:
 *
 *   zeros(), full(), fill_()   the value
 *   all()                      true: checks of values pass, loops that wait for all end
 *   sum, max, min of integers  computed, if the input holds numbers that may be lengths or counts
 *   other reductions           0 (sums, means, any(), argmax(), the values and indices of max())
 *   integers and masks         computed (integers.h): compared, added, selected, joined
 *   ranges, uniform and normal draws
 *                              the range, or possible draws (numbers.c)
 *   checks of one value        true for x == x, x != inf, x >= a, x > 0, x < a > 0, x <= y, as
 *                              isfinite() and constraints of distributions ask; false for x != x,
 *                              x == inf and x < 0
 *   other counts by CUB        0, 1 of unique()
 *   functions of one number    0: roots and powers, as at the end of a norm (one.h)
 *   a few values cast          the values: any() and all() of one number are such a cast
 *
 * Only small results are written; copies have the same limit. */
#include "values/results.h"

#include "core/core_state.h"
#include "values/cast.h"
#include "values/integers.h"
#include "values/one.h"
#include "values/reduce.h"

#include <stdatomic.h>
#include <string.h>

enum writes {
    NOTHING,
    A_VALUE,
    ZEROS,
    ONES,
    A_COUNT,
    A_SET /* at least one is unique */,
    ONE,
    A_CAST,
    INTEGERS
};
struct vg_results {
    enum writes what;
    unsigned char bytes; /* per element */
    /* For a count: the argument with its address; for integers and single values: which
     * (integers.h, one.h) */
    unsigned char place;
};

/* Bytes of the mangled type at the start of `at`, which `next` must follow; 0: another type. */
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

/* Result type of reduce_kernel<THREADS, WIDTH, ReduceOp<IN, OPS, unsigned, OUT, 4, 4>>, in bytes. A
 * 16-bit type that was named before, as IN, is written as a number: S4_. */
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

/* Bytes of the integer or number type behind `part`; 0: another type. */
static unsigned char named_behind(const char *name, const char *part)
{
    const char *at = strstr(name, part);
    unsigned char bytes = at ? type_size(at + strlen(part), "") : 0;
    return bytes >= 4 ? bytes : 0;
}

/* CUB's kernels that leave a count in one place. A first kernel of select and of reduce-by-key sets
 * the count to 0, and their last one sets it to what was found. */
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

static const struct vg_results ones[VG_ONES] = {[VG_COMPARED] = {ONE, 0, VG_COMPARED},
                                                [VG_BOUNDED] = {ONE, 0, VG_BOUNDED},
                                                [VG_NUMBER] = {ONE, 0, VG_NUMBER},
                                                [VG_WIDE_NUMBER] = {ONE, 0, VG_WIDE_NUMBER}};

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
        [VG_DRAW_NUMBERS] = {INTEGERS, 0, VG_DRAW_NUMBERS},
        [VG_PERMUTE] = {INTEGERS, 0, VG_PERMUTE},
        [VG_TOP_K] = {INTEGERS, 0, VG_TOP_K},
    };
    if (vg_casts(name))
        return &cast;
    if (vg_integers_of(name))
        return &integers[vg_integers_of(name)];
    const struct vg_results *count = counts(name);
    unsigned char bytes = fills(name);
    if (count || vg_one_of(name))
        return count ? count : &ones[vg_one_of(name)];
    if (bytes)
        return &of[A_VALUE][bytes];
    bytes = reduces(name);
    if (!bytes)
        return &of[NOTHING][0];
    return &of[strstr(name, "and_kernel_cuda") ? ONES : ZEROS][bytes];
}

/* Arguments: the count, the value, the address. */
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
    else if (r->what == ONE)
        vg_one_write(r->place, name, args);
    else if (r->what == A_COUNT || r->what == A_SET)
        put_count(r, args);
    else if (r->what == A_CAST)
        vg_cast(name, args);
    else if (r->what == INTEGERS)
        vg_integers_write(r->place, name, args, grid);
    else
        vg_reduce(name, r->what == ONES, r->bytes, args[0]);
}
