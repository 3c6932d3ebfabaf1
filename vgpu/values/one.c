/* Results for single numbers. all() of one value is a copy of it, so the comparison before it must
 * write its result; the answer is that for an ordinary positive number. A function of one number
 * (the root at the end of a norm) gives 0. */
#include "values/one.h"

#include "values/cast.h"

#include <math.h>
#include <string.h>

enum number { NO_NUMBER, SINGLE, WIDE, BRAIN, HALF };

/* The type in the template argument behind `part`. */
static enum number number_of(const char *name, const char *part)
{
    static const char *const types[] = {
        [SINGLE] = "f", [WIDE] = "d", [BRAIN] = "N3c108BFloat16E", [HALF] = "N3c104HalfE"};
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
    double wide;
    if (type == WIDE) {
        memcpy(&wide, from, sizeof wide);
        return wide;
    }
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

/* The kind of a function that turns a number into one of the same type. */
static enum vg_one function_of(const char *name)
{
    static const char *const others[] = {"converting_copy", "logical_not", "signbit",
                                         "isposinf",        "isneginf",    "compare_scalar"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(name, others[i]))
            return VG_NOT_ONE;
    if (!strstr(name, "2at6native29vectorized_elementwise_kernel"))
        return VG_NOT_ONE;
    if (strstr(name, "EUlfE_St5arrayIPcLm2E"))
        return VG_NUMBER;
    return strstr(name, "EUldE_St5arrayIPcLm2E") ? VG_WIDE_NUMBER : VG_NOT_ONE;
}

enum vg_one vg_one_of(const char *name)
{
    const char *at = strstr(name, "2at6native29vectorized_elementwise_kernel");
    if (at && strstr(at, "16CompareEqFunctorI") && !strstr(at, "BUnaryFunctor"))
        return VG_COMPARED;
    if (at && (number_of(at, "21compare_scalar_kernelI") || number_of(at, "14CompareFunctorI")))
        return VG_BOUNDED;
    return function_of(name);
}

/* The answer of a check for an ordinary positive number; -1: unknown. */
static int check_of(const char *name, enum vg_one what, const char *functor, bool with_itself)
{
    enum { EQUAL };
    enum { AT_LEAST, GREATER, AT_MOST };
    int32_t how;
    memcpy(&how, functor, sizeof how);
    if (with_itself)
        return how == EQUAL;
    enum number type =
        number_of(name, what == VG_COMPARED ? "13AUnaryFunctorI" : "21compare_scalar_kernelI");
    double with =
        type ? number_at(functor + (type == WIDE ? sizeof(double) : sizeof how), type) : NAN;
    if (what == VG_COMPARED)
        return isinf(with) ? how != EQUAL : -1;
    if (how == AT_LEAST || (!type && how == AT_MOST))
        return 1;
    if (!type)
        return -1;
    return how == GREATER ? (with == 0 ? 1 : -1) : with > 0;
}

/* Arguments: the count, the functor, the addresses of the result and of what is compared. */
static void put_check(const char *name, enum vg_one what, void *const *args)
{
    int32_t n;
    char *at[3];
    bool two = strstr(name, "13BinaryFunctorI") != NULL;
    if (!args[1] || !args[2])
        return;
    memcpy(&n, args[0], sizeof n);
    memcpy(at, args[2], (two ? 3 : 1) * sizeof *at);
    bool with_itself = what == VG_COMPARED && two;
    if (n != 1 || !vg_writable(at[0]) || (with_itself && at[1] != at[2]))
        return;
    int is = check_of(name, what, args[1], with_itself);
    if (is >= 0)
        *at[0] = (char)is;
}

/* Arguments: the count, the functor, the addresses of the result and of the number. A number that
 * is changed in place keeps its value. */
static void put_number(size_t bytes, void *const *args)
{
    int32_t n;
    char *at[2];
    if (!args[1] || !args[2])
        return;
    memcpy(&n, args[0], sizeof n);
    memcpy(at, args[2], sizeof at);
    if (n == 1 && at[0] != at[1] && vg_small(at[0], bytes))
        memset(at[0], 0, bytes);
}

void vg_one_write(enum vg_one what, const char *name, void *const *args)
{
    if (what == VG_COMPARED || what == VG_BOUNDED)
        put_check(name, what, args);
    else
        put_number(what == VG_NUMBER ? 4 : 8, args);
}
