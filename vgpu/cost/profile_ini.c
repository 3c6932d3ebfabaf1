/* Reads lines of the virtual GPU's data files (ini.h). It knows no keys, and refuses lines without
 * a provenance or a source. */
#include "cost/ini.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int ini_fault(const struct ini *in, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    snprintf(in->why, in->why_size, "%s:%d: %s", in->path, in->line, text);
    return -1;
}

int ini_open(struct ini *in, const char *path, char *why, size_t n)
{
    *in = (struct ini){.path = path, .why = why, .why_size = n};
    in->file = fopen(path, "re");
    if (in->file)
        return 0;
    snprintf(why, n, "%s: %s", path, strerror(errno));
    return -1;
}

void ini_close(struct ini *in)
{
    fclose(in->file);
}

static char *trim(char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    char *end = s + strlen(s);
    while (end > s && isspace((unsigned char)end[-1]))
        end--;
    *end = '\0';
    return s;
}

static int read_provenance(struct ini *in, char *note)
{
    static const char *const words[] = {"guess", "datasheet", "trace", "measured"};
    char *comma = strchr(note, ',');
    if (!comma || !*trim(comma + 1))
        return ini_fault(in, "%s has no source: `; provenance, source` is missing", in->key);
    *comma = '\0';
    char *word = trim(note);
    in->source = trim(comma + 1);
    for (int i = 0; i <= VG_MEASURED; i++)
        if (strcmp(word, words[i]) == 0) {
            in->provenance = (enum vg_provenance)i;
            return 0;
        }
    return ini_fault(in, "`%s` is not one of measured, trace, datasheet, guess", word);
}

static int split(struct ini *in, char *line)
{
    char *equals = strchr(line, '='), *semicolon = strchr(line, ';');
    if (!equals || !semicolon || semicolon < equals)
        return ini_fault(in, "not `key = value unit ; provenance, source`");
    *equals = *semicolon = '\0';
    in->key = trim(line);
    in->value = trim(equals + 1);
    return read_provenance(in, semicolon + 1) < 0 ? -1 : 1;
}

int ini_next(struct ini *in)
{
    while (fgets(in->text, sizeof in->text, in->file)) {
        in->line++;
        if (!strchr(in->text, '\n') && !feof(in->file))
            return ini_fault(in, "line is longer than %zu bytes", sizeof in->text - 2);
        char *line = trim(in->text);
        if (*line && *line != '#')
            return split(in, line);
    }
    return ferror(in->file) ? ini_fault(in, "%s", strerror(errno)) : 0;
}

int ini_number(const char *text, double *value, char *unit, size_t unit_size)
{
    char *end;
    *value = strtod(text, &end);
    if (end == text || !isfinite(*value) || !isspace((unsigned char)*end))
        return -1;
    while (isspace((unsigned char)*end))
        end++;
    size_t n = strcspn(end, " \t");
    if (n == 0 || n >= unit_size || end[n])
        return -1;
    memcpy(unit, end, n);
    unit[n] = '\0';
    return 0;
}
