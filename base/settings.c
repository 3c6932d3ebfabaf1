/* Reads settings written as text (settings.h). */
#include "base/settings.h"

#include <string.h>

static const char blanks[] = " \t", ends[] = ";,";

/* Removes the blanks at both ends of n bytes. */
static const char *trim(const char *s, size_t *n)
{
    while (*n && strchr(blanks, s[*n - 1]))
        --*n;
    while (*n && strchr(blanks, *s)) {
        s++;
        --*n;
    }
    return s;
}

bool settings_next(const char **at, struct setting_text *s)
{
    const char *text;
    size_t n;
    do { /* skips empty places */
        if (!**at)
            return false;
        n = strcspn(*at, ends);
        text = *at;
        *at += n + (text[n] != '\0');
        text = trim(text, &n);
    } while (n == 0);
    const char *equals = memchr(text, '=', n);
    *s = (struct setting_text){.name = text, .name_size = n, .value = text + n};
    if (!equals || equals == text)
        return true;
    s->valid = true;
    s->name_size = (size_t)(equals - text);
    s->value_size = n - s->name_size - 1;
    s->name = trim(text, &s->name_size);
    s->value = trim(equals + 1, &s->value_size);
    return true;
}

bool settings_find(const char *text, const char *name, size_t size, struct setting_text *s)
{
    while (settings_next(&text, s))
        if (s->name_size == size && memcmp(s->name, name, size) == 0)
            return true;
    return false;
}

bool settings_hold(const char *text, const char *other)
{
    struct setting_text want, have;
    while (settings_next(&other, &want)) {
        bool held = false;
        for (const char *p = text; !held && settings_next(&p, &have);)
            held = have.name_size == want.name_size && have.value_size == want.value_size &&
                   memcmp(have.name, want.name, want.name_size) == 0 &&
                   memcmp(have.value, want.value, want.value_size) == 0;
        if (!held)
            return false;
    }
    return true;
}

static size_t put(char *out, size_t size, size_t used, const char *s, size_t n)
{
    if (used + n < size)
        memcpy(out + used, s, n);
    return used + n;
}

bool settings_copy(char *out, size_t size, const char *text, char between)
{
    struct setting_text s;
    size_t used = 0;
    while (settings_next(&text, &s)) {
        if (used)
            used = put(out, size, used, &between, 1);
        used = put(out, size, used, s.name, s.name_size);
        if (s.valid) {
            used = put(out, size, used, "=", 1);
            used = put(out, size, used, s.value, s.value_size);
        }
    }
    if (size)
        out[used < size ? used : 0] = '\0';
    return used < size;
}
