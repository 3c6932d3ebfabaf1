/* Secrets that are known by their shape, wherever they stand. */
#include "base/secrets/secrets.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

static bool word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Characters of `set` from s[at] on: 'a' letters and digits, 'x' also _ and -, 'w' also _, 'u'
 * capitals and digits. */
static size_t run_of(const char *s, size_t n, size_t at, char set)
{
    size_t i = at;
    for (; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        bool in = set == 'u' ? isupper(c) || isdigit(c) : isalnum(c) != 0;
        in = in || (set == 'x' && (c == '-' || c == '_')) || (set == 'w' && c == '_');
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
    char set;      /* of what follows */
    uint8_t least; /* characters that follow */
    bool digit;    /* with a digit among them, because words may look alike */
} services[] = {
    {"hf_", 'a', 16, false},       {"api_org_", 'a', 16, false}, {"sk-", 'x', 20, true},
    {"sk_live_", 'a', 16, false},  {"sk_test_", 'a', 16, false}, {"rk_live_", 'a', 16, false},
    {"ghp_", 'a', 20, false},      {"gho_", 'a', 20, false},     {"ghu_", 'a', 20, false},
    {"ghs_", 'a', 20, false},      {"ghr_", 'a', 20, false},     {"github_pat_", 'w', 20, false},
    {"glpat-", 'x', 16, false},    {"AKIA", 'u', 16, false},     {"ASIA", 'u', 16, false},
    {"AIza", 'x', 30, true},       {"xoxa-", 'x', 10, true},     {"xoxb-", 'x', 10, true},
    {"xoxe-", 'x', 10, true},      {"xoxp-", 'x', 10, true},     {"xoxr-", 'x', 10, true},
    {"xoxs-", 'x', 10, true},      {"xapp-", 'x', 10, true},     {"npm_", 'a', 30, false},
    {"nvapi-", 'x', 20, true},     {"pypi-AgE", 'x', 20, false}, {"dckr_pat_", 'x', 20, false},
    {"wandb_v1_", 'w', 20, false},
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

/* eyJ... . ... . ... : a JSON Web Token */
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

/* To the end of the text where the last line is missing. */
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

/* scheme://user:password@host, scheme://token@host; `at` is that of "://". */
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
        return false; /* git@host */
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

/* https://hooks.slack.com/services/... : who knows the address may write */
static bool webhook_at(const char *s, size_t n, size_t at, struct secret *out)
{
    static const char known[] = "hooks.slack.com/services/";
    if (n - at < sizeof known || memcmp(s + at, known, sizeof known - 1) != 0)
        return false;
    size_t i = at + sizeof known - 1;
    while (i < n && (word_char(s[i]) || s[i] == '/'))
        i++;
    *out = (struct secret){at + sizeof known - 1, i};
    return out->end > out->start;
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
           webhook_at(s, n, at, out);
}
