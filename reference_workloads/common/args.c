/* The settings table: parsing, GPUPROF_APPLY and --help all walk the same rows. */
#include "reference_workloads/common/args.h"

#include "reference_workloads/common/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !(strchr("-_", *a) && strchr("-_", *b)))
            return 0;
    return *a == *b;
}

static const struct setting *find(const struct settings *k, const char *name, const char *where)
{
    for (size_t i = 0; i < k->count; i++)
        if (same_name(k->at[i].name, name))
            return &k->at[i];
    die(2, "%s: there is no setting '%s' (--help lists them)", where, name);
}

static void *field(const struct settings *k, const struct setting *row)
{
    return (char *)k->settings + row->offset;
}

/* Index of `value` in "a|b|c", -1 if absent. */
static int choice_index(const char *choices, const char *value)
{
    size_t n = strlen(value);
    int index = 0;
    for (const char *c = choices; *c; index++) {
        size_t span = strcspn(c, "|");
        if (span == n && strncmp(c, value, n) == 0)
            return index;
        c += span + (c[span] == '|');
    }
    return -1;
}

static int to_number(const struct setting *row, const char *value, double *out)
{
    char *end;
    *out = strtod(value, &end);
    if (*value == 0 || *end != 0 || !(*out >= row->min && *out <= row->max))
        return -1;
    return row->kind == SETTING_INT && *out != (double)(long)*out ? -1 : 0;
}

void setting_set(const struct settings *k, const char *name, const char *value, const char *where)
{
    const struct setting *row = find(k, name, where);
    double number;
    int index;
    switch (row->kind) {
    case SETTING_INT:
    case SETTING_FLOAT:
        if (to_number(row, value, &number) < 0)
            die(2, "%s: %s must be %s between %g and %g, not '%s'", where, row->name,
                row->kind == SETTING_INT ? "a whole number" : "a number", row->min, row->max,
                value);
        if (row->kind == SETTING_INT)
            *(int *)field(k, row) = (int)number;
        else
            *(float *)field(k, row) = (float)number;
        return;
    case SETTING_BOOL:
    case SETTING_FLAG:
        index = choice_index("0|1|false|true|False|True|off|on", value);
        if (index < 0)
            die(2, "%s: %s must be 0 or 1, not '%s'", where, row->name, value);
        *(int *)field(k, row) = index % 2;
        return;
    case SETTING_CHOICE:
        index = choice_index(row->choices, value);
        if (index < 0)
            die(2, "%s: %s must be one of %s, not '%s'", where, row->name, row->choices, value);
        *(int *)field(k, row) = index;
        return;
    }
}

/* Takes the blanks off both ends. */
static char *trim(char *s)
{
    static const char blanks[] = " \t";
    s += strspn(s, blanks);
    for (size_t n = strlen(s); n && strchr(blanks, s[n - 1]); n--)
        s[n - 1] = '\0';
    return s;
}

char *settings_next(char **rest, char **value)
{
    for (char *s; (s = strsep(rest, ";,"));) {
        s = trim(s);
        if (!*s)
            continue;
        char *equals = strchr(s, '=');
        *value = NULL;
        if (!equals || equals == s)
            return s;
        *equals = '\0';
        *value = trim(equals + 1);
        return trim(s);
    }
    return NULL;
}

void settings_apply(const struct settings *k, const char *text, const char *where)
{
    char *copy = strdup(text ? text : "");
    if (!copy)
        die(1, "out of memory");
    char *rest = copy, *value;
    for (char *name; (name = settings_next(&rest, &value));) {
        if (!value)
            die(2, "%s: '%s' is not of the form name=value", where, name);
        setting_set(k, name, value, where);
    }
    free(copy);
}

void setting_text(const struct settings *k, const char *name, char *out, size_t bytes)
{
    const struct setting *row = find(k, name, "settings");
    if (row->kind == SETTING_FLOAT) {
        snprintf(out, bytes, "%g", (double)*(float *)field(k, row));
        return;
    }
    int value = *(int *)field(k, row);
    if (row->kind != SETTING_CHOICE) {
        snprintf(out, bytes, "%d", value);
        return;
    }
    const char *c = row->choices;
    for (; value > 0; value--)
        c += strcspn(c, "|") + 1;
    snprintf(out, bytes, "%.*s", (int)strcspn(c, "|"), c);
}

static void print_help(const struct settings *k, const char *usage)
{
    puts(usage);
    for (size_t i = 0; i < k->count; i++) {
        const struct setting *row = &k->at[i];
        char left[64], value[32];
        const char *argument = row->kind == SETTING_FLAG     ? ""
                               : row->kind == SETTING_BOOL   ? "0|1"
                               : row->kind == SETTING_CHOICE ? row->choices
                                                             : "N";
        snprintf(left, sizeof left, "--%s %s", row->name, argument);
        setting_text(k, row->name, value, sizeof value);
        printf("  %-34s %s", left, row->help);
        if (row->kind != SETTING_FLAG)
            printf(" [%s]", value);
        putchar('\n');
    }
    exit(0);
}

void settings_parse(const struct settings *k, int argc, char **argv, const char *usage)
{
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0)
            print_help(k, usage);
        if (strncmp(arg, "--", 2) != 0 || !arg[2])
            die(2, "'%s' is not an option (--help lists them)", arg);
        char name[64];
        const char *equals = strchr(arg, '=');
        snprintf(name, sizeof name, "%.*s", (int)(equals ? equals - arg - 2 : 60), arg + 2);
        if (strcmp(name, "defect") == 0) { /* read first, by args_find */
            i += equals == NULL;
            continue;
        }
        const struct setting *row = find(k, name, "command line");
        if (row->kind == SETTING_FLAG && !equals) {
            setting_set(k, name, "1", "command line");
            continue;
        }
        if (!equals && i + 1 >= argc)
            die(2, "--%s needs a value", name);
        setting_set(k, name, equals ? equals + 1 : argv[++i], "command line");
    }
}

const char *args_find(int argc, char **argv, const char *name)
{
    size_t n = strlen(name);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0 || strncmp(argv[i] + 2, name, n) != 0)
            continue;
        if (argv[i][2 + n] == '=')
            return argv[i] + 3 + n;
        if (argv[i][2 + n] == 0) {
            if (i + 1 >= argc)
                die(2, "--%s needs a value", name);
            return argv[i + 1];
        }
    }
    return NULL;
}
