/* CUPTI's buffers in a spool: finds those that may be read, walks their records, and frees them. */
#include "analyzer/collector/spool/spool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum taken { NOT_TAKEN, READ, ASIDE };
enum {
    MOST_ASIDE = 2
}; /* the rows of one buffer, and SQLite's journal, need less space than two */

/* Decodes the records of a buffer, which follow each other up to the first kind 0. Their sizes by
 * kind come from the spool's header. */
static void walk(struct spool *s, struct spool_out *out, const uint8_t *data, uint64_t bytes)
{
    uint64_t at = 0;
    while (at + sizeof(uint32_t) <= bytes) {
        uint32_t kind;
        memcpy(&kind, data + at, sizeof kind);
        if (kind == 0)
            return;
        uint32_t stride = kind < SPOOL_STRIDES ? s->h->stride[kind] : 0;
        if (stride < 8 || stride > bytes - at) {
            s->lost.cut_buffers++;
            return;
        }
        spool_put_record(s, out, data + at, stride);
        at += stride;
    }
}

struct ready {
    uint64_t seq;
    uint32_t index;
};

static int by_seq(const void *a, const void *b)
{
    uint64_t x = ((const struct ready *)a)->seq, y = ((const struct ready *)b)->seq;
    return (x > y) - (x < y);
}

static struct spool_buffer_desc *desc_at(const struct spool *s, uint32_t i)
{
    return (struct spool_buffer_desc *)(void *)(s->map + s->fixed.descs_off) + i;
}

/* Lists the buffers that may be read, in the order in which CUPTI requested them. */
static size_t list_ready(const struct spool *s, bool adopt, struct ready *ready)
{
    size_t n = 0;
    for (uint32_t i = 0; i < s->fixed.buffer_count; i++) {
        struct spool_buffer_desc *d = desc_at(s, i);
        uint32_t state = atomic_load_explicit(&d->state, memory_order_acquire);
        if (s->taken[i])
            continue;
        if (state == SPOOL_READY || (adopt && (state == SPOOL_OWNED || state == SPOOL_COMPLETE)))
            ready[n++] = (struct ready){atomic_load(&d->seq), i};
    }
    qsort(ready, n, sizeof *ready, by_seq);
    return n;
}

static void drain_one(struct spool *s, struct spool_out *out, uint32_t index, bool adopt)
{
    struct spool_buffer_desc *d = desc_at(s, index);
    uint8_t *data = s->map + s->fixed.buffers_off + (uint64_t)index * s->fixed.buffer_bytes;
    uint64_t bytes = s->fixed.buffer_bytes;
    if (atomic_load_explicit(&d->state, memory_order_acquire) != SPOOL_OWNED) {
        uint64_t valid = atomic_load_explicit(&d->valid_bytes, memory_order_acquire);
        bytes = valid < bytes ? valid : bytes;
    }
    s->unfinished = atomic_load(&d->state) == SPOOL_OWNED;
    walk(s, out, data, bytes);
    s->unfinished = false;
    if (adopt)
        return; /* the process is dead: leave the file as it is */
    s->taken[index] = READ;
    s->held_bytes += s->fixed.buffer_bytes; /* counts the whole buffer, however little of it is
                                               used */
    s->changed = true;
}

static void give_back_buffers(struct spool *s)
{
    for (uint32_t i = 0; i < s->fixed.buffer_count; i++) {
        if (s->taken[i] != READ)
            continue;
        struct spool_buffer_desc *d = desc_at(s, i);
        bool keep = s->saves && s->aside < MOST_ASIDE;
        uint64_t valid = atomic_load_explicit(&d->valid_bytes, memory_order_relaxed);
        uint32_t bytes = s->fixed.buffer_bytes;
        memset(s->map + s->fixed.buffers_off + (uint64_t)i * bytes, 0,
               valid < bytes ? valid : bytes);
        atomic_store_explicit(&d->valid_bytes, 0, memory_order_relaxed);
        atomic_store_explicit(&d->state, keep ? SPOOL_GONE : SPOOL_FREE, memory_order_release);
        s->taken[i] = keep ? ASIDE : NOT_TAKEN;
        s->aside += keep;
    }
}

/* Sets half of the free buffers aside. The program goes on recording into the others. */
static void set_aside(struct spool *s)
{
    uint64_t made = atomic_load(&s->h->counter[SPOOL_BUFFERS_MADE]);
    uint32_t n = made < s->fixed.buffer_count ? (uint32_t)made : s->fixed.buffer_count, free = 0;
    for (uint32_t i = 0; i < n; i++)
        free += atomic_load(&desc_at(s, i)->state) == SPOOL_FREE;
    for (uint32_t i = n; i-- > 0 && s->aside < (free + 1) / 2;) {
        uint32_t state = SPOOL_FREE;
        if (!atomic_compare_exchange_strong(&desc_at(s, i)->state, &state, SPOOL_GONE))
            continue;
        s->taken[i] = ASIDE;
        s->aside++;
    }
}

bool spool_has_spare(struct spool *s)
{
    if (s->h && !s->aside)
        set_aside(s);
    return s->aside > 0;
}

bool spool_give_up(struct spool *s)
{
    uint32_t i = 0, bytes = s->fixed.buffer_bytes;
    if (!spool_has_spare(s))
        return false;
    while (s->taken[i] != ASIDE)
        i++;
    s->taken[i] = NOT_TAKEN;
    s->aside--;
    return madvise(s->map + s->fixed.buffers_off + (uint64_t)i * bytes, bytes, MADV_REMOVE) == 0;
}

void spool_give_back(struct spool *s)
{
    if (s->map) {
        spool_give_back_rings(s); /* also rings of threads that have ended since */
        if (s->held_bytes)
            give_back_buffers(s);
    }
    s->held_bytes = s->held_of_ring = 0;
}

bool spool_drain_buffers(struct spool *s, struct spool_out *out, bool adopt)
{
    struct ready *ready = calloc(s->fixed.buffer_count + 1u, sizeof *ready);
    size_t n = ready ? list_ready(s, adopt, ready) : 0;
    s->were_ready = (uint32_t)n;
    if (n) {
        spool_read_anchors(s);
        spool_read_names(s, out);  /* first, because a pointer may belong to another kernel later */
        spool_drain_rings(s, out); /* first, because names of API functions come
                                      before records that use them */
    }
    for (size_t i = 0; i < n && (adopt || !s->tight || i == 0); i++)
        drain_one(s, out, ready[i].index, adopt);
    free(ready);
    return n > 0;
}
