/* Kernel names as reports show them. */
#include "analyzer/timeline/demangle.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_MAX = 120 };

/* Fallback for names that cannot be read: the last identifier of the outermost name. */
static void innermost_identifier(const char *mangled, char *out, size_t size)
{
    const char *p = mangled + 2, *best = mangled;
    size_t length = strlen(mangled);
    p += strspn(p, "NKL");
    while (isdigit((unsigned char)*p)) {
        char *end;
        size_t n = 0;
        for (end = (char *)p; isdigit((unsigned char)*end) && n < DEMANGLED_MAX; end++)
            n = n * 10 + (size_t)(*end - '0');
        if (strnlen(end, n) < n)
            break;
        best = end;
        length = n;
        p = end + n;
    }
    snprintf(out, size, "%.*s", (int)(length < size ? length : size - 1), best);
}

/* ---- shortening ---- */

/* Start of the parameter list: the last '(' outside of <>, unless it begins "(anonymous namespace)"
 * or belongs to an operator. */
static size_t without_parameters(const char *s)
{
    int angle = 0;
    for (size_t i = 0; s[i]; i++) {
        if (s[i] == '<')
            angle++;
        else if (s[i] == '>' && (i == 0 || s[i - 1] != '-'))
            angle--;
        else if (s[i] == '(' && angle <= 0 && strncmp(s + i, "(anonymous", 10) != 0 &&
                 !(i >= 8 && strncmp(s + i - 8, "operator", 8) == 0))
            return i;
    }
    return strlen(s);
}

static bool starts_name(char before)
{
    return before == '\0' || strchr("<, (*&:", before) != NULL;
}

/* Copies the name without namespaces: drops identifier "::" wherever a name starts. */
static size_t without_namespaces(const char *s, size_t n, char *out, size_t size)
{
    size_t k = 0;
    char before = '\0';
    for (size_t i = 0; i < n && k + 1 < size;) {
        if (n - i >= 23 && strncmp(s + i, "(anonymous namespace)::", 23) == 0) {
            i += 23;
            continue;
        }
        if (starts_name(before) && (isalpha((unsigned char)s[i]) || s[i] == '_')) {
            size_t j = i;
            while (j < n && (isalnum((unsigned char)s[j]) || s[j] == '_'))
                j++;
            if (j + 1 < n && s[j] == ':' && s[j + 1] == ':') {
                i = j + 2;
                continue;
            }
        }
        before = out[k++] = s[i++];
    }
    out[k] = '\0';
    return k;
}

/* s points to '<' or ',' in a list of template arguments. Returns the '>' that ends the list.
 * *numbers: only numbers lie between. */
static const char *list_end(const char *s, bool *numbers)
{
    int angle = *s == '<' ? 0 : 1;
    *numbers = true;
    for (; *s; s++) {
        angle += *s == '<' ? 1 : *s == '>' && s[-1] != '-' ? -1 : 0;
        if (angle == 0)
            break;
        *numbers &= strchr("<0123456789-, ", *s) != NULL;
    }
    return s;
}

struct cut { /* cut template arguments from these depths on: all after the first
                argument, or the whole list */
    int after_first, whole;
};

/* Copies the name without the arguments that `cut` selects. Lists of numbers stay, because
 * libraries of templates have their tile sizes there. */
static size_t without_arguments(const char *s, struct cut cut, char *out, size_t size)
{
    size_t k = 0;
    int angle = 0;
    for (const char *p = s; *p && k + 1 < size; p++) {
        bool numbers, cuts;
        angle += *p == '<' ? 1 : *p == '>' && p > s && p[-1] != '-' ? -1 : 0;
        cuts = (*p == '<' && angle >= cut.whole) || (*p == ',' && angle >= cut.after_first);
        const char *end = cuts ? list_end(p, &numbers) : NULL;
        if (end && !numbers) {
            k += (size_t)snprintf(out + k, size - k, *p == '<' ? "<..." : ", ...");
            p = end - 1;
        } else {
            out[k++] = *p;
        }
    }
    k = k < size ? k : size - 1;
    out[k] = '\0';
    return k;
}

enum { DEEPEST = 8 };

static bool fits(const char *s, struct cut cut, char *out, size_t size)
{
    return without_arguments(s, cut, out, size) <= SHOWN_MAX;
}

/* Cuts as little as possible. First cuts after the first arguments, if numbers remain, which
 * distinguish a library's kernels; otherwise cuts whole lists. */
static void shorten(const char *s, char *out, size_t size)
{
    char shorter[DEMANGLED_MAX];
    struct cut first = {DEEPEST, DEEPEST + 1}, whole = {DEEPEST + 1, DEEPEST};
    while (first.after_first > 0 && !fits(s, first, shorter, sizeof shorter))
        first.after_first--;
    if (first.after_first == 0 || !strpbrk(shorter, "0123456789"))
        while (whole.whole > 0 && !fits(s, whole, shorter, sizeof shorter))
            whole.whole--;
    snprintf(out, size, "%.*s%s", SHOWN_MAX, shorter, strlen(shorter) > SHOWN_MAX ? "..." : "");
}

void kernel_display_name(const char *recorded, char *out, size_t size)
{
    char plain[DEMANGLED_MAX], shown[DEMANGLED_MAX];
    const char *s = recorded;
    if (strncmp(s, "_Z", 2) == 0) {
        if (demangle(s, plain, sizeof plain) < 0)
            innermost_identifier(s, plain, sizeof plain);
        s = plain;
    }
    if (strncmp(s, "void ", 5) == 0)
        s += 5;
    if (without_namespaces(s, without_parameters(s), shown, sizeof shown) == 0)
        snprintf(out, size, "%s", *recorded ? recorded : "(unnamed)");
    else if (strlen(shown) <= SHOWN_MAX)
        snprintf(out, size, "%s", shown);
    else
        shorten(shown, out, size);
}
