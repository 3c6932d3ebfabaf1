/* Writes messages of Protocol Buffers; see proto.h. */
#include "report/trace/proto.h"

#include "report/chars.h"

#include <stdlib.h>
#include <string.h>

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2 }; /* how a field is encoded */

static bool room(struct proto *m, size_t more)
{
    if (m->failed || more <= m->cap - m->n)
        return !m->failed;
    size_t cap = m->cap ? m->cap * 2 : 256;
    cap = cap < m->n + more ? m->n + more : cap;
    uint8_t *at = realloc(m->at, cap);
    if (!at) {
        m->failed = true;
        return false;
    }
    m->at = at;
    m->cap = cap;
    return true;
}

static void put(struct proto *m, const void *at, size_t n)
{
    if (n && room(m, n)) {
        memcpy(m->at + m->n, at, n);
        m->n += n;
    }
}

static void varint(struct proto *m, uint64_t v)
{
    uint8_t b[10];
    size_t n = 0;
    do {
        b[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    } while (v);
    b[n - 1] &= 0x7f;
    put(m, b, n);
}

static void tag(struct proto *m, unsigned field, enum wire wire)
{
    varint(m, (uint64_t)field << 3 | wire);
}

void proto_clear(struct proto *m)
{
    m->n = 0;
}

void proto_release(struct proto *m)
{
    free(m->at);
    *m = (struct proto){0};
}

void proto_int(struct proto *m, unsigned field, uint64_t v)
{
    tag(m, field, WIRE_VARINT);
    varint(m, v);
}

void proto_double(struct proto *m, unsigned field, double v)
{
    uint64_t bits;
    uint8_t b[sizeof bits];
    memcpy(&bits, &v, sizeof bits);
    for (size_t i = 0; i < sizeof b; i++)
        b[i] = (uint8_t)(bits >> 8 * i);
    tag(m, field, WIRE_64);
    put(m, b, sizeof b);
}

void proto_bytes(struct proto *m, unsigned field, const void *at, size_t n)
{
    tag(m, field, WIRE_BYTES);
    varint(m, n);
    put(m, at, n);
}

/* Returns the length of the text once what may not stay is replaced; writes it if `m` is given. */
static size_t clean(struct proto *m, const char *text, size_t n)
{
    static const char replacement[] = "\xef\xbf\xbd";
    size_t length = 0;
    for (size_t i = 0, step; i < n; i += step) {
        uint32_t code;
        step = utf8_next(text + i, n - i, &code);
        bool bad = char_acts(code) || (step == 1 && code == 0xfffd);
        size_t width = bad ? 3 : step;
        length += width;
        if (m)
            put(m, bad ? replacement : text + i, width);
    }
    return length;
}

void proto_text(struct proto *m, unsigned field, const char *text)
{
    size_t n = strlen(text);
    tag(m, field, WIRE_BYTES);
    varint(m, clean(NULL, text, n));
    clean(m, text, n);
}

void proto_message(struct proto *m, unsigned field, const struct proto *inner)
{
    m->failed |= inner->failed;
    proto_bytes(m, field, inner->at, inner->n);
}
