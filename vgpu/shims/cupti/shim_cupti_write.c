/* Writes records into buffers. A record's bytes are written at once, with the word of its kind
 * last. A record of device work has start = end = 0 until the work has ended. */
#include "shims/cupti/shim_cupti_buffer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static uint64_t timed_records;

uint64_t buffer_random(void)
{
    static uint64_t random_state = 88172645463325252u;
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void put_times(uint8_t *record, const struct timing *t)
{
    if (t->end_ns == 0)
        return;
    uint64_t start = cupti_stamp(t->start_ns), end = cupti_stamp(t->end_ns);
    uint64_t limit = cupti_faults()->untimed_after;
    timed_records++;
    if (limit && timed_records > limit)
        return;
    if (t->start_at)
        memcpy(record + t->start_at, &start, sizeof start);
    /* So that a concurrent reader of shared memory never sees the end before the start. */
    atomic_thread_fence(memory_order_release);
    if (t->end_at)
        memcpy(record + t->end_at, &end, sizeof end);
}

void buffer_settle(struct buffer *b, int64_t now, bool all)
{
    int64_t known = now - cupti_faults()->late_ns;
    while (b->pending_first < b->pending_end) {
        struct pending *p = &b->pending[b->pending_first];
        if (p->t.end_ns > known)
            break;
        if (!p->written)
            put_times(b->data + p->offset, &p->t);
        b->pending_first++;
    }
    for (size_t i = b->pending_first; all && i < b->pending_end; i++) {
        struct pending *p = &b->pending[i];
        if (!p->written && p->t.end_ns <= known) {
            put_times(b->data + p->offset, &p->t);
            p->written = true;
        }
    }
}

static bool add_pending(struct buffer *b, size_t offset, const struct timing *t)
{
    if (b->pending_first == b->pending_end)
        b->pending_first = b->pending_end = 0;
    if (b->pending_end == b->pending_cap) {
        size_t cap = b->pending_cap ? b->pending_cap * 2 : 1024;
        struct pending *grown = realloc(b->pending, cap * sizeof *grown);
        if (!grown)
            return false;
        b->pending = grown;
        b->pending_cap = cap;
    }
    b->pending[b->pending_end++] = (struct pending){.offset = offset, .t = *t};
    return true;
}

bool buffer_has_room(const struct buffer *b, size_t stride)
{
    size_t held = b->held_count * sizeof b->held[0].record;
    return b->used + held + stride <= b->size && (!b->max_records || b->records < b->max_records);
}

bool buffer_write(struct buffer *b, const struct held *h)
{
    uint8_t *to = b->data + b->used;
    if (h->timed && !add_pending(b, b->used, &h->t))
        return false;
    memcpy(to + sizeof(uint32_t), h->record + sizeof(uint32_t), h->bytes - sizeof(uint32_t));
    uint32_t kind;
    memcpy(&kind, h->record, sizeof kind);
    atomic_store_explicit((_Atomic uint32_t *)(void *)to, kind, memory_order_release);
    b->used += h->bytes;
    b->records++;
    return true;
}

size_t buffer_write_held(struct buffer *b)
{
    size_t lost = 0;
    while (b->held_count)
        lost += !buffer_write(b, &b->held[--b->held_count]);
    return lost;
}

bool buffer_write_disordered(struct buffer *b, const struct held *h)
{
    if (b->held_count < HELD) {
        b->held[b->held_count++] = *h;
        return true;
    }
    struct held *out = &b->held[buffer_random() % HELD];
    bool ok = buffer_write(b, out);
    *out = *h;
    return ok;
}
