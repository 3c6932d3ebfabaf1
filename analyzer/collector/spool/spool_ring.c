/* Turns ring records into rows, and frees the rings' space. */
#include "analyzer/collector/spool/spool.h"
#include "base/secrets/secrets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies the text of a spool string. Returns its length, as the text may contain NULs. */
static size_t copy_text(const struct spool *s, uint32_t id, char *out, size_t size)
{
    uint64_t at = (uint64_t)id * 8, used = atomic_load(&s->h->strings_used);
    out[0] = 0;
    if (used > s->fixed.strings_cap || !id || at + sizeof(struct spool_string) > used)
        return 0;
    struct spool_string *e = (struct spool_string *)(void *)(s->map + s->fixed.strings_off + at);
    uint32_t n = atomic_load_explicit(&e->length, memory_order_acquire);
    if (n > used - at - sizeof *e)
        return 0;
    size_t keep = n < size - 1 ? n : size - 1;
    memcpy(out, e + 1, keep);
    out[keep] = 0;
    return keep;
}

/* A command line is stored as its words, each followed by a NUL. */
uint32_t spool_command(struct spool *s, struct spool_out *out, uint32_t id)
{
    char words[4096], text[4096];
    size_t n = copy_text(s, id, words, sizeof words);
    secrets_join(words, n, text, sizeof text);
    return spool_intern(out, text);
}

static void put_meta(struct spool *s, struct spool_out *out, const struct spool_rec_meta *r)
{
    char key[64], value[64];
    copy_text(s, r->key, key, sizeof key);
    int layer = strncmp(key, "cbid.runtime.", 13) == 0 ? 0 : strncmp(key, "cbid.driver.", 12) == 0;
    if (strncmp(key, "cbid.", 5) == 0) {
        unsigned long cbid = strtoul(strrchr(key, '.') + 1, NULL, 10);
        if (cbid < SPOOL_CBIDS)
            s->cbid[layer][cbid] = r->value;
        return;
    }
    copy_text(s, r->value, value, sizeof value);
    if (strcmp(key, "host") == 0) { /* has a column of its own, which --redact hides */
        s->host = r->value;
        s->row.host = spool_string(s, out, r->value);
        return;
    }
    bool command = strcmp(key, "command") == 0;
    uint32_t text = command ? spool_command(s, out, r->value) : spool_string(s, out, r->value);
    if (strcmp(key, "rank") == 0)
        s->row.rank = atoll(value);
    else if (strcmp(key, "local_rank") == 0)
        s->row.local_rank = atoll(value);
    else if (strcmp(key, "world_size") == 0)
        s->row.world_size = atoll(value);
    else if (command)
        s->row.command = text, s->command = r->value;
    else if (strcmp(key, "env.GPUPROF_VGPU") == 0)
        s->chose_virtual = true;
    struct row_meta row = {++out->ids[ROW_META], s->process, spool_string(s, out, r->key), text};
    spool_put(out, ROW_META, &row);
}

static void put_thread_name(struct spool *s, struct spool_out *out, const struct spool_rec_meta *r)
{
    spool_thread_id(s, out, r->head.tid);
    if (s->last_thread >= s->threads.n || s->threads.at[s->last_thread].tid != r->head.tid)
        return;
    s->threads.at[s->last_thread].name = spool_string(s, out, r->key);
    s->threads.at[s->last_thread].named = r->key;
}

static void put_health(struct spool *s, struct spool_out *out, const struct spool_rec_health *r)
{
    struct row_health row = {++out->ids[ROW_HEALTH],
                             s->process,
                             r->severity <= SPOOL_ERROR ? r->severity : 1,
                             spool_string(s, out, r->code),
                             spool_string(s, out, r->text),
                             r->value};
    spool_put(out, ROW_HEALTH, &row);
    if (row.code == spool_intern(out, "cupti-free"))
        s->late_ns = spool_time(s, r->head.start_ns);
}

static void put_range(struct spool *s, struct spool_out *out, const struct spool_rec_range *r)
{
    if (r->flags & SPOOL_RANGE_MARK)
        return;
    s->has_ranges = true;
    struct row_range row = {.id = ++out->ids[ROW_RANGE],
                            .process = s->process,
                            .thread = spool_thread_id(s, out, r->head.tid),
                            .start_ns = spool_time(s, r->head.start_ns),
                            .end_ns = spool_time(s, r->head.end_ns),
                            .name = spool_string(s, out, r->name),
                            .domain = spool_string(s, out, r->domain),
                            .depth = r->depth,
                            .payload = (int64_t)r->payload};
    spool_put(out, ROW_RANGE, &row);
}

static void put_collective(struct spool *s, struct spool_out *out, const struct spool_rec_call *r)
{
    struct row_collective row = {.id = ++out->ids[ROW_COLLECTIVE],
                                 .process = s->process,
                                 .thread = spool_thread_id(s, out, r->head.tid),
                                 .start_ns = spool_time(s, r->head.start_ns),
                                 .end_ns = spool_time(s, r->head.end_ns),
                                 .name = spool_string(s, out, r->function),
                                 .kernel = -1,
                                 .communicator = (int64_t)r->comm,
                                 .sequence = (int64_t)r->sequence,
                                 .bytes = r->bytes,
                                 .dtype = r->in_type,
                                 .ranks = r->dim[0],
                                 .rank = r->dim[1],
                                 .root = r->dim[2]};
    spool_put(out, ROW_COLLECTIVE, &row);
}

static void put_call(struct spool *s, struct spool_out *out, const struct spool_rec_call *r)
{
    if (r->family == SPOOL_CALL_COLLECTIVE) {
        put_collective(s, out, r);
        return;
    }
    s->has_calls = true;
    spool_note_call(s, spool_time(s, r->head.start_ns));
    struct row_call row = {.id = ++out->ids[ROW_CALL],
                           .process = s->process,
                           .thread = spool_thread_id(s, out, r->head.tid),
                           .start_ns = spool_time(s, r->head.start_ns),
                           .end_ns = spool_time(s, r->head.end_ns),
                           .function = spool_string(s, out, r->function),
                           .family = r->family,
                           .in_type = r->in_type,
                           .weight_type = r->weight_type,
                           .out_type = r->out_type,
                           .compute_type = r->compute_type,
                           .in_layout = r->in_layout,
                           .weight_layout = r->weight_layout,
                           .math = r->math,
                           .algo = r->algo,
                           .workspace_bytes = r->bytes};
    for (int i = 0; i < 12; i++)
        row.dim[i] = r->dim[i];
    spool_put(out, ROW_CALL, &row);
}

static void put_loader(struct spool *s, struct spool_out *out, const struct spool_rec_loader *r)
{
    s->has_loader = true;
    struct row_loader row = {.id = ++out->ids[ROW_LOADER],
                             .process = s->process,
                             .thread = spool_thread_id(s, out, r->head.tid),
                             .start_ns = spool_time(s, r->head.start_ns),
                             .end_ns = spool_time(s, r->head.end_ns),
                             .what = r->what,
                             .worker = r->worker,
                             .batch = r->loader,
                             .cpu_ns = r->cpu_ns};
    spool_put(out, ROW_LOADER, &row);
}

/* Turns one record into rows. A record of an unknown kind, or one shorter than its kind's struct,
 * only counts as lost. A stack may be longer than the copy, so drain_ring has already read it. */
static void put_record(struct spool *s, struct spool_out *out, const void *record, uint16_t kind,
                       size_t size)
{
    static const uint8_t least[] = {[SPOOL_REC_META] = sizeof(struct spool_rec_meta),
                                    [SPOOL_REC_HEALTH] = sizeof(struct spool_rec_health),
                                    [SPOOL_REC_RANGE] = sizeof(struct spool_rec_range),
                                    [SPOOL_REC_CALL] = sizeof(struct spool_rec_call),
                                    [SPOOL_REC_LOADER] = sizeof(struct spool_rec_loader),
                                    [SPOOL_REC_THREAD] = sizeof(struct spool_rec_meta),
                                    [SPOOL_REC_STEP] = sizeof(struct spool_rec_range),
                                    [SPOOL_REC_SILENT] = sizeof(struct spool_rec_silent),
                                    [SPOOL_REC_LINE] = sizeof(struct spool_rec_line),
                                    [SPOOL_REC_SEARCH] = sizeof(struct spool_rec_call),
                                    [SPOOL_REC_PIECE] = sizeof(struct spool_rec_piece)};
    if (kind == SPOOL_REC_PAD || kind == SPOOL_REC_STACK)
        return;
    if (kind >= sizeof least || size < least[kind]) {
        s->lost.unknown_kinds++;
        return;
    }
    const struct spool_rec *head = record;
    /* a silence that still lasts has end_ns INT64_MAX, which is not a time */
    if (head->end_ns != INT64_MAX && spool_time(s, head->end_ns) > s->newest_ns)
        s->newest_ns = spool_time(s, head->end_ns);
    switch (kind) {
    case SPOOL_REC_META:
        put_meta(s, out, record);
        break;
    case SPOOL_REC_HEALTH:
        put_health(s, out, record);
        break;
    case SPOOL_REC_STEP:
        spool_add_step(s, record);
        put_range(s, out, record);
        break;
    case SPOOL_REC_RANGE:
        put_range(s, out, record);
        break;
    case SPOOL_REC_CALL:
    case SPOOL_REC_SEARCH:
        put_call(s, out, record);
        break;
    case SPOOL_REC_SILENT:
        spool_add_silence(s, record);
        break;
    case SPOOL_REC_LINE:
        spool_add_line(s, out, record);
        break;
    case SPOOL_REC_PIECE:
        spool_add_piece(s, out, record);
        break;
    case SPOOL_REC_LOADER:
        put_loader(s, out, record);
        break;
    default:
        put_thread_name(s, out, record);
        break;
    }
}

/* Reads a ring up to head. Its thread gets the space back when the rows are safe. */
static void drain_ring(struct spool *s, struct spool_out *out, const struct spool_ring *ring,
                       uint32_t i, uint64_t head)
{
    uint32_t bytes = s->fixed.ring_bytes;
    const uint8_t *data = s->map + s->fixed.ring_data_off + (uint64_t)i * bytes;
    uint64_t given = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint64_t tail = s->read[i] ? s->read[i] : given, from = tail;
    if (head < tail || head - tail > bytes || (head != tail && (head | tail) % 8)) {
        s->lost.bad_records++;
        tail = head;
    }
    union {
        struct spool_rec head;
        struct spool_rec_call call;
        uint8_t bytes[sizeof(struct spool_rec_call)];
    } copy; /* large enough for the longest known record; checks use this private copy */
    while (tail < head) {
        uint32_t at = (uint32_t)(tail & (bytes - 1)), left = bytes - at;
        uint16_t kind, size;
        memcpy(&kind, data + at, sizeof kind);
        memcpy(&size, data + at + 2, sizeof size);
        if (size < 8 || size % 8 || size > left || size > head - tail) {
            s->lost.bad_records++;
            tail = head;
            break;
        }
        if (kind == SPOOL_REC_STACK)
            spool_add_stack(s, out, data + at, size);
        size_t keep = size < sizeof copy ? size : sizeof copy;
        memcpy(copy.bytes, data + at, keep);
        put_record(s, out, copy.bytes, kind, size);
        tail += size;
    }
    if (tail == from)
        return;
    s->changed = true;
    s->read[i] = tail;
    s->held_bytes += tail - from;
    if (tail - given > s->held_of_ring)
        s->held_of_ring = tail - given;
}

/* Frees the ring of a thread that has ended, unless another thread has taken it by now. */
static void free_closed(struct spool_ring *ring)
{
    uint32_t state = SPOOL_RING_CLOSED;
    if (!atomic_compare_exchange_strong(&ring->state, &state, SPOOL_RING_FREE))
        return;
    state = SPOOL_RING_FREE; /* another thread may have taken it, and ended as well */
    if (atomic_load(&ring->head) != atomic_load(&ring->tail))
        atomic_compare_exchange_strong(&ring->state, &state, SPOOL_RING_CLOSED);
}

/* Frees a ring whose thread went on in another one. Returns that ring's index, which may be read
 * now; ring_count: none. Releases the next ring first, so that a collector killed in between leaves
 * no ring that waits for a free one. */
static uint32_t free_left(struct spool *s, struct spool_ring *rings, uint32_t i)
{
    uint32_t next = atomic_load(&rings[i].next);
    bool goes_on = next != 0 && next <= s->fixed.ring_count;
    if (goes_on)
        atomic_store(&rings[next - 1].after, 0);
    atomic_store(&rings[i].next, 0);
    atomic_store_explicit(&rings[i].state, SPOOL_RING_FREE, memory_order_release);
    return goes_on ? next - 1 : s->fixed.ring_count;
}

/* Reads a ring, and then those in which its thread went on. */
static void drain_from(struct spool *s, struct spool_out *out, struct spool_ring *rings, uint32_t i)
{
    uint32_t before = 0; /* index + 1 of the ring before it */
    for (uint32_t n = 0; n < s->fixed.ring_count && i < s->fixed.ring_count; n++) {
        uint32_t state = atomic_load_explicit(&rings[i].state, memory_order_acquire);
        uint64_t head = atomic_load_explicit(&rings[i].head, memory_order_acquire);
        if (state == SPOOL_RING_FREE || atomic_load(&rings[i].after) != before)
            return;
        drain_ring(s, out, &rings[i], i, head);
        if (state != SPOOL_RING_LEFT)
            return;
        before = i + 1;
        i = atomic_load(&rings[i].next) - 1; /* 0 - 1 is far beyond the last ring */
    }
}

static struct spool_ring *rings_of(const struct spool *s, uint32_t *used)
{
    *used = atomic_load_explicit(&s->h->rings_used, memory_order_acquire);
    if (*used > s->fixed.ring_count)
        *used = s->fixed.ring_count;
    return (struct spool_ring *)(void *)(s->map + s->fixed.rings_off);
}

void spool_drain_rings(struct spool *s, struct spool_out *out)
{
    uint32_t used;
    spool_read_windows(s);
    struct spool_ring *rings = rings_of(s, &used);
    for (uint32_t i = 0; i < used; i++)
        drain_from(s, out, rings, i);
}

static void give_back_from(struct spool *s, struct spool_ring *rings, uint32_t i)
{
    for (uint32_t n = 0; n < s->fixed.ring_count && i < s->fixed.ring_count; n++) {
        uint32_t state = atomic_load_explicit(&rings[i].state, memory_order_acquire);
        uint64_t head = atomic_load_explicit(&rings[i].head, memory_order_acquire);
        if (state == SPOOL_RING_FREE || atomic_load(&rings[i].after))
            return;
        if (s->read[i])
            atomic_store_explicit(&rings[i].tail, s->read[i], memory_order_release);
        s->read[i] = 0;
        if (atomic_load_explicit(&rings[i].tail, memory_order_relaxed) != head)
            return; /* more was written meanwhile */
        if (state == SPOOL_RING_CLOSED)
            free_closed(&rings[i]);
        if (state != SPOOL_RING_LEFT)
            return;
        i = free_left(s, rings, i);
    }
}

void spool_give_back_rings(struct spool *s)
{
    uint32_t used;
    struct spool_ring *rings = rings_of(s, &used);
    for (uint32_t i = 0; i < used; i++)
        give_back_from(s, rings, i);
}
