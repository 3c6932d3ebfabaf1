#include "base/size.h"

#include <ctype.h>
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

const char *time_words(char *out, size_t size, int64_t ns)
{
    double ms = (double)ns / 1e6;
    int decimals = ms < 0.9995 ? 3 : ms < 9.995 ? 2 : ms < 99.95 ? 1 : 0;
    if (ns != 0 && ns > -9995 && ns < 9995) /* no "0.00 ms" of what is there */
        snprintf(out, size, "%.1f us", (double)ns / 1e3);
    else if (ms < 9999.5)
        snprintf(out, size, "%.*f ms", ns != 0 ? decimals : 2, ms);
    else
        snprintf(out, size, "%.1f s", ms / 1e3);
    return out;
}
