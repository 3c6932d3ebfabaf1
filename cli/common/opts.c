/* Parses options, and suggests the nearest one for an unknown option. */
#include "cli/common/command.h"

#include "base/mode.h"
#include "cli/common/progress.h"
#include "report/terminal/terminal.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char *color_option = "auto";
static bool quiet_option, help_option, help_in_full, private_option;

static const struct option_spec common_options[] = {
    {"color", 0, OPTION_STRING, &color_option, "WHEN", "auto, always or never"},
    {"quiet", 'q', OPTION_FLAG, &quiet_option, NULL, "no status lines on stderr"},
    {"private", 0, OPTION_FLAG, &private_option, NULL, "only you can read the files (mode 0600)"},
    {"help", 'h', OPTION_FLAG, &help_option, NULL, "-h: summary; --help: with examples"},
    {0},
};

int word_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    int row[64];
    if (n > 63 || m > 63)
        return INT_MAX;
    for (size_t k = 0; k <= m; k++)
        row[k] = (int)k;
    for (size_t i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t k = 1; k <= m; k++) {
            int above = row[k], best = diagonal + (a[i - 1] != b[k - 1]);
            if (above + 1 < best)
                best = above + 1;
            if (row[k - 1] + 1 < best)
                best = row[k - 1] + 1;
            row[k] = best;
            diagonal = above;
        }
    }
    return row[m];
}

static const struct option_spec *find(const struct option_spec *o, const char *name, size_t n,
                                      char letter)
{
    for (; o && o->name; o++)
        if (letter ? o->letter == letter : strlen(o->name) == n && strncmp(o->name, name, n) == 0)
            return o;
    return NULL;
}

static const struct option_spec *find_option(const struct command *c, const char *name, size_t n,
                                             char letter)
{
    const struct option_spec *o = find(c->options, name, n, letter);
    return o ? o : find(common_options, name, n, letter);
}

static void nearest(const struct option_spec *o, const char *name, const char **best, int *distance)
{
    for (; o && o->name; o++) {
        int d = word_distance(name, o->name);
        if (d < *distance) {
            *distance = d;
            *best = o->name;
        }
    }
}

static int unknown_option(const struct command *c, const char *shown, const char *name)
{
    const char *best = NULL;
    int distance = 4;
    if (strlen(name) > 1) {
        nearest(c->options, name, &best, &distance);
        nearest(common_options, name, &best, &distance);
    }
    if (best)
        usage_error("%s: unknown option %s; did you mean --%s?", c->name, shown, best);
    else
        usage_error("%s: unknown option %s; `gpuprof%c%s --help` lists them", c->name, shown,
                    c->own_program ? '-' : ' ', c->name);
    return OPTIONS_ERROR;
}

static int set_value(const struct command *c, const struct option_spec *o, const char *text)
{
    char *end = NULL;
    errno = 0;
    if (o->kind == OPTION_STRING) {
        *(const char **)o->value = text;
        return 0;
    }
    if (o->kind == OPTION_INT) {
        long v = strtol(text, &end, 10);
        if (end != text && !*end && !errno && v >= INT_MIN && v <= INT_MAX) {
            *(int *)o->value = (int)v;
            return 0;
        }
    } else {
        double v = strtod(text, &end);
        if (end != text && !*end && !errno) {
            *(double *)o->value = v;
            return 0;
        }
    }
    usage_error("%s: --%s needs a number, not '%s'", c->name, o->name, text);
    return OPTIONS_ERROR;
}

/* Takes option argv[*i], and its value from there or from the next argument. */
static int take(const struct command *c, int argc, char **argv, int *i)
{
    char *arg = argv[*i], *value = NULL;
    const struct option_spec *o;
    if (arg[1] == '-') {
        size_t n = strcspn(arg + 2, "=");
        o = find_option(c, arg + 2, n, 0);
        help_in_full = true; /* --help prints all; -h is short */
        if (!o) {
            char name[64];
            snprintf(name, sizeof name, "%.*s", (int)n, arg + 2);
            return unknown_option(c, arg, name);
        }
        if (arg[2 + n] == '=')
            value = arg + 3 + n;
        if (o->kind == OPTION_FLAG && value) {
            usage_error("%s: --%s takes no value", c->name, o->name);
            return OPTIONS_ERROR;
        }
    } else {
        o = find_option(c, NULL, 0, arg[1]);
        if (!o)
            return unknown_option(c, arg, arg + 1);
        if (arg[2] && o->kind == OPTION_FLAG) { /* -fq: the rest is parsed as another option */
            *(bool *)o->value = true;
            arg[1] = '-';
            argv[*i] = arg + 1;
            return take(c, argc, argv, i);
        }
        if (arg[2])
            value = arg + 2;
    }
    if (o->kind == OPTION_FLAG) {
        *(bool *)o->value = true;
        return 0;
    }
    if (!value && *i + 1 >= argc) {
        usage_error("%s: --%s wants a value: --%s %s", c->name, o->name, o->name,
                    o->arg ? o->arg : "VALUE");
        return OPTIONS_ERROR;
    }
    return set_value(c, o, value ? value : argv[++*i]);
}

static int check_color(void)
{
    if (strcmp(color_option, "auto") && strcmp(color_option, "always") &&
        strcmp(color_option, "never")) {
        usage_error("--color is auto, always or never, not '%s'", color_option);
        return OPTIONS_ERROR;
    }
    return 0;
}

int options_parse(const struct command *c, int argc, char **argv, bool mixed)
{
    int left = 0, i = 0;
    for (; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        if (argv[i][0] != '-' || !argv[i][1]) {
            if (!mixed)
                break;
            argv[left++] = argv[i];
            continue;
        }
        if (take(c, argc, argv, &i))
            return OPTIONS_ERROR;
        if (help_option) {
            options_help(c, help_in_full);
            return OPTIONS_HELP;
        }
    }
    while (i < argc)
        argv[left++] = argv[i++];
    argv[left] = NULL;
    mode_set_private(private_option);
    return check_color() ? OPTIONS_ERROR : left;
}

static void list_options(const struct option_spec *o)
{
    for (; o && o->name; o++) {
        char name[64];
        int n = snprintf(name, sizeof name, "--%s%s%s", o->name, o->arg ? " " : "",
                         o->arg ? o->arg : "");
        if (!o->help)
            continue;
        if (o[1].name && !o[1].help)
            snprintf(name + n, sizeof name - (size_t)n, " --%s%s%s", o[1].name, o[1].arg ? " " : "",
                     o[1].arg ? o[1].arg : "");
        if (o->letter)
            printf("  -%c, %-22s %s\n", o->letter, name, o->help);
        else
            printf("      %-22s %s\n", name, o->help);
    }
}

void options_help(const struct command *c, bool in_full)
{
    printf("usage: gpuprof%c%s %s\n%s\n", c->own_program ? '-' : ' ', c->name,
           c->usage ? c->usage : "", c->help);
    if (c->details && in_full)
        printf("\n%s\n\noptions:\n", c->details);
    else
        putchar('\n');
    list_options(c->options);
    if (in_full)
        list_options(common_options);
    else /* the same in fewer lines */
        printf("  -q, --quiet; --private     no status lines; files that only you can read\n"
               "  -h, --help; --color WHEN   --help: with examples; auto, always or never\n");
}

static bool set(const char *name)
{
    const char *v = getenv(name);
    return v && *v && strcmp(v, "0") != 0;
}

bool in_ci(void)
{
    const char *v = getenv("CI");
    return set("CI") && strcasecmp(v, "false") != 0;
}

bool color_wanted(int stream_fd)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (strcmp(color_option, "auto") != 0)
        return strcmp(color_option, "always") == 0;
    if (set("FORCE_COLOR") || set("CLICOLOR_FORCE"))
        return true;
    if (no && *no)
        return false;
    return isatty(stream_fd) && !(term && strcmp(term, "dumb") == 0);
}

bool quiet_wanted(void)
{
    return quiet_option;
}

int terminal_width(void)
{
    struct winsize w;
    const char *columns = getenv("COLUMNS");
    if (columns && atoi(columns) >= 40)
        return atoi(columns) > 200 ? 200 : atoi(columns);
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col >= 40)
            return w.ws_col > 120 ? 120 : w.ws_col;
    return 100;
}

static void line(const char *fmt, va_list ap)
{
    char text[1024];
    vsnprintf(text, sizeof text, fmt, ap);
    progress_end();
    terminal_clean(text); /* file names and the like may hold any characters */
    fprintf(stderr, "gpuprof: %s\n", text);
}

int usage_error(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    line(fmt, ap);
    va_end(ap);
    return 2;
}

int fail(const struct err *e)
{
    return usage_error("%s", e->text);
}

void warn(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    line(fmt, ap);
    va_end(ap);
}

void say(const char *fmt, ...)
{
    va_list ap;
    if (quiet_option)
        return;
    va_start(ap, fmt);
    line(fmt, ap);
    va_end(ap);
}
