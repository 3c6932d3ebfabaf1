/* Keeps recent rows in memory beside a sink that gets all rows. */
#include "analyzer/collector/recent.h"

#include "analyzer/profile/tables.h"
#include "base/str.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Rows one after the other, each as its kind and its struct. */
struct rows {
    uint8_t *at;
    size_t n, cap;
};

struct recent {
    struct sink inner;
    struct VEC(char *) texts; /* by the inner sink's id; NULL: not seen */
    struct rows facts, timed;
    size_t most_bytes;
    bool keep_only;
};

struct recent *recent_open(struct sink inner, size_t most_bytes, struct err *e)
{
    struct recent *r = calloc(1, sizeof *r);
    if (!r) {
        err_no_memory(e);
        return NULL;
    }
    r->inner = inner;
    r->most_bytes = most_bytes;
    return r;
}

static uint32_t intern(void *self, const char *s, size_t n)
{
    struct recent *r = self;
    uint32_t id = r->inner.intern(r->inner.self, s, n);
    if (id == 0 || id == STR_NONE)
        return id;
    while (r->texts.n <= id)
        if (!vec_push(&r->texts))
            return id; /* the text then shows as empty */
    if (!r->texts.at[id])
        r->texts.at[id] = strndup(s, n);
    return id;
}

static void keep(struct rows *to, enum row_kind kind, const void *row)
{
    uint32_t head = (uint32_t)kind;
    size_t size = tables[kind].row_size, need = to->n + sizeof head + size;
    if (need > to->cap) {
        size_t cap = to->cap ? to->cap * 2 : 1 << 16;
        while (cap < need)
            cap *= 2;
        uint8_t *at = realloc(to->at, cap);
        if (!at)
            return;
        to->at = at;
        to->cap = cap;
    }
    memcpy(to->at + to->n, &head, sizeof head);
    memcpy(to->at + to->n + sizeof head, row, size);
    to->n = need;
}

static int put(void *self, enum row_kind kind, const void *row, struct err *e)
{
    struct recent *r = self;
    bool timed = table_time_offset(kind) >= 0;
    struct rows *to = timed ? &r->timed : &r->facts;
    if (r->keep_only || to->n < r->most_bytes)
        keep(to, kind, row);
    return r->keep_only ? 0 : r->inner.put(r->inner.self, kind, row, e);
}

struct sink recent_sink(struct recent *r)
{
    return (struct sink){.self = r, .intern = intern, .put = put, .epoch_ns = r->inner.epoch_ns};
}

void recent_keep_only(struct recent *r)
{
    r->keep_only = true;
}

void recent_next(struct recent *r)
{
    enum { KEPT = 64 << 20 }; /* bytes kept allocated: the next interval is rarely as large */
    r->timed.n = 0;
    if (r->timed.cap <= KEPT)
        return;
    free(r->timed.at);
    r->timed = (struct rows){0};
}

size_t recent_bytes(const struct recent *r)
{
    return r->timed.n;
}

/* Puts the row at *at into `to`, with the ids that `to` gives its texts. */
static int put_in(const struct recent *r, const struct rows *from, size_t *at, struct sink *to,
                  struct err *e)
{
    int64_t row[TABLE_MAX_ROW / sizeof(int64_t) + 1];
    uint32_t kind;
    memcpy(&kind, from->at + *at, sizeof kind);
    const struct table *t = &tables[kind];
    memcpy(row, from->at + *at + sizeof kind, t->row_size);
    *at += sizeof kind + t->row_size;
    for (size_t i = 0; i < t->count; i++) {
        uint32_t id;
        char *member = (char *)row + t->columns[i].offset;
        if (!t->columns[i].is_string)
            continue;
        memcpy(&id, member, sizeof id);
        const char *text = id < r->texts.n ? r->texts.at[id] : NULL;
        id = text ? to->intern(to->self, text, strlen(text)) : 0;
        memcpy(member, &id, sizeof id);
    }
    return to->put(to->self, (enum row_kind)kind, row, e);
}

int recent_pour(const struct recent *r, struct sink *to, struct err *e)
{
    const struct rows *both[] = {&r->facts, &r->timed};
    for (int i = 0; i < 2; i++)
        for (size_t at = 0; at < both[i]->n;)
            if (put_in(r, both[i], &at, to, e) < 0)
                return -1;
    return 0;
}

void recent_close(struct recent *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->texts.n; i++)
        free(r->texts.at[i]);
    vec_release(&r->texts);
    free(r->facts.at);
    free(r->timed.at);
    free(r);
}
