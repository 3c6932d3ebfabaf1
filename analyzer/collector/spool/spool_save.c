/* Saves what a collector knows of a process besides its rows and its spool, as bytes, so that
 * another collector can continue after a kill. The same walk over the members writes and reads
 * them. Texts are not saved, only their places in the spool. */
#include "analyzer/collector/spool/spool.h"

#include <string.h>

enum { VERSION = 4 };

struct walk {
    struct spool_bytes *to; /* NULL: reading */
    const uint8_t *at;
    size_t left;
    bool failed;
};

static void put_bytes(struct walk *w, const void *bytes, size_t n)
{
    size_t need = w->to->n + n, cap = w->to->cap ? w->to->cap : 4096;
    while (cap < need)
        cap *= 2;
    if (cap > w->to->cap) {
        uint8_t *at = realloc(w->to->at, cap);
        if (!at) {
            w->failed = true;
            return;
        }
        w->to->at = at;
        w->to->cap = cap;
    }
    memcpy(w->to->at + w->to->n, bytes, n);
    w->to->n += n;
}

static void one(struct walk *w, void *member, size_t n)
{
    if (n == 0 || w->failed)
        return;
    if (w->to) {
        put_bytes(w, member, n);
    } else if (n > w->left) {
        w->failed = true;
    } else {
        memcpy(member, w->at, n);
        w->at += n;
        w->left -= n;
    }
}

/* Writes or reads the number of following entries of `size` bytes. When reading, fails if more are
 * stated than bytes are left. */
static uint64_t count(struct walk *w, uint64_t n, size_t size)
{
    one(w, &n, sizeof n);
    if (!w->to && n > w->left / size)
        w->failed = true;
    return w->failed ? 0 : n;
}

static void list(struct walk *w, void **at, size_t *n, size_t *cap, size_t size)
{
    uint64_t many = count(w, *n, size);
    if (!w->to)
        for (*n = 0; *n < many;)
            if (!vec_push_(at, n, cap, size)) {
                w->failed = true;
                return;
            }
    one(w, *at, (size_t)many * size);
}

#define ONE(member)  one(w, &(member), sizeof(member))
#define LIST(member) list(w, (void **)&(member).at, &(member).n, &(member).cap, sizeof *(member).at)

static void walk_process(struct walk *w, struct spool *s)
{
    ONE(s->process);
    ONE(s->row);
    ONE(s->command);
    ONE(s->host);
    ONE(s->chose_virtual);
    ONE(s->newest_ns);
    ONE(s->epoch);
    ONE(s->last_correlation);
    ONE(s->has_ranges);
    ONE(s->has_calls);
    ONE(s->has_loader);
    ONE(s->has_events);
    LIST(s->threads);
    LIST(s->streams);
    LIST(s->devices);
    LIST(s->contexts);
}

static void walk_times(struct walk *w, struct spool *s)
{
    LIST(s->windows);
    ONE(s->windows_seen);
    ONE(s->cut_correlation);
    LIST(s->silences);
    ONE(s->calls_seen);
    ONE(s->next_call);
    ONE(s->newest_id);
    ONE(s->same_ids);
    LIST(s->waits_held);
    ONE(s->last_call_ns);
    ONE(s->last_record_ns);
    ONE(s->cupti_told);
    ONE(s->late_ns);
    LIST(s->blocks);
    ONE(s->block_steps);
    ONE(s->steps);
    ONE(s->last_step_ns);
    ONE(s->last_step_end_ns);
}

static void walk_losses(struct walk *w, struct spool *s)
{
    ONE(s->lost.unnamed);
    ONE(s->unnamed_devices);
    ONE(s->lost.off_clock);
    ONE(s->lost.untimed);
    ONE(s->lost.unasked);
    ONE(s->unplaced);
    ONE(s->near_ns);
    ONE(s->lost.in_flight);
    ONE(s->lost.unknown_kinds);
    ONE(s->lost.cut_buffers);
    ONE(s->lost.bad_records);
}

/* Names of API functions; few numbers have one. */
static void walk_names(struct walk *w, struct spool *s)
{
    struct name {
        uint32_t number, name;
    } one_name;
    uint64_t named = 0;
    uint32_t *names = s->cbid[0];
    for (uint32_t i = 0; i < 2 * SPOOL_CBIDS; i++)
        named += names[i] != 0;
    named = count(w, named, sizeof one_name);
    for (uint32_t i = 0; named > 0; i++) {
        if (w->to && !names[i])
            continue;
        one_name = (struct name){i, w->to ? names[i] : 0};
        one(w, &one_name, sizeof one_name);
        if (one_name.number < 2 * SPOOL_CBIDS)
            names[one_name.number] = one_name.name;
        named--;
    }
}

static struct spool_buffer_desc *desc_at(const struct spool *s, uint32_t i)
{
    return (struct spool_buffer_desc *)(void *)(s->map + s->fixed.descs_off) + i;
}

/* A part of the spool that was read but not freed. If the killed collector did free it, the spool
 * shows that: the ring's tail is at or beyond `at`, or the buffer has another number. */
struct held {
    uint32_t index, is_ring;
    uint64_t at; /* how far the ring is read, or the buffer's number */
};

static void take_held(struct spool *s, const struct held *h)
{
    struct spool_ring *rings = (struct spool_ring *)(void *)(s->map + s->fixed.rings_off);
    if (h->is_ring && h->index < s->fixed.ring_count) {
        uint64_t tail = atomic_load(&rings[h->index].tail);
        s->read[h->index] = h->at > tail ? h->at : 0;
    } else if (!h->is_ring && h->index < s->fixed.buffer_count) {
        struct spool_buffer_desc *d = desc_at(s, h->index);
        s->taken[h->index] = atomic_load(&d->state) == SPOOL_READY && atomic_load(&d->seq) == h->at;
    }
}

static uint64_t count_held(const struct spool *s)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < s->fixed.ring_count; i++)
        n += s->read[i] != 0;
    for (uint32_t i = 0; i < s->fixed.buffer_count; i++)
        n += s->taken[i];
    return n;
}

static void walk_held(struct walk *w, struct spool *s)
{
    struct held h = {0};
    uint64_t n = count(w, w->to ? count_held(s) : 0, sizeof h);
    for (; !w->to && n > 0 && !w->failed; n--) {
        one(w, &h, sizeof h);
        take_held(s, &h);
    }
    for (uint32_t i = 0; w->to && i < s->fixed.ring_count; i++)
        if (s->read[i])
            one(w, &(struct held){i, 1, s->read[i]}, sizeof h);
    for (uint32_t i = 0; w->to && i < s->fixed.buffer_count; i++)
        if (s->taken[i])
            one(w, &(struct held){i, 0, atomic_load(&desc_at(s, i)->seq)}, sizeof h);
}

static void walk_all(struct walk *w, struct spool *s)
{
    uint32_t version = VERSION, bytes = (uint32_t)sizeof *s;
    ONE(version);
    ONE(bytes);
    if (version != VERSION || bytes != (uint32_t)sizeof *s)
        w->failed = true;
    ONE(s->done);
    if (s->done) /* all of its rows are committed */
        return;
    walk_process(w, s);
    walk_times(w, s);
    walk_losses(w, s);
    walk_names(w, s);
    walk_held(w, s);
}

int spool_save(struct spool *s, struct spool_bytes *to)
{
    struct walk w = {.to = to};
    to->n = 0;
    walk_all(&w, s);
    return w.failed ? -1 : 0;
}

/* Releases rings that wait for one that is no longer before them: a collector may have been killed
 * while it freed that ring. */
static void free_waiting(struct spool *s)
{
    struct spool_ring *rings = (struct spool_ring *)(void *)(s->map + s->fixed.rings_off);
    for (uint32_t i = 0; i < s->fixed.ring_count; i++) {
        uint32_t after = atomic_load(&rings[i].after);
        if (after && (after > s->fixed.ring_count || atomic_load(&rings[after - 1].next) != i + 1))
            atomic_store(&rings[i].after, 0);
    }
}

static uint32_t thread_name(struct spool *s, struct spool_out *out, struct spool_thread *t)
{
    t->comm[sizeof t->comm - 1] = 0;
    if (t->named)
        return spool_string(s, out, t->named);
    return t->comm[0] ? spool_intern(out, t->comm) : 0;
}

int spool_load(struct spool *s, struct spool_out *out, const void *bytes, size_t n)
{
    struct walk w = {.at = bytes, .left = n};
    walk_all(&w, s);
    if (w.failed)
        return -1;
    if (s->done)
        return 0;
    free_waiting(s);
    spool_read_anchors(s);
    spool_read_names(s, out);
    s->row.command = s->command ? spool_command(s, out, s->command) : 0;
    s->row.host = s->host ? spool_string(s, out, s->host) : 0;
    for (size_t i = 0; i < s->threads.n; i++)
        s->threads.at[i].name = thread_name(s, out, &s->threads.at[i]);
    for (size_t i = 0; i < s->devices.n; i++) {
        struct spool_device *d = &s->devices.at[i];
        int64_t unknown = 0;
        d->uuid[sizeof d->uuid - 1] = 0;
        d->row.name = d->name ? spool_name(s, out, d->name, &unknown) : 0;
        d->row.uuid = spool_intern(out, d->uuid);
        d->asked = false;
        d->gauges_device = NULL;
    }
    return 0;
}
