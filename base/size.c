/* Writes sizes and times for people, by one rule for all outputs, and reads sizes. */
#include "base/size.h"

#include "base/arena.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int size_parse(const char *text, int64_t *bytes, struct err *e)
{
    static const char units[] = "KMGT";
    char *end;
    double value = strtod(text, &end);
    const char *unit = *end && end > text ? strchr(units, toupper((unsigned char)*end)) : NULL;
    for (const char *u = units; unit && u <= unit; u++)
        value *= 1024;
    end += unit != NULL;
    if (end == text || (*end && strcasecmp(end, "B") != 0 && strcasecmp(end, "iB") != 0) ||
        !(value >= 0 && value < 1e18))
        return err_set(e, "expected a size such as 500M or 4G, not '%s'", text);
    *bytes = (int64_t)value;
    return 0;
}

/* What would round to 0.000 gets two decimals: the value is zero, or close to it. */
int three_figures(double v)
{
    v = fabs(v);
    return v >= 99.95 ? 0 : v >= 9.995 ? 1 : v >= 0.9995 || v < 0.0005 ? 2 : 3;
}

static const char *with_unit(char *out, size_t size, double v, const char *unit)
{
    snprintf(out, size, "%.*f %s", three_figures(v), v, unit);
    return out;
}

const char *time_words(char *out, size_t size, int64_t ns)
{
    double v = (double)ns, all = fabs(v);
    if (ns != 0 && all < 9995) /* below 10 us: would read as "0.00 ms" */
        snprintf(out, size, "%.1f us", v / 1e3);
    else if (all < 9999.5e6)
        with_unit(out, size, v / 1e6, "ms");
    else
        with_unit(out, size, v / 1e9, "s");
    return out;
}

const char *length_words(char *out, size_t size, int64_t ns)
{
    double v = (double)ns, all = fabs(v);
    if (all < 1e3)
        snprintf(out, size, "%" PRId64 " ns", ns);
    else if (all < 999.5e3)
        with_unit(out, size, v / 1e3, "us");
    else if (all < 999.5e6)
        with_unit(out, size, v / 1e6, "ms");
    else
        with_unit(out, size, v / 1e9, "s");
    return out;
}

const char *time_text(struct arena *arena, int64_t ns)
{
    char text[32];
    return arena_printf(arena, "%s", time_words(text, sizeof text, ns));
}
