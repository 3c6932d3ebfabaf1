/* Finds secrets by the names before them, and writes texts and commands without them. */
#include "base/secrets/secrets.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MARK = sizeof SECRETS_MARK - 1, LONGEST_NAME = 200, WANDB_KEY = 40 };

bool secrets_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static size_t skip_blanks(const char *s, size_t n, size_t i)
{
    while (i < n && (s[i] == ' ' || s[i] == '\t'))
        i++;
    return i;
}

/* Position behind the quote at s[i], with the backslashes before it if it stands inside another
 * text; i itself if there is no quote. */
static size_t skip_quote(const char *s, size_t n, size_t i)
{
    size_t q = i;
    while (q < n && s[q] == '\\')
        q++;
    return q < n && (s[q] == '"' || s[q] == '\'') ? q + 1 : i;
}

static bool is_word(const char *s, size_t n, const char *list)
{
    for (const char *p = list; *p;) {
        size_t len = strcspn(p, " ");
        if (len == n && strncasecmp(p, s, n) == 0)
            return true;
        p += len + (p[len] == ' ');
    }
    return false;
}

bool secrets_is_number(const char *s, size_t n)
{
    size_t i = s[0] == '-' || s[0] == '+';
    if (i >= n || !isdigit((unsigned char)s[i]))
        return false;
    while (i < n && s[i] && (isdigit((unsigned char)s[i]) || strchr("-+.,_e", s[i])))
        i++;
    return n - i <= 2 && strspn(s + i, "kKmMbBgGtTi") >= n - i;
}

/* ${NAME}, $NAME: a reference, whose value is not in the text. */
static bool is_reference(const char *s, size_t n)
{
    if (n < 2 || s[0] != '$')
        return false;
    if (s[1] == '{')
        return s[n - 1] == '}';
    for (size_t i = 1; i < n; i++)
        if (!isupper((unsigned char)s[i]) && s[i] != '_' &&
            !(i > 1 && isdigit((unsigned char)s[i])))
            return false;
    return true;
}

/* True for 1, 2.5, -3 and lists of such numbers. */
static bool is_numbers(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isdigit((unsigned char)s[i]) && !strchr("-+.,e []", s[i]))
            return false;
    return true;
}

bool secrets_is_plain(enum secrets_name kind, const char *s, size_t n)
{
    if (n == 0 || (n == MARK && memcmp(s, SECRETS_MARK, MARK) == 0) || is_reference(s, n) ||
        (s[0] == '<' && s[n - 1] == '>'))
        return true;
    if (kind == SECRETS_COUNTED && (secrets_is_number(s, n) || is_numbers(s, n)))
        return true;
    return kind != SECRETS_SURE &&
           is_word(s, n, "true false yes no on off none null auto default required 0 1");
}

bool secrets_is_folder(const char *name, size_t n, const char *value, size_t length)
{
    return is_word(name, n, "pwd oldpwd") && length && strchr("/.~", value[0]);
}

/* A name, and where its value stands. */
struct named {
    size_t start, end; /* of the name */
    enum secrets_name kind;
    bool option;  /* it begins with - */
    bool at_word; /* only a blank or a quote stands before it */
    bool header;  /* its value stands behind a colon */
    bool encoded; /* its value stands behind %3D, as in a URL within a URL */
    size_t value;
};

/* True if s[at] begins with this encoded separator of a URL (`%3D`, `%26`). */
static bool is_encoded(const char *s, size_t n, size_t at, const char *code)
{
    return n - at >= 3 && strncasecmp(s + at, code, 3) == 0;
}

/* Sets v->value, the first byte of the value or of the quote around it. False: no value follows. */
static bool find_value(const char *s, size_t n, struct named *v)
{
    size_t i = skip_quote(s, n, v->end);
    bool quoted = i > v->end;
    if (!quoted && i < n && is_encoded(s, n, i, "%3D")) {
        v->encoded = true;
        v->value = i + 3;
        return true;
    }
    if (quoted && i < n && s[i] == ']')
        i++; /* as in environ["TOKEN"] = */
    size_t j = skip_blanks(s, n, i);
    char c = j < n ? s[j] : 0, next = j + 1 < n ? s[j + 1] : 0;
    if (c == '=' && next != '=') {
        v->value = j + 1;
        if (j > i || skip_quote(s, n, skip_blanks(s, n, j + 1)) > skip_blanks(s, n, j + 1))
            v->value = skip_blanks(s, n, j + 1);
        return true;
    }
    if (c == ':' && next != ':' && !(next == '/' && j + 2 < n && s[j + 2] == '/')) {
        v->header = true;
        v->value = skip_blanks(s, n, j + 1);
        return true;
    }
    if (quoted && c == ',') {
        v->value = skip_blanks(s, n, j + 1);
        return skip_quote(s, n, v->value) > v->value;
    }
    v->value = j;
    return v->option && j > i && c && c != '-';
}

/* From behind an opening quote at s[from - 1] to the closing one, which has as many backslashes
 * before it. */
static size_t quote_end(const char *s, size_t n, size_t value, size_t from)
{
    size_t slashes = from - 1 - value;
    char quote = s[from - 1];
    for (size_t i = from; i < n; i++) {
        size_t before = 0;
        while (before < i - from && s[i - 1 - before] == '\\')
            before++;
        if (s[i] == quote && before == slashes)
            return i - slashes;
    }
    return n;
}

static size_t word_end(const char *s, size_t n, size_t i, const char *more)
{
    while (i < n && s[i] && !isspace((unsigned char)s[i]) && !strchr(more, s[i]))
        i++;
    return i;
}

/* A value behind a colon: `Bearer abc`, `a=b; c=d`. */
static struct secret header_value(const char *s, size_t n, const struct named *v)
{
    size_t at = v->value, end = word_end(s, n, at, "\"'`,}");
    if (is_word(s + at, end - at, "bearer basic digest token apikey negotiate")) {
        size_t next = skip_blanks(s, n, end);
        if (next > end)
            return (struct secret){next, word_end(s, n, next, "\"'`,}")};
    }
    while (end > at && end < n && s[end - 1] == ';' && s[end] == ' ')
        end = word_end(s, n, end + 1, "\"'`");
    return (struct secret){at, end};
}

/* The bracket that closes the one at s[at]. Brackets within quotes do not count. The end of the
 * text if it is missing. */
static size_t bracket_end(const char *s, size_t n, size_t at)
{
    size_t depth = 0;
    for (size_t i = at; i < n; i++) {
        size_t inside = skip_quote(s, n, i);
        if (inside > i)
            i = quote_end(s, n, i, inside) + (inside - i) - 1;
        else if (s[i] == '{' || s[i] == '[')
            depth++;
        else if ((s[i] == '}' || s[i] == ']') && --depth == 0)
            return i;
    }
    return n;
}

static struct secret value_of(const char *s, size_t n, const struct named *v)
{
    size_t at = v->value, inside = skip_quote(s, n, at);
    if (inside > at)
        return (struct secret){inside, quote_end(s, n, at, inside)};
    if (s[at] == '{' || s[at] == '[')
        return (struct secret){at + 1, bracket_end(s, n, at)};
    if (v->encoded) {
        size_t end = at;
        while (end < n && !is_encoded(s, n, end, "%26") && !strchr("&\"'`<>;|) \t\n", s[end]))
            end++;
        return (struct secret){at, end};
    }
    bool cookie = memmem(s + v->start, v->end - v->start, "ookie", 5) != NULL;
    if (v->header || (cookie && v->at_word))
        return header_value(s, n, v);
    size_t end = word_end(s, n, at, v->at_word ? "" : "&,;)}]\"'`<>|");
    if (v->at_word && end > at + 1 && strchr("\"'`", s[end - 1]) &&
        word_end(s, n, at, "\"'`") == end - 1)
        end--; /* this quote closes one that began before the name */
    return (struct secret){at, end};
}

/* What a name is about. In -Dtoken=, -Ptoken= and -eTOKEN= an option letter stands before the name.
 * `sig` is a signature in a URL (`?sig=`), and elsewhere a word like others. */
static enum secrets_name name_kind(const char *s, size_t at, const struct named *v)
{
    const char *name = s + v->start;
    size_t n = v->end - v->start;
    enum secrets_name kind = secrets_name_of(name, n);
    if (kind == SECRETS_NONE && v->start == at + 1 && n > 1 && strchr("DPe", name[0]))
        kind = secrets_name_of(name + 1, n - 1);
    if (n == 3 && strncasecmp(name, "sig", 3) == 0 && at && strchr("?&", s[at - 1]))
        kind = SECRETS_SURE;
    return kind;
}

/* If a name begins at s[at] and its value is a secret: true, and *out is the value. */
static bool named_at(const char *s, size_t n, size_t at, struct secret *out)
{
    struct named v = {.start = at, .end = at};
    while (v.end < n && secrets_name_char(s[v.end]))
        v.end++;
    while (v.start < v.end && s[v.start] == '-')
        v.start++;
    if (at && s[at - 1] == '%' && v.end - v.start > 2)
        v.start += 2; /* an encoded ?, & or the like */
    if (v.end - v.start > LONGEST_NAME)
        return false;
    v.option = v.start > at && s[at] == '-';
    v.at_word = at == 0 || isspace((unsigned char)s[at - 1]) || strchr("\"'`", s[at - 1]);
    v.kind = name_kind(s, at, &v);
    if (v.kind == SECRETS_NONE || !find_value(s, n, &v) || v.value >= n)
        return false;
    *out = value_of(s, n, &v);
    size_t length = out->end - out->start;
    return !secrets_is_plain(v.kind, s + out->start, length) &&
           !secrets_is_folder(s + v.start, v.end - v.start, s + out->start, length);
}

/* `wandb login 0123...`: 40 hexadecimal digits behind "login". Without it they may be a commit. */
static bool login_key_at(const char *s, size_t n, size_t at, struct secret *out)
{
    size_t digits = 0, back = at < WANDB_KEY ? at : WANDB_KEY;
    while (at + digits < n && isxdigit((unsigned char)s[at + digits]))
        digits++;
    *out = (struct secret){at, at + digits};
    return digits == WANDB_KEY && memmem(s + at - back, back, "login", 5);
}

bool secrets_next(const char *s, size_t n, size_t from, enum secrets_in in, struct secret *out)
{
    for (size_t i = from; i < n; i++) {
        if (secrets_shape_at(s, n, i, out))
            return true;
        if (in != SECRETS_COMMAND || !secrets_name_char(s[i]) || (i && secrets_name_char(s[i - 1])))
            continue;
        if (named_at(s, n, i, out) || login_key_at(s, n, i, out))
            return true;
    }
    return false;
}

static bool is_mark(const char *s, const struct secret *x)
{
    return x->end - x->start == MARK && memcmp(s + x->start, SECRETS_MARK, MARK) == 0;
}

int secrets_hide(const char *s, size_t n, enum secrets_in in, char **out, size_t *out_n)
{
    struct secret x;
    size_t from = 0, used = 0;
    *out = NULL;
    while (secrets_next(s, n, from, in, &x)) {
        if (!*out && is_mark(s, &x)) {
            from = x.end;
            continue;
        }
        size_t kept = *out ? from : 0;
        if (!*out && !(*out = malloc(n * MARK + MARK + 1)))
            return -1;
        memcpy(*out + used, s + kept, x.start - kept);
        used += x.start - kept;
        memcpy(*out + used, SECRETS_MARK, MARK);
        used += MARK;
        from = x.end;
    }
    if (!*out)
        return 0;
    memcpy(*out + used, s + from, n - from);
    used += n - from;
    (*out)[used] = 0;
    *out_n = used;
    return 1;
}
