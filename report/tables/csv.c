/* Writes rows of a CSV file so that no spreadsheet evaluates them (csv.h). */
#include "report/tables/csv.h"

#include "report/chars.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void next(struct csv *c)
{
    if (c->inside)
        fputc(',', c->f);
    c->inside = true;
}

void csv_text(struct csv *c, const char *s)
{
    size_t n = s ? strlen(s) : 0, length;
    next(c);
    if (n == 0)
        return;
    fputc('"', c->f);
    if (strchr("=+-@", *s))
        fputc('\'', c->f);
    for (size_t i = 0; i < n; i += length) {
        uint32_t code;
        length = utf8_next(s + i, n - i, &code);
        bool acts = char_acts(code) || (code == '#' && text_commands(s + i, n - i));
        if (acts || code == 0xfffd)
            fputs("\xef\xbf\xbd", c->f);
        else
            fwrite(s + i, 1, length, c->f);
        if (code == '"')
            fputc('"', c->f);
    }
    fputc('"', c->f);
}

void csv_int(struct csv *c, int64_t v)
{
    next(c);
    fprintf(c->f, "%" PRId64, v);
}

void csv_count(struct csv *c, int64_t v)
{
    if (v >= 0)
        csv_int(c, v);
    else
        next(c);
}

void csv_number(struct csv *c, double v, int decimals)
{
    next(c);
    if (isfinite(v))
        fprintf(c->f, "%.*f", decimals, v);
}

void csv_ms(struct csv *c, int64_t ns)
{
    csv_number(c, (double)ns / 1e6, 6);
}

void csv_end(struct csv *c)
{
    fputc('\n', c->f);
    c->inside = false;
}
