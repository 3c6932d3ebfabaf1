/* Texts and numbers of JSON: undoes escapes, and reads numbers exactly. */
#include "base/json_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int hex4(const char *s)
{
    int v = 0;
    for (int i = 0; i < 4; i++) {
        char c = s[i];
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0)
            return -1;
        v = v * 16 + d;
    }
    return v;
}

static char *put_utf8(char *o, uint32_t c)
{
    if (c < 0x80) {
        *o++ = (char)c;
    } else if (c < 0x800) {
        *o++ = (char)(0xc0 | c >> 6);
        *o++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *o++ = (char)(0xe0 | c >> 12);
        *o++ = (char)(0x80 | (c >> 6 & 0x3f));
        *o++ = (char)(0x80 | (c & 0x3f));
    } else {
        *o++ = (char)(0xf0 | c >> 18);
        *o++ = (char)(0x80 | (c >> 12 & 0x3f));
        *o++ = (char)(0x80 | (c >> 6 & 0x3f));
        *o++ = (char)(0x80 | (c & 0x3f));
    }
    return o;
}

size_t json_unescape(const char *s, size_t n, char *out)
{
    char *o = out;
    for (size_t i = 0; i < n; i++) {
        if (s[i] != '\\' || i + 1 == n) {
            *o++ = s[i];
            continue;
        }
        char c = s[++i];
        int u = c == 'u' && n - i > 4 ? hex4(s + i + 1) : -1;
        if (u >= 0) {
            uint32_t code = (uint32_t)u;
            i += 4;
            if (code >= 0xd800 && code < 0xdc00 && n - i > 6 && s[i + 1] == '\\' &&
                s[i + 2] == 'u') {
                int low = hex4(s + i + 3);
                if (low >= 0xdc00 && low < 0xe000) {
                    code = 0x10000 + ((code - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
                    i += 6;
                }
            }
            if (code >= 0xd800 && code < 0xe000)
                code = 0xfffd; /* half of a surrogate pair */
            o = put_utf8(o, code);
        } else {
            *o++ = c == 'n'   ? '\n'
                   : c == 't' ? '\t'
                   : c == 'r' ? '\r'
                   : c == 'b' ? '\b'
                   : c == 'f' ? '\f'
                              : c;
        }
    }
    return (size_t)(o - out);
}

/* Reads digits with up to `places` decimals, scaled by 10^places. */
static bool scaled(const char *s, size_t n, int places, int64_t *out)
{
    size_t i = 0;
    bool minus = n && s[0] == '-', any = false;
    i += minus;
    int64_t v = 0;
    for (; i < n && s[i] >= '0' && s[i] <= '9'; i++, any = true)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, s[i] - '0', &v))
            return false;
    if (i < n && s[i] == '.')
        i++;
    for (int p = 0; p < places; p++) {
        int digit = i < n && s[i] >= '0' && s[i] <= '9' ? s[i++] - '0' : 0;
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v))
            return false;
    }
    while (i < n && s[i] >= '0' && s[i] <= '9')
        i++;
    if (i < n) { /* an exponent, NaN, Infinity */
        char tmp[64], *stop;
        if (n >= sizeof tmp)
            return false;
        memcpy(tmp, s, n);
        tmp[n] = 0;
        double d = strtod(tmp, &stop);
        if (*stop || !isfinite(d))
            return false;
        d *= places == 3 ? 1000.0 : 1.0;
        if (d >= 9.2e18 || d <= -9.2e18)
            return false;
        *out = (int64_t)d;
        return true;
    }
    *out = minus ? -v : v;
    return any;
}

bool json_int64(const char *text, size_t n, int64_t *out)
{
    return scaled(text, n, 0, out);
}

bool json_thousandths(const char *text, size_t n, int64_t *out)
{
    return scaled(text, n, 3, out);
}
