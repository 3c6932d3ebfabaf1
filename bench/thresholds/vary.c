/* The analyzer's thresholds as variables, for builds with GPUPROF_VARY. The environment variable
 * GPUPROF_VARY="NAME=FACTOR NAME=FACTOR" multiplies their values when the program starts. Whole
 * numbers are rounded away from the old value. A share that would reach 1 instead goes the same
 * fraction of the way to 1: a fifth more than 0.9 is 0.92. */
#include "base/limit.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef LIMIT_INT
#undef LIMIT_REAL
#undef LIMIT_SPAN
#undef LIMIT_RANGE
#define LIMIT_INT(name, value, unit, source)      int name = (value);
#define LIMIT_REAL(name, value, unit, source)     double name = (value);
#define LIMIT_SPAN(name, good, bad, unit, source) struct limit_span name = {good, bad};
#define LIMIT_RANGE(name, good, likely, bad, unit, source)                                         \
    struct limit_range name = {good, likely, bad};
#include "limits_all.h"
#undef LIMIT_INT
#undef LIMIT_REAL
#undef LIMIT_SPAN
#undef LIMIT_RANGE

struct row {
    const char *name;
    int *whole;
    double *real;
    size_t reals; /* 1, or the number of values of a range */
};

#define LIMIT_INT(name, value, unit, source)                 {#name, &name, NULL, 0},
#define LIMIT_REAL(name, value, unit, source)                {#name, NULL, &name, 1},
#define LIMIT_SPAN(name, first, last, unit, source)          {#name, NULL, &name.good, 2},
#define LIMIT_RANGE(name, first, middle, last, unit, source) {#name, NULL, &name.good, 3},
static const struct row rows[] = {
#include "limits_all.h"
};

static void scale(const struct row *r, double factor)
{
    if (r->whole) {
        double to = *r->whole * factor;
        *r->whole = (int)fmin(factor > 1 ? ceil(to) : floor(to), INT_MAX);
        return;
    }
    for (size_t i = 0; i < r->reals; i++) {
        double from = r->real[i], to = from * factor;
        r->real[i] = from < 1 && to >= 1 ? from + (factor - 1) * (1 - from) : to;
    }
}

static void refuse(const char *what)
{
    fprintf(stderr, "GPUPROF_VARY: no threshold and factor: %s\n", what);
    exit(2);
}

/* Before main(): constants do not change while the program runs. */
__attribute__((constructor)) static void vary(void)
{
    const char *given = getenv("GPUPROF_VARY");
    char name[128];
    double factor;
    int used;
    for (; given && *given; given += used + strspn(given + used, " ")) {
        size_t i = 0, n = sizeof rows / sizeof *rows;
        if (sscanf(given, "%127[A-Z0-9_]=%lf%n", name, &factor, &used) != 2)
            refuse(given);
        while (i < n && strcmp(rows[i].name, name) != 0)
            i++;
        if (i == n)
            refuse(given);
        scale(&rows[i], factor);
    }
}
