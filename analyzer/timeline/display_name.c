/* Kernel names as reports show them. */
#include "analyzer/timeline/demangle.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_MAX = 120 };

/* The last identifier of the outermost name: good enough when the rest cannot be read. */
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

/* ---- what people see ---- */

/* Start of the parameter list: the last '(' at depth 0 of <>, that is not "(anonymous namespace)".
 */
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

/* Copies without namespaces: identifier "::" is dropped wherever a name starts. */
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

void kernel_display_name(const char *recorded, char *out, size_t size)
{
    char plain[DEMANGLED_MAX];
    const char *s = recorded;
    if (strncmp(s, "_Z", 2) == 0) {
        if (demangle(s, plain, sizeof plain) < 0)
            innermost_identifier(s, plain, sizeof plain);
        s = plain;
    }
    if (strncmp(s, "void ", 5) == 0)
        s += 5;
    size_t k = without_namespaces(s, without_parameters(s), out, size);
    if (k > SHOWN_MAX && size > SHOWN_MAX + 4)
        memcpy(out + SHOWN_MAX, "...", 4);
    if (k == 0)
        snprintf(out, size, "%s", *recorded ? recorded : "(unnamed)");
}
