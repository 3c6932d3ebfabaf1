/* Reads the types of a mangled name: built-in types, pointers and references,
 * functions, arrays and packs. */
#include "analyzer/timeline/demangle_reader.h"

#include <stdio.h>

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
    demangle_type(r);
    demangle_text(r, suffix);
    demangle_remember(r, start);
}

static void read_function_type(struct reader *r) /* after 'F' */
{
    size_t start = r->n;
    demangle_type(r);
    demangle_text(r, " (");
    for (bool first = true; !r->failed && *r->p && *r->p != 'E'; first = false) {
        if (!first)
            demangle_text(r, ", ");
        demangle_type(r);
    }
    demangle_text(r, ")");
    r->failed |= !demangle_take(r, "E");
    demangle_remember(r, start);
}

static void read_array_type(struct reader *r) /* after 'A' */
{
    size_t start = r->n, length = demangle_number(r);
    r->failed |= !demangle_take(r, "_");
    demangle_type(r);
    char text[32];
    snprintf(text, sizeof text, " [%zu]", length);
    demangle_text(r, text);
    demangle_remember(r, start);
}

/* The suffix that this letter adds to the type after it; NULL: another kind of letter. */
static const char *wrapped(char c)
{
    switch (c) {
    case 'P':
        return "*";
    case 'R':
        return "&";
    case 'O':
        return "&&";
    case 'K':
        return " const";
    case 'V':
        return " volatile";
    case 'r':
        return " restrict";
    default:
        return NULL;
    }
}

/* Reads types whose code begins with 'D', which were added to the grammar later. */
static void read_later(struct reader *r)
{
    if (demangle_take(r, "Dn")) {
        demangle_text(r, "decltype(nullptr)");
    } else if (demangle_take(r, "DF16b")) {
        demangle_text(r, "bfloat16");
    } else if (demangle_take(r, "DF16_") || demangle_take(r, "Dh")) {
        demangle_text(r, "half");
    } else if (demangle_take(r, "Dp")) {
        demangle_type(r);
        demangle_text(r, "...");
    } else {
        r->failed = true;
    }
}

static void read_type_inner(struct reader *r)
{
    const char *plain = builtin(*r->p), *wrapper = wrapped(*r->p);
    size_t start = r->n;
    if (plain) {
        r->p++;
        demangle_text(r, plain);
        return;
    }
    if (wrapper) {
        read_wrapped(r, wrapper);
        return;
    }
    switch (*r->p) {
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
        demangle_number(r);
        r->failed |= !demangle_take(r, "_");
        demangle_text(r, "T");
        demangle_remember(r, start);
        demangle_maybe_args(r);
        return;
    case 'D':
        read_later(r);
        return;
    case 'u':
        r->p++;
        demangle_source_name(r);
        demangle_remember(r, start);
        return;
    case 'J':
        r->p++;
        demangle_template_args(r);
        return;
    default:
        break;
    }
    /* The type is a name. Later parts of the mangled name can refer to it, unless it is only a
     * reference (S0_) or an abbreviation (Sa) itself. A reference with template arguments, which
     * end with E, is a new type. */
    bool known = r->p[0] == 'S' && r->p[1] != 't';
    demangle_name(r);
    if (!known || r->p[-1] == 'E')
        demangle_remember(r, start);
}

void demangle_type(struct reader *r)
{
    if (r->failed || ++r->depth > DEPTH_MAX)
        r->failed = true;
    else
        read_type_inner(r);
    r->depth--;
}
