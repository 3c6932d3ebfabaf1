/* Reads Itanium C++ names by recursive descent, within fixed limits of length and depth
 * (demangle_reader.h). */
#include "analyzer/timeline/demangle.h"
#include "analyzer/timeline/demangle_reader.h"

#include <ctype.h>
#include <string.h>

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

void demangle_text(struct reader *r, const char *s)
{
    put(r, s, strlen(s));
}

bool demangle_take(struct reader *r, const char *s)
{
    size_t n = strlen(s);
    if (strncmp(r->p, s, n) != 0)
        return false;
    r->p += n;
    return true;
}

void demangle_remember(struct reader *r, size_t start)
{
    if (r->sub_count < SUBS_MAX) {
        r->subs[r->sub_count].start = start;
        r->subs[r->sub_count++].length = r->n - start;
    }
}

size_t demangle_number(struct reader *r)
{
    size_t v = 0;
    while (isdigit((unsigned char)*r->p) && v < TEXT_MAX)
        v = v * 10 + (size_t)(*r->p++ - '0');
    return v;
}

void demangle_source_name(struct reader *r)
{
    size_t n = demangle_number(r);
    if (n == 0 || strnlen(r->p, n) < n) {
        r->failed = true;
        return;
    }
    if (n >= 10 && strncmp(r->p, "_GLOBAL__N", 10) == 0)
        demangle_text(r, "(anonymous namespace)");
    else
        put(r, r->p, n);
    r->p += n;
}

/* Reads the rest of a substitution after 'S': S_ S0_ ..., or a standard one such as Sa. */
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
            demangle_text(r, standard[i].text);
            return;
        }
    size_t index = 0;
    if (*r->p != '_') {
        for (; isdigit((unsigned char)*r->p) || isupper((unsigned char)*r->p); r->p++)
            index = index * 36 +
                    (size_t)(isdigit((unsigned char)*r->p) ? *r->p - '0' : *r->p - 'A' + 10);
        index++;
    }
    if (!demangle_take(r, "_") || index >= r->sub_count) {
        r->failed = true;
        return;
    }
    put(r, r->text + r->subs[index].start, r->subs[index].length);
}

static void read_literal(struct reader *r)
{
    if (demangle_take(r, "_Z")) { /* the address of a function */
        read_encoding(r);
    } else {
        size_t mark = r->n;
        bool flag = *r->p == 'b';
        demangle_type(r);
        bool cast = r->n > mark && strchr("bijlmxysthacnw", r->p[-1]) == NULL;
        if (!cast)
            r->n = mark; /* plain numbers are shown without their type */
        else
            demangle_text(r, " ");
        if (flag && (*r->p == '0' || *r->p == '1')) {
            demangle_text(r, *r->p++ == '1' ? "true" : "false");
        } else {
            if (demangle_take(r, "n"))
                demangle_text(r, "-");
            size_t n = strspn(r->p, "0123456789abcdef");
            put(r, r->p, n);
            r->p += n;
        }
    }
    if (!demangle_take(r, "E"))
        r->failed = true;
}

void demangle_template_args(struct reader *r) /* after 'I' or 'J' */
{
    bool first = true;
    while (!r->failed && *r->p && *r->p != 'E') {
        if (!first)
            demangle_text(r, ", ");
        first = false;
        if (demangle_take(r, "L"))
            read_literal(r);
        else if (demangle_take(r, "J"))
            demangle_template_args(r);
        else if (*r->p == 'X')
            r->failed = true; /* expressions are not supported; useful kernel names have none */
        else
            demangle_type(r);
    }
    if (!demangle_take(r, "E"))
        r->failed = true;
}

void demangle_maybe_args(struct reader *r)
{
    if (!demangle_take(r, "I"))
        return;
    demangle_text(r, "<");
    demangle_template_args(r);
    demangle_text(r, ">");
}

/* Reads one component of a name, without its prefix. */
static void read_unqualified(struct reader *r)
{
    if (isdigit((unsigned char)*r->p)) {
        demangle_source_name(r);
    } else if (demangle_take(r, "L")) { /* a name with internal linkage */
        demangle_source_name(r);
    } else if (demangle_take(r, "Ul")) {
        size_t mark = r->n;
        while (!r->failed && *r->p && *r->p != 'E')
            demangle_type(r);
        r->n = mark;
        r->failed |= !demangle_take(r, "E");
        demangle_number(r);
        r->failed |= !demangle_take(r, "_");
        demangle_text(r, "{lambda}");
    } else if (demangle_take(r, "Ut")) {
        demangle_number(r);
        r->failed |= !demangle_take(r, "_");
        demangle_text(r, "{unnamed}");
    } else if (demangle_take(r, "cl")) {
        demangle_text(r, "operator()");
    } else if (r->p[0] == 'C' && isdigit((unsigned char)r->p[1])) {
        r->p += 2;
        demangle_text(r, "{constructor}");
    } else if (demangle_take(r, "cv")) {
        demangle_text(r, "operator ");
        demangle_type(r);
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
            demangle_maybe_args(r);
        } else if (demangle_take(r, "S")) {
            read_substitution(r);
            any = true;
            continue; /* a substitution does not add to the substitutions */
        } else {
            if (any)
                demangle_text(r, "::");
            if (*r->p == 'T') {
                demangle_type(r);
                any = true;
                continue;
            }
            read_unqualified(r);
        }
        any = true;
        if (*r->p != 'E')
            demangle_remember(r, start);
    }
    if (!demangle_take(r, "E"))
        r->failed = true;
}

static void read_local(struct reader *r) /* after 'Z' */
{
    read_encoding(r);
    if (!demangle_take(r, "E")) {
        r->failed = true;
        return;
    }
    demangle_text(r, "::");
    if (demangle_take(r, "s"))
        demangle_text(r, "string literal");
    else if (demangle_take(r, "d")) {
        demangle_number(r);
        demangle_take(r, "_");
        demangle_name(r);
    } else
        demangle_name(r);
    if (demangle_take(r, "_"))
        demangle_number(r);
}

void demangle_name(struct reader *r)
{
    size_t start = r->n;
    if (demangle_take(r, "N")) {
        read_nested(r);
    } else if (demangle_take(r, "Z")) {
        read_local(r);
    } else if (r->p[0] == 'S' && r->p[1] != 't') {
        r->p++;
        read_substitution(r);
        demangle_maybe_args(r);
    } else {
        if (demangle_take(r, "St"))
            demangle_text(r, "std::");
        read_unqualified(r);
        if (*r->p == 'I') {
            demangle_remember(r, start);
            demangle_maybe_args(r);
        }
    }
}

/* Reads a name and the parameter types after it; the types are not kept in the text. */
static void read_encoding(struct reader *r)
{
    if (++r->depth > DEPTH_MAX) {
        r->failed = true;
    } else {
        demangle_name(r);
        size_t mark = r->n;
        while (!r->failed && *r->p && *r->p != 'E' && *r->p != '.' && *r->p != '_')
            demangle_type(r);
        /* Substitutions may refer to text behind the mark. At 'E' the text is cut at the mark;
         * otherwise it stays until the end. */
        if (*r->p == 'E' && r->n > mark)
            r->n = mark;
    }
    r->depth--;
}

int demangle(const char *mangled, char *out, size_t size)
{
    struct reader r = {.p = mangled};
    out[0] = '\0';
    if (!demangle_take(&r, "_Z"))
        return -1;
    demangle_name(&r); /* only parameter types follow */
    if (r.failed || r.n == 0 || r.n >= size)
        return -1;
    memcpy(out, r.text, r.n);
    out[r.n] = '\0';
    return 0;
}
