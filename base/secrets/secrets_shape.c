/* Secrets that are found by their shape, wherever they stand. */
#include "base/secrets/secrets.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

static bool word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Number of characters of `set` from s[at] on. 'a': letters and digits; 'x': also _ and -; 'w':
 * also _; 'd': also _, - and dots; 'u': capitals and digits; 'h': hexadecimal digits in small
 * letters. */
static size_t run_of(const char *s, size_t n, size_t at, char set)
{
    size_t i = at;
    for (; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        bool in = isalnum(c) != 0;
        if (set == 'u')
            in = isupper(c) || isdigit(c);
        else if (set == 'h')
            in = isdigit(c) || (c >= 'a' && c <= 'f');
        in = in || (c == '_' && strchr("xwd", set)) || (c == '-' && strchr("xd", set)) ||
             (c == '.' && set == 'd');
        if (!in)
            break;
    }
    return i - at;
}

static bool has_digit(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isdigit((unsigned char)s[i]))
            return true;
    return false;
}

static const struct service {
    const char *prefix;
    char set;      /* of the characters that follow */
    uint8_t least; /* the least number of characters that follow */
    bool digit;    /* one of them must be a digit, because words may look alike */
} services[] = {
#define SERVICE(prefix, set, least, digit) {prefix, set, least, digit},
#include "base/secrets/services.def"
#undef SERVICE
};

static bool service_at(const char *s, size_t n, size_t at, struct secret *out)
{
    for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
        const struct service *v = &services[i];
        size_t prefix = strlen(v->prefix);
        if (n - at < prefix + v->least || memcmp(s + at, v->prefix, prefix) != 0)
            continue;
        size_t body = run_of(s, n, at + prefix, v->set);
        if (body < v->least || (v->digit && !has_digit(s + at + prefix, body)))
            continue;
        *out = (struct secret){at, at + prefix + body};
        return true;
    }
    return false;
}

/* A JSON Web Token: eyJ... . ... . ... */
static bool web_token_at(const char *s, size_t n, size_t at, struct secret *out)
{
    if (n - at < 16 || memcmp(s + at, "eyJ", 3) != 0)
        return false;
    size_t end = at + run_of(s, n, at, 'x');
    if (end - at < 10 || end + 4 >= n || s[end] != '.' || run_of(s, n, end + 1, 'x') < 4)
        return false;
    while (end < n && s[end] == '.')
        end += 1 + run_of(s, n, end + 1, 'x');
    *out = (struct secret){at, end};
    return true;
}

/* A private key. It ends with the text if its last line is missing. */
static bool private_key_at(const char *s, size_t n, size_t at, struct secret *out)
{
    static const char begin[] = "-----BEGIN ", key[] = "PRIVATE KEY", end[] = "-----END ";
    if (n - at < sizeof begin || memcmp(s + at, begin, sizeof begin - 1) != 0)
        return false;
    size_t near = n - at < 80 ? n - at : 80;
    const char *is = memmem(s + at, near, key, sizeof key - 1);
    if (!is)
        return false;
    const char *last = memmem(s + at, n - at, end, sizeof end - 1), *close = NULL;
    if (last)
        close =
            memmem(last + sizeof end - 1, (size_t)(s + n - last) - (sizeof end - 1), "-----", 5);
    *out = (struct secret){at, close ? (size_t)(close - s) + 5 : n};
    return true;
}

static bool ends_authority(char c)
{
    return c == '/' || c == '?' || c == '#' || c == '"' || c == '\'' || isspace((unsigned char)c) ||
           c == '<' || c == '>';
}

/* scheme://user:password@host, scheme://token@host; `at` is the position of "://". */
static bool url_at(const char *s, size_t n, size_t at, struct secret *out)
{
    size_t first = at + 3, end = first, name = 0, last = 0;
    for (; end < n && !ends_authority(s[end]); end++) {
        if (s[end] == '@')
            last = end;
        if (s[end] == ':' && !name)
            name = end;
    }
    if (!last)
        return false;
    bool password = name && name + 1 < last;
    if (!password && (last - first < 16 || !has_digit(s + first, last - first)))
        return false; /* as in git@host */
    *out = (struct secret){password ? name + 1 : first, last};
    return true;
}

static bool bearer_at(const char *s, size_t n, size_t at, struct secret *out)
{
    if (n - at < 15 || strncasecmp(s + at, "bearer ", 7) != 0)
        return false;
    size_t i = at + 7;
    while (i < n && s[i] && (isalnum((unsigned char)s[i]) || strchr("._~+/=-", s[i])))
        i++;
    *out = (struct secret){at + 7, i};
    return i - at - 7 >= 8;
}

/* The address of a webhook: whoever knows it may write there. */
static bool webhook_at(const char *s, size_t n, size_t at, struct secret *out)
{
    static const char *const known[] = {"hooks.slack.com/services/", "discord.com/api/webhooks/",
                                        "discordapp.com/api/webhooks/"};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        size_t length = strlen(known[k]), i = at + length;
        if (n - at <= length || memcmp(s + at, known[k], length) != 0)
            continue;
        while (i < n && (word_char(s[i]) || s[i] == '/' || s[i] == '-'))
            i++;
        *out = (struct secret){at + length, i};
        return i > at + length;
    }
    return false;
}

/* 123456789:AA...: the key of a Telegram bot: 8 to 10 digits, then 35 characters. */
static bool bot_at(const char *s, size_t n, size_t at, struct secret *out)
{
    size_t digits = at;
    while (digits < n && isdigit((unsigned char)s[digits]))
        digits++;
    if (digits - at < 8 || digits - at > 10 || n - digits < 3 ||
        memcmp(s + digits, ":AA", 3) != 0 || run_of(s, n, digits + 1, 'x') != 35)
        return false;
    *out = (struct secret){at, digits + 1 + 35};
    return true;
}

bool secrets_shape_at(const char *s, size_t n, size_t at, struct secret *out)
{
    if (s[at] == ':')
        return n - at > 4 && s[at + 1] == '/' && s[at + 2] == '/' && url_at(s, n, at, out);
    if (s[at] == '-')
        return private_key_at(s, n, at, out);
    if (at && word_char(s[at - 1]))
        return false;
    return service_at(s, n, at, out) || web_token_at(s, n, at, out) || bearer_at(s, n, at, out) ||
           webhook_at(s, n, at, out) || bot_at(s, n, at, out);
}
