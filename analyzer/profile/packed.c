/* Packs rows into a few bytes each, and unpacks them from bytes that may be hostile. */
#include "analyzer/profile/packed.h"

#include "analyzer/profile/tables.h"
#include "base/str.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* The format is a sequence of entries. A row of kind k: k, then its columns. A text: TEXT,
 * its length, its bytes. */
enum { TEXT = ROW_KINDS };

/* ---- plain values ---- */

int bytes_put(struct bytes *b, const void *data, size_t n)
{
    if (n > b->cap - b->n) {
        size_t want = b->cap ? b->cap : 256;
        while (want - b->n < n)
            if (__builtin_mul_overflow(want, (size_t)2, &want))
                return -1;
        unsigned char *at = realloc(b->at, want);
        if (!at)
            return -1;
        b->at = at;
        b->cap = want;
    }
    if (n)
        memcpy(b->at + b->n, data, n);
    b->n += n;
    return 0;
}

/* Zigzag and base-128: small numbers of either sign take one byte. */
int bytes_put_int(struct bytes *b, int64_t v)
{
    unsigned char out[10];
    size_t n = 0;
    uint64_t u = ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
    for (; u >= 0x80; u >>= 7)
        out[n++] = (unsigned char)(u | 0x80);
    out[n++] = (unsigned char)u;
    return bytes_put(b, out, n);
}

int bytes_put_text(struct bytes *b, const char *text, size_t n)
{
    return bytes_put_int(b, (int64_t)n) < 0 || bytes_put(b, text, n) < 0 ? -1 : 0;
}

int bytes_get_int(const struct bytes *b, size_t *at, int64_t *v)
{
    uint64_t u = 0;
    for (unsigned shift = 0; *at < b->n && shift < 64; shift += 7) {
        unsigned char c = b->at[(*at)++];
        u |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80) {
            *v = (int64_t)(u >> 1) ^ -(int64_t)(u & 1);
            return 0;
        }
    }
    return -1;
}

int bytes_get_text(const struct bytes *b, size_t *at, const char **text, size_t *n)
{
    int64_t length;
    if (bytes_get_int(b, at, &length) < 0 || length < 0 || (uint64_t)length > b->n - *at)
        return -1;
    *text = (const char *)b->at + *at;
    *n = (size_t)length;
    *at += *n;
    return 0;
}

void bytes_release(struct bytes *b)
{
    free(b->at);
    *b = (struct bytes){0};
}

/* ---- rows ---- */

/* The previous row of each kind; columns are stored as differences to it. */
struct before {
    int64_t row[ROW_KINDS][TABLE_MAX_COLUMNS];
};

struct packer {
    struct bytes *out;
    struct str_table strings;
    struct before before;
};

static uint32_t pack_intern(void *self, const char *text, size_t n)
{
    struct packer *p = self;
    uint32_t known = p->strings.n, id = str_intern(&p->strings, text, n);
    if (id != STR_NONE && id == known &&
        (bytes_put_int(p->out, TEXT) < 0 || bytes_put_text(p->out, text, n) < 0))
        return STR_NONE;
    return id;
}

static int64_t get_column(const struct column *c, const void *row)
{
    int64_t v;
    uint32_t id;
    if (c->is_string) {
        memcpy(&id, (const char *)row + c->offset, sizeof id);
        return id;
    }
    memcpy(&v, (const char *)row + c->offset, sizeof v);
    return v;
}

static void set_column(const struct column *c, void *row, int64_t v)
{
    uint32_t id = (uint32_t)v;
    if (c->is_string)
        memcpy((char *)row + c->offset, &id, sizeof id);
    else
        memcpy((char *)row + c->offset, &v, sizeof v);
}

static int pack_put(void *self, enum row_kind kind, const void *row, struct err *e)
{
    struct packer *p = self;
    const struct table *t = &tables[kind];
    int rc = bytes_put_int(p->out, kind);
    for (size_t i = 0; rc == 0 && i < t->count; i++) {
        int64_t v = get_column(&t->columns[i], row), *last = &p->before.row[kind][i];
        rc = bytes_put_int(p->out, (int64_t)((uint64_t)v - (uint64_t)*last));
        *last = v;
    }
    return rc < 0 ? err_no_memory(e) : 0;
}

struct packer *pack_open(struct bytes *out, struct err *e)
{
    struct packer *p = calloc(1, sizeof *p);
    if (p && str_table_init(&p->strings) == 0) {
        p->out = out;
        return p;
    }
    free(p);
    err_no_memory(e);
    return NULL;
}

struct sink pack_sink(struct packer *p)
{
    return (struct sink){.self = p, .intern = pack_intern, .put = pack_put};
}

void pack_close(struct packer *p)
{
    if (!p)
        return;
    str_table_release(&p->strings);
    free(p);
}

/* ---- unpacking ---- */

struct unpacker {
    const struct bytes *from;
    size_t at;
    struct VEC(uint32_t) ids; /* ids in the sink of the texts, in order; entry 0 is "" */
    struct before before;
};

/* Reads one entry. 1: a row or text was read; 0: damaged; -1 with *e set: the sink failed. */
static int unpack_one(struct unpacker *u, struct sink *out, struct err *e)
{
    int64_t row[TABLE_MAX_ROW / sizeof(int64_t) + 1] = {0}, kind, difference;
    const char *text;
    size_t n;
    if (bytes_get_int(u->from, &u->at, &kind) < 0 || kind < 0 || kind > TEXT)
        return 0;
    if (kind == TEXT) {
        if (bytes_get_text(u->from, &u->at, &text, &n) < 0)
            return 0;
        uint32_t *id = vec_push(&u->ids);
        if (!id)
            return err_no_memory(e);
        *id = out->intern(out->self, text, n);
        return *id == STR_NONE ? err_no_memory(e) : 1;
    }
    const struct table *t = &tables[kind];
    for (size_t i = 0; i < t->count; i++) {
        int64_t *last = &u->before.row[kind][i];
        if (bytes_get_int(u->from, &u->at, &difference) < 0)
            return 0;
        *last = (int64_t)((uint64_t)*last + (uint64_t)difference);
        int64_t v = *last;
        if (t->columns[i].is_string)
            v = v > 0 && (uint64_t)v < u->ids.n ? u->ids.at[v] : 0;
        set_column(&t->columns[i], row, v);
    }
    return out->put(out->self, (enum row_kind)kind, row, e) < 0 ? -1 : 1;
}

int unpack_rows(const struct bytes *b, struct sink *out, struct err *e)
{
    struct unpacker *u = calloc(1, sizeof *u);
    uint32_t *none = u ? vec_push(&u->ids) : NULL; /* entry 0, the text "" */
    int rc = none ? 1 : err_no_memory(e);
    if (u)
        u->from = b;
    while (rc > 0 && u->at < b->n)
        rc = unpack_one(u, out, e);
    if (u)
        vec_release(&u->ids);
    free(u);
    return rc == 0 ? err_set(e, "damaged rows") : rc < 0 ? -1 : 0;
}
