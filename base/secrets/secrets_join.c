/* Joins the arguments of a command without the secrets among them. */
#include "base/secrets/secrets.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MARK = sizeof SECRETS_MARK - 1 };

struct joined {
    char *text;
    size_t size, used;
};

static void add(struct joined *j, const char *s, size_t n)
{
    size_t room = j->size - 1 - j->used, keep = n < room ? n : room;
    memcpy(j->text + j->used, s, keep);
    j->used += keep;
    j->text[j->used] = 0;
}

static void add_clean(struct joined *j, const char *s, size_t n)
{
    char *clean;
    size_t clean_n;
    int found = secrets_hide(s, n, SECRETS_COMMAND, &clean, &clean_n);
    if (found == 0)
        add(j, s, n);
    else if (found < 0)
        add(j, SECRETS_MARK, MARK);
    else
        add(j, clean, clean_n);
    free(clean);
}

/* True if this argument is the value of the secret option before it. An argument that begins with a
 * dash may be the next option (`--hf-token --lr 1`, `-token -learning_rate 1`). It counts as a
 * value only if it does not look like an option: more than six characters, with a digit or with
 * capitals among small letters. */
static bool is_value(enum secrets_name kind, const char *s, size_t n)
{
    if (secrets_is_plain(kind, s, n))
        return false;
    if (s[0] != '-')
        return true;
    bool digit = false, small = false, capital = false;
    for (size_t i = 1; i < n; i++) {
        digit = digit || isdigit((unsigned char)s[i]);
        small = small || islower((unsigned char)s[i]);
        capital = capital || isupper((unsigned char)s[i]);
    }
    return n > 6 && s[1] != '-' && !memchr(s, '=', n) && (digit || (small && capital)) &&
           !secrets_is_number(s, n);
}

/* True for -c and -lc: the next argument is a program. */
static bool takes_program(const char *s, size_t n)
{
    return n >= 2 && n <= 4 && s[0] == '-' && s[n - 1] == 'c';
}

/* For --name=VALUE or name=VALUE: the bytes before the value if all of it is a secret; else 0. */
static size_t whole_value(const char *s, size_t n)
{
    size_t start = strspn(s, "-+"), end = start;
    while (end < n && secrets_name_char(s[end]))
        end++;
    if (end >= n || s[end] != '=')
        return 0;
    enum secrets_name kind = secrets_name_of(s + start, end - start);
    const char *value = s + end + 1;
    size_t length = n - end - 1;
    return kind != SECRETS_NONE && !secrets_is_plain(kind, value, length) &&
                   !secrets_is_folder(s + start, end - start, value, length)
               ? end + 1
               : 0;
}

void secrets_join(const char *words, size_t n, char *out, size_t size)
{
    struct joined j = {.text = out, .size = size};
    enum secrets_name pending = SECRETS_NONE; /* what the option before tells about this argument */
    bool program = false;
    out[0] = 0;
    for (size_t at = 0; at < n;) {
        const char *s = words + at;
        size_t length = strnlen(s, n - at), before = program ? 0 : whole_value(s, length);
        if (at)
            add(&j, " ", 1);
        if (pending != SECRETS_NONE && is_value(pending, s, length)) {
            add(&j, SECRETS_MARK, MARK);
        } else if (before) {
            add(&j, s, before);
            add(&j, SECRETS_MARK, MARK);
        } else {
            add_clean(&j, s, length);
        }
        size_t dashes = strspn(s, "-");
        pending = dashes && !memchr(s, '=', length) && !memchr(s, ' ', length)
                      ? secrets_name_of(s + dashes, length - dashes)
                      : SECRETS_NONE;
        program = takes_program(s, length);
        at += length + 1;
    }
}
