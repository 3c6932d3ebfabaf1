/* Reads JSON token by token from a stream (json_read.h). */
#include "base/json_read.h"

#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { FIRST_BUFFER = 256 << 10 };

/* What the syntax allows next. */
enum { WANT_VALUE, WANT_VALUE_OR_END, WANT_KEY, WANT_KEY_OR_END, WANT_COMMA_OR_END, WANT_NOTHING };

static enum json_token fail(struct json_reader *r, const char *why)
{
    if (!r->error)
        r->error = why;
    r->state = WANT_NOTHING;
    return JSON_ERROR;
}

int json_read_open(struct json_reader *r, json_fill *fill, void *ctx, size_t max_string)
{
    *r = (struct json_reader){.fill = fill, .ctx = ctx, .max_string = max_string};
    r->cap = FIRST_BUFFER;
    r->buf = malloc(r->cap);
    return r->buf ? 0 : -1;
}

void json_read_close(struct json_reader *r)
{
    free(r->buf);
    r->buf = NULL;
}

/* Reads more, and keeps buf[keep..end). This moves `keep` to position 0, so callers must shift
 * their positions by it. Returns 1 if there is more, 0 at the end, -1 on failure. */
static int refill(struct json_reader *r, size_t keep)
{
    if (r->eof)
        return 0;
    if (keep > 0) {
        memmove(r->buf, r->buf + keep, r->end - keep);
        r->pos -= keep;
        r->end -= keep;
        r->offset += keep;
    }
    if (r->end == r->cap) {
        if (r->cap >= r->max_string)
            return fail(r, "a string or number is longer than any in a real trace"), -1;
        char *p = realloc(r->buf, r->cap * 2);
        if (!p)
            return fail(r, "out of memory"), -1;
        r->buf = p;
        r->cap *= 2;
    }
    ssize_t n = r->fill(r->ctx, r->buf + r->end, r->cap - r->end);
    if (n < 0)
        return fail(r, "reading stops (damaged or cut off)"), -1;
    if (n == 0)
        r->eof = true;
    r->end += (size_t)n;
    return n > 0;
}

/* The next byte that is not white space, without taking it; -1 at the end. */
static int peek(struct json_reader *r)
{
    for (;;) {
        while (r->pos < r->end) {
            unsigned char c = (unsigned char)r->buf[r->pos];
            if (c > ' ')
                return c;
            r->pos++;
        }
        if (refill(r, r->pos) <= 0)
            return -1;
    }
}

/* Distance to the first '"' or '\\' in p[0..n); n if there is none. */
static size_t scan_string(const char *p, size_t n)
{
    size_t i = 0;
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), back = _mm_set1_epi8('\\');
    for (; i + 16 <= n; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        int m = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, back)));
        if (m)
            return i + (size_t)__builtin_ctz((unsigned)m);
    }
#endif
    while (i < n && p[i] != '"' && p[i] != '\\')
        i++;
    return i;
}

/* Takes the string that starts at buf[pos] == '"', sets text, and moves pos behind it. */
static int take_string(struct json_reader *r)
{
    size_t at = ++r->pos; /* first byte inside */
    r->escaped = false;
    for (size_t i = at;;) {
        i += scan_string(r->buf + i, r->end - i);
        if (i + 1 < r->end && r->buf[i] == '\\') {
            r->escaped = true;
            i += 2;
            continue;
        }
        if (i < r->end && r->buf[i] == '"') {
            r->text = r->buf + at;
            r->length = i - at;
            r->pos = i + 1;
            return 0;
        }
        int more = refill(r, at);
        if (more < 0)
            return -1;
        if (more == 0)
            return fail(r, "ends inside a string (cut off?)"), -1;
        at = 0;
        i = 0; /* rare: scan again from the start of the string */
        r->escaped = false;
    }
}

static bool number_byte(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E' ||
           /* Also letters, for NaN, Infinity, true, ... */
           (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Takes the bare word or number at buf[pos]. */
static int take_word(struct json_reader *r)
{
    size_t at = r->pos, i = at;
    for (;;) {
        while (i < r->end && number_byte(r->buf[i]))
            i++;
        if (i < r->end)
            break;
        size_t n = i - at;
        int more = refill(r, at);
        if (more < 0)
            return -1;
        at = 0;
        i = n;
        if (more == 0)
            break;
    }
    r->text = r->buf + at;
    r->length = i - at;
    r->pos = i;
    return r->length ? 0 : (fail(r, "not JSON"), -1);
}

static bool in_object(const struct json_reader *r)
{
    int d = r->depth - 1;
    return r->is_object[d >> 3] >> (d & 7) & 1;
}

static void after_value(struct json_reader *r)
{
    r->state = r->depth ? WANT_COMMA_OR_END : WANT_NOTHING;
}

static enum json_token open_nest(struct json_reader *r, bool object)
{
    if (r->depth == JSON_MAX_DEPTH)
        return fail(r, "nested deeper than any real trace");
    r->pos++;
    int d = r->depth++;
    r->is_object[d >> 3] =
        (uint8_t)((r->is_object[d >> 3] & ~(1u << (d & 7))) | (unsigned)object << (d & 7));
    r->state = object ? WANT_KEY_OR_END : WANT_VALUE_OR_END;
    return object ? JSON_OBJECT : JSON_ARRAY;
}

static enum json_token close_nest(struct json_reader *r, bool object)
{
    if (!r->depth || in_object(r) != object)
        return fail(r, "brackets do not match");
    r->pos++;
    r->depth--;
    after_value(r);
    return object ? JSON_OBJECT_END : JSON_ARRAY_END;
}

static enum json_token take_value(struct json_reader *r, int c)
{
    if (c == '{' || c == '[')
        return open_nest(r, c == '{');
    if (c == '"') {
        if (take_string(r) < 0)
            return JSON_ERROR;
        after_value(r);
        return JSON_STRING;
    }
    if (take_word(r) < 0)
        return JSON_ERROR;
    after_value(r);
    switch (r->text[0]) {
    case 't':
        return JSON_TRUE;
    case 'f':
        return JSON_FALSE;
    case 'n':
        if (r->length == 4)
            return JSON_NULL;
        return JSON_NUMBER; /* nan */
    default:
        return JSON_NUMBER;
    }
}

/* Takes the colon behind the string just taken. Returns 1; 0: there is none; -1: failure. The colon
 * is nearly always in the buffer; if not, the string's bytes are kept while more is read. */
static int take_colon(struct json_reader *r)
{
    size_t at = (size_t)(r->text - r->buf), n = r->length;
    for (;;) {
        while (r->pos < r->end && (unsigned char)r->buf[r->pos] <= ' ')
            r->pos++;
        if (r->pos < r->end)
            break;
        int more = refill(r, at);
        if (more <= 0)
            return more < 0 ? -1 : (fail(r, "ends in the middle (cut off?)"), -1);
        at = 0;
    }
    r->text = r->buf + at;
    r->length = n;
    if (r->buf[r->pos] != ':')
        return 0;
    r->pos++;
    return 1;
}

static enum json_token take_key(struct json_reader *r)
{
    if (take_string(r) < 0)
        return JSON_ERROR;
    r->state = WANT_VALUE;
    /* The usual case: writers of traces put no blank here. */
    if (r->pos < r->end && r->buf[r->pos] == ':') {
        r->pos++;
        return JSON_KEY;
    }
    int colon = take_colon(r);
    return colon > 0 ? JSON_KEY : colon < 0 ? JSON_ERROR : fail(r, "a key without a colon");
}

enum json_token json_next(struct json_reader *r)
{
    if (r->error)
        return JSON_ERROR;
    for (;;) {
        int c = peek(r);
        if (c < 0) {
            if (r->error)
                return JSON_ERROR;
            return r->state == WANT_NOTHING ? JSON_END : fail(r, "ends in the middle (cut off?)");
        }
        switch (r->state) {
        case WANT_NOTHING:
            return fail(r, "more text after the end of the JSON document");
        case WANT_COMMA_OR_END:
            if (c == ',') {
                r->pos++;
                r->state = in_object(r) ? WANT_KEY : WANT_VALUE;
                continue;
            }
            if (c == '}' || c == ']')
                return close_nest(r, c == '}');
            return fail(r, "a comma is missing");
        case WANT_KEY_OR_END:
            if (c == '}')
                return close_nest(r, true);
            __attribute__((fallthrough));
        case WANT_KEY:
            return c == '"' ? take_key(r) : fail(r, "a key is missing");
        case WANT_VALUE_OR_END:
            if (c == ']')
                return close_nest(r, false);
            __attribute__((fallthrough));
        default:
            return take_value(r, c);
        }
    }
}

/* Distance to the first of "{}[] in p[0..n); n if there is none. '{' and '}' differ from '[' and
 * ']' by 0x20, so one bit set makes them equal. */
static size_t scan_structure(const char *p, size_t n)
{
    size_t i = 0;
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
    const __m128i bit = _mm_set1_epi8(0x20);
    for (; i + 16 <= n; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        __m128i w = _mm_or_si128(v, bit);
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, quote),
                                   _mm_or_si128(_mm_cmpeq_epi8(w, open), _mm_cmpeq_epi8(w, close)));
        int m = _mm_movemask_epi8(hit);
        if (m)
            return i + (size_t)__builtin_ctz((unsigned)m);
    }
#endif
    for (; i < n; i++) {
        char c = p[i];
        if (c == '"' || c == '{' || c == '}' || c == '[' || c == ']')
            break;
    }
    return i;
}

/* Moves to the next quote or bracket and returns it; -1 on failure. */
static int to_structure(struct json_reader *r)
{
    for (;;) {
        r->pos += scan_structure(r->buf + r->pos, r->end - r->pos);
        if (r->pos < r->end)
            return r->buf[r->pos];
        int more = refill(r, r->pos);
        if (more <= 0)
            return more < 0 ? -1 : (fail(r, "ends in the middle (cut off?)"), -1);
    }
}

/* Takes the string or bracket c at pos. */
static int take_structure(struct json_reader *r, int c)
{
    if (c == '"')
        return take_string(r);
    enum json_token t = c == '{' || c == '[' ? open_nest(r, c == '{') : close_nest(r, c == '}');
    return t == JSON_ERROR ? -1 : 0;
}

int json_skip_rest(struct json_reader *r)
{
    int target = r->depth - 1;
    while (r->depth > target) {
        int c = to_structure(r);
        if (c < 0 || take_structure(r, c) < 0)
            return -1;
    }
    return 0;
}

enum json_token json_next_of(struct json_reader *r, const struct words *keys)
{
    int target = r->depth;
    for (;;) {
        int c = to_structure(r);
        if (c < 0 || take_structure(r, c) < 0)
            return JSON_ERROR;
        if (r->depth < target)
            return JSON_OBJECT_END;
        if (c != '"' || r->depth > target || !words_find(keys, r->text, r->length))
            continue;
        int colon = take_colon(r); /* without a colon it is a value */
        if (colon < 0)
            return JSON_ERROR;
        if (colon) {
            r->state = WANT_VALUE;
            return JSON_KEY;
        }
    }
}

int json_skip(struct json_reader *r)
{
    enum json_token t = json_next(r);
    if (t == JSON_OBJECT || t == JSON_ARRAY)
        return json_skip_rest(r);
    return t == JSON_ERROR ? -1 : 0;
}
