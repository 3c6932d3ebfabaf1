/* Writes JSON as a stream: commas, nesting and escapes (json_write.h). */
#include "report/json/json_write.h"

#include "report/chars.h"

#include <math.h>
#include <string.h>

static void hand_over(struct json *j)
{
    fwrite_unlocked(j->buf, 1, j->held, j->f);
    j->held = 0;
}

static void put(struct json *j, const char *s, size_t n)
{
    if (n > JSON_HELD - j->held) {
        hand_over(j);
        if (n > JSON_HELD) {
            fwrite_unlocked(s, 1, n, j->f);
            return;
        }
    }
    memcpy(j->buf + j->held, s, n);
    j->held += n;
}

static void put_char(struct json *j, char c)
{
    if (j->held == JSON_HELD)
        hand_over(j);
    j->buf[j->held++] = c;
}

/* True if one of the eight bytes is below 0x20, above 0x7e, a quote, a backslash or a #. May also
 * be true without one, because of a carry. */
static bool any_special(const char *s)
{
    const uint64_t ones = 0x0101010101010101, high = ones << 7;
    uint64_t w;
    memcpy(&w, s, sizeof w);
    uint64_t quotes = w ^ ones * '"', backslash = w ^ ones * '\\', del = w ^ ones * 0x7f;
    uint64_t hash = w ^ ones * '#';
    uint64_t found = ((w - ones * 0x20) & ~w) | ((quotes - ones) & ~quotes) |
                     ((backslash - ones) & ~backslash) | ((del - ones) & ~del) |
                     ((hash - ones) & ~hash) | w;
    return (found & high) != 0;
}

/* Length of the run at the start of s[0..n) that needs no escape. */
static size_t plain(const struct json *j, const char *s, size_t n)
{
    size_t i = 0;
    while (!j->html && n - i >= 8 && !any_special(s + i))
        i += 8;
    for (; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\' ||
            (c == '#' && text_commands(s + i, n - i)) ||
            (j->html && (c == '<' || c == '>' || c == '&')))
            break;
    }
    return i;
}

static void put_escape(struct json *j, uint32_t code)
{
    char b[8];
    const char *shorts = "\"\"\\\\\nn\tt\rr";
    for (const char *p = shorts; *p; p += 2)
        if (code == (unsigned char)*p) {
            put_char(j, '\\');
            put_char(j, p[1]);
            return;
        }
    if (code > 0xffff) { /* as a surrogate pair */
        put_escape(j, 0xd800 + ((code - 0x10000) >> 10));
        code = 0xdc00 + (code & 0x3ff);
    }
    int n = snprintf(b, sizeof b, "\\u%04x", (unsigned)code);
    put(j, b, (size_t)n);
}

static void quote(struct json *j, const char *s, size_t n)
{
    put_char(j, '"');
    for (size_t i = 0; i < n;) {
        size_t run = plain(j, s + i, n - i);
        if (run) {
            put(j, s + i, run);
            i += run;
            continue;
        }
        uint32_t code;
        size_t len = utf8_next(s + i, n - i, &code);
        if (code == 0xfffd)
            put(j, "\xef\xbf\xbd", 3);
        else if (code < 0x80 || char_acts(code))
            put_escape(j, j->shown && char_acts(code) ? 0xfffd : code);
        else
            put(j, s + i, len);
        i += len;
    }
    put_char(j, '"');
}

static void item(struct json *j, const char *key)
{
    if (j->comma)
        put_char(j, ',');
    if (j->newline || (j->indent && j->depth)) {
        put_char(j, '\n');
        for (int i = 0; i < j->indent * j->depth; i++)
            put_char(j, ' ');
    } else if (j->comma && !j->tight) {
        put_char(j, ' ');
    }
    if (key) {
        quote(j, key, strlen(key));
        put(j, ": ", j->tight ? 1 : 2);
    }
    j->comma = true;
    j->newline = false;
}

void json_start(struct json *j, FILE *f)
{
    memset(j, 0, offsetof(struct json, buf));
    j->f = f;
}

void json_begin(struct json *j, const char *key, char open)
{
    item(j, key);
    put_char(j, open);
    j->comma = false;
    j->depth++;
}

void json_end(struct json *j, char close)
{
    j->depth--;
    if (j->depth < 0)
        j->misused = true;
    if (j->newline || (j->indent && j->comma)) {
        put_char(j, '\n');
        for (int i = 0; i < j->indent * j->depth; i++)
            put_char(j, ' ');
    }
    put_char(j, close);
    j->comma = true;
    j->newline = false;
}

void json_str(struct json *j, const char *key, const char *value)
{
    if (!value) {
        json_null(j, key);
        return;
    }
    item(j, key);
    quote(j, value, strlen(value));
}

static const char pairs[] = "0001020304050607080910111213141516171819202122232425262728293031323334"
                            "3536373839404142434445464748495051525354555657585960616263646566676869"
                            "707172737475767778798081828384858687888990919293949596979899";

/* Writes v with a point before its last `decimals` digits. */
static void put_fixed(struct json *j, int64_t v, int decimals)
{
    char b[32], *end = b + sizeof b, *p = end;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    for (int i = 0; i < decimals; i++, u /= 10)
        *--p = (char)('0' + u % 10);
    if (decimals)
        *--p = '.';
    for (; u >= 100; u /= 100) {
        p -= 2;
        memcpy(p, pairs + 2 * (u % 100), 2);
    }
    *--p = pairs[2 * u + 1];
    if (u >= 10)
        *--p = pairs[2 * u];
    if (v < 0)
        *--p = '-';
    put(j, p, (size_t)(end - p));
}

void json_int(struct json *j, const char *key, int64_t v)
{
    item(j, key);
    put_fixed(j, v, 0);
}

void json_us(struct json *j, const char *key, int64_t ns)
{
    item(j, key);
    put_fixed(j, ns, 3);
}

void json_ms(struct json *j, const char *key, int64_t ns)
{
    item(j, key);
    put_fixed(j, ns, 6);
}

void json_num(struct json *j, const char *key, double v, int decimals)
{
    char b[352];
    if (!isfinite(v)) {
        json_null(j, key);
        return;
    }
    item(j, key);
    put(j, b, (size_t)snprintf(b, sizeof b, "%.*f", decimals, v));
}

void json_bool(struct json *j, const char *key, bool v)
{
    item(j, key);
    put(j, v ? "true" : "false", v ? 4 : 5);
}

void json_null(struct json *j, const char *key)
{
    item(j, key);
    put(j, "null", 4);
}

void json_newline(struct json *j)
{
    j->newline = true;
}

int json_end_document(struct json *j)
{
    put_char(j, '\n');
    hand_over(j);
    return fflush(j->f) || ferror(j->f) || j->depth != 0 || j->misused ? -1 : 0;
}
