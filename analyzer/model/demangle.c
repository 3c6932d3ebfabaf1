#include "analyzer/model/demangle.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = DEMANGLED_MAX, SUBS_MAX = 256, DEPTH_MAX = 64 };

/* Everything is appended in reading order, so a substitution is a slice of what was written. */
struct reader {
    const char *p;
    char text[TEXT_MAX];
    size_t n;
    struct {
        size_t start, length;
    } subs[SUBS_MAX];
    size_t sub_count;
    int depth;
    bool failed;
};

static void read_type(struct reader *r);
static void read_name(struct reader *r);
static void read_encoding(struct reader *r);

static void put(struct reader *r, const char *s, size_t n)
{
    if (r->n + n >= TEXT_MAX) {
        r->failed = true;
        return;
    }
    memmove(r->text + r->n, s, n);
    r->n += n;
}

static void puts_(struct reader *r, const char *s)
{
    put(r, s, strlen(s));
}

static bool take(struct reader *r, const char *s)
{
    size_t n = strlen(s);
    if (strncmp(r->p, s, n) != 0)
        return false;
    r->p += n;
    return true;
}

static void remember(struct reader *r, size_t start)
{
    if (r->sub_count < SUBS_MAX) {
        r->subs[r->sub_count].start = start;
        r->subs[r->sub_count++].length = r->n - start;
    }
}

static size_t read_number(struct reader *r)
{
    size_t v = 0;
    while (isdigit((unsigned char)*r->p) && v < TEXT_MAX)
        v = v * 10 + (size_t)(*r->p++ - '0');
    return v;
}

static void read_source_name(struct reader *r)
{
    size_t n = read_number(r);
    if (n == 0 || strnlen(r->p, n) < n) {
        r->failed = true;
        return;
    }
    if (n >= 10 && strncmp(r->p, "_GLOBAL__N", 10) == 0)
        puts_(r, "(anonymous namespace)");
    else
        put(r, r->p, n);
    r->p += n;
}

/* S_ S0_ ... and the standard ones. */
static void read_substitution(struct reader *r)
{
    static const struct {
        char code;
        const char *text;
    } standard[] = {{'t', "std"},          {'a', "std::allocator"}, {'b', "std::basic_string"},
                    {'s', "std::string"},  {'i', "std::istream"},   {'o', "std::ostream"},
                    {'d', "std::iostream"}};
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
        if (*r->p == standard[i].code) {
            r->p++;
            puts_(r, standard[i].text);
            return;
        }
    size_t index = 0;
    if (*r->p != '_') {
        for (; isdigit((unsigned char)*r->p) || isupper((unsigned char)*r->p); r->p++)
            index = index * 36 +
                    (size_t)(isdigit((unsigned char)*r->p) ? *r->p - '0' : *r->p - 'A' + 10);
        index++;
    }
    if (!take(r, "_") || index >= r->sub_count) {
        r->failed = true;
        return;
    }
    put(r, r->text + r->subs[index].start, r->subs[index].length);
}

static void read_literal(struct reader *r)
{
    if (take(r, "_Z")) { /* address of a function */
        read_encoding(r);
    } else {
        size_t mark = r->n;
        bool flag = *r->p == 'b';
        read_type(r);
        bool cast = r->n > mark && strchr("bijlmxysthacnw", r->p[-1]) == NULL;
        if (!cast)
            r->n = mark; /* plain numbers need no type */
        else
            puts_(r, " ");
        if (flag && (*r->p == '0' || *r->p == '1')) {
            puts_(r, *r->p++ == '1' ? "true" : "false");
        } else {
            if (take(r, "n"))
                puts_(r, "-");
            size_t n = strspn(r->p, "0123456789abcdef");
            put(r, r->p, n);
            r->p += n;
        }
    }
    if (!take(r, "E"))
        r->failed = true;
}

static void read_template_args(struct reader *r) /* after 'I' or 'J' */
{
    bool first = true;
    while (!r->failed && *r->p && *r->p != 'E') {
        if (!first)
            puts_(r, ", ");
        first = false;
        if (take(r, "L"))
            read_literal(r);
        else if (take(r, "J"))
            read_template_args(r);
        else if (*r->p == 'X')
            r->failed = true; /* expressions: not in kernel names worth reading */
        else
            read_type(r);
    }
    if (!take(r, "E"))
        r->failed = true;
}

static void maybe_template_args(struct reader *r)
{
    if (!take(r, "I"))
        return;
    puts_(r, "<");
    read_template_args(r);
    puts_(r, ">");
}

/* One component without its prefix. */
static void read_unqualified(struct reader *r)
{
    if (isdigit((unsigned char)*r->p)) {
        read_source_name(r);
    } else if (take(r, "L")) { /* internal linkage */
        read_source_name(r);
    } else if (take(r, "Ul")) {
        size_t mark = r->n;
        while (!r->failed && *r->p && *r->p != 'E')
            read_type(r);
        r->n = mark;
        r->failed |= !take(r, "E");
        read_number(r);
        r->failed |= !take(r, "_");
        puts_(r, "{lambda}");
    } else if (take(r, "Ut")) {
        read_number(r);
        r->failed |= !take(r, "_");
        puts_(r, "{unnamed}");
    } else if (take(r, "cl")) {
        puts_(r, "operator()");
    } else if (r->p[0] == 'C' && isdigit((unsigned char)r->p[1])) {
        r->p += 2;
        puts_(r, "{constructor}");
    } else if (take(r, "cv")) {
        puts_(r, "operator ");
        read_type(r);
    } else {
        r->failed = true;
    }
}

static void read_nested(struct reader *r) /* after 'N' */
{
    while (*r->p == 'r' || *r->p == 'V' || *r->p == 'K')
        r->p++;
    size_t start = r->n;
    bool any = false;
    while (!r->failed && *r->p && *r->p != 'E') {
        if (*r->p == 'I') {
            maybe_template_args(r);
        } else if (take(r, "S")) {
            read_substitution(r);
            any = true;
            continue; /* a substitution is not a new one */
        } else {
            if (any)
                puts_(r, "::");
            if (*r->p == 'T') {
                read_type(r);
                any = true;
                continue;
            }
            read_unqualified(r);
        }
        any = true;
        if (*r->p != 'E')
            remember(r, start);
    }
    if (!take(r, "E"))
        r->failed = true;
}

static void read_local(struct reader *r) /* after 'Z' */
{
    read_encoding(r);
    if (!take(r, "E")) {
        r->failed = true;
        return;
    }
    puts_(r, "::");
    if (take(r, "s"))
        puts_(r, "string literal");
    else if (take(r, "d")) {
        read_number(r);
        take(r, "_");
        read_name(r);
    } else
        read_name(r);
    if (take(r, "_"))
        read_number(r);
}

static void read_name(struct reader *r)
{
    size_t start = r->n;
    if (take(r, "N")) {
        read_nested(r);
    } else if (take(r, "Z")) {
        read_local(r);
    } else if (r->p[0] == 'S' && r->p[1] != 't') {
        r->p++;
        read_substitution(r);
        maybe_template_args(r);
    } else {
        if (take(r, "St"))
            puts_(r, "std::");
        read_unqualified(r);
        if (*r->p == 'I') {
            remember(r, start);
            maybe_template_args(r);
        }
    }
}

static const char *builtin(char c)
{
    static const struct {
        char code;
        const char *text;
    } types[] = {{'v', "void"},
                 {'b', "bool"},
                 {'c', "char"},
                 {'a', "signed char"},
                 {'h', "unsigned char"},
                 {'s', "short"},
                 {'t', "unsigned short"},
                 {'i', "int"},
                 {'j', "unsigned int"},
                 {'l', "long"},
                 {'m', "unsigned long"},
                 {'x', "long long"},
                 {'y', "unsigned long long"},
                 {'f', "float"},
                 {'d', "double"},
                 {'w', "wchar_t"},
                 {'n', "__int128"},
                 {'z', "..."}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == c)
            return types[i].text;
    return NULL;
}

static void read_wrapped(struct reader *r, const char *suffix)
{
    size_t start = r->n;
    r->p++;
    read_type(r);
    puts_(r, suffix);
    remember(r, start);
}

static void read_function_type(struct reader *r) /* after 'F' */
{
    size_t start = r->n;
    read_type(r);
    puts_(r, " (");
    for (bool first = true; !r->failed && *r->p && *r->p != 'E'; first = false) {
        if (!first)
            puts_(r, ", ");
        read_type(r);
    }
    puts_(r, ")");
    r->failed |= !take(r, "E");
    remember(r, start);
}

static void read_array_type(struct reader *r) /* after 'A' */
{
    size_t start = r->n, length = read_number(r);
    r->failed |= !take(r, "_");
    read_type(r);
    char text[32];
    snprintf(text, sizeof text, " [%zu]", length);
    puts_(r, text);
    remember(r, start);
}

static void read_type_inner(struct reader *r)
{
    const char *plain = builtin(*r->p);
    size_t start = r->n;
    if (plain) {
        r->p++;
        puts_(r, plain);
        return;
    }
    switch (*r->p) {
    case 'P':
        read_wrapped(r, "*");
        return;
    case 'R':
        read_wrapped(r, "&");
        return;
    case 'O':
        read_wrapped(r, "&&");
        return;
    case 'K':
        read_wrapped(r, " const");
        return;
    case 'V':
        read_wrapped(r, " volatile");
        return;
    case 'r':
        read_wrapped(r, " restrict");
        return;
    case 'F':
        r->p++;
        read_function_type(r);
        return;
    case 'A':
        r->p++;
        read_array_type(r);
        return;
    case 'T':
        r->p++;
        read_number(r);
        r->failed |= !take(r, "_");
        puts_(r, "T");
        remember(r, start);
        maybe_template_args(r);
        return;
    case 'D':
        if (take(r, "Dn")) {
            puts_(r, "decltype(nullptr)");
        } else if (take(r, "DF16b")) {
            puts_(r, "bfloat16");
        } else if (take(r, "DF16_") || take(r, "Dh")) {
            puts_(r, "half");
        } else if (take(r, "Dp")) {
            read_type(r);
            puts_(r, "...");
        } else {
            r->failed = true;
        }
        return;
    case 'u':
        r->p++;
        read_source_name(r);
        remember(r, start);
        return;
    case 'J':
        r->p++;
        read_template_args(r);
        return;
    default:
        break;
    }
    bool known = r->p[0] == 'S' && r->p[1] != 't';
    read_name(r);
    if (!known || r->p[-1] == 'E')
        remember(r, start);
}

static void read_type(struct reader *r)
{
    if (r->failed || ++r->depth > DEPTH_MAX)
        r->failed = true;
    else
        read_type_inner(r);
    r->depth--;
}

/* A name and the types after it, which are read and left out. */
static void read_encoding(struct reader *r)
{
    if (++r->depth > DEPTH_MAX) {
        r->failed = true;
    } else {
        read_name(r);
        size_t mark = r->n;
        while (!r->failed && *r->p && *r->p != 'E' && *r->p != '.' && *r->p != '_')
            read_type(r);
        /* Slices remembered above point behind the mark: keep the text, hide it at the end. */
        if (*r->p == 'E' && r->n > mark)
            r->n = mark;
    }
    r->depth--;
}

int demangle(const char *mangled, char *out, size_t size)
{
    struct reader r = {.p = mangled};
    out[0] = '\0';
    if (!take(&r, "_Z"))
        return -1;
    read_name(&r); /* what follows are parameters */
    if (r.failed || r.n == 0 || r.n >= size)
        return -1;
    memcpy(out, r.text, r.n);
    out[r.n] = '\0';
    return 0;
}
