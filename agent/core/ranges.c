/* Keeps the open ranges of each thread, and writes a record when one ends. */
#include "agent/core/ranges.h"

#include <string.h>

#include "agent/core/clock.h"
#include "agent/core/instrument.h"
#include "agent/core/window.h"

/* start of a range that will not be recorded: no clock was read */
static const int64_t UNWANTED = INT64_MIN;

static void record(struct thread *t, const struct open_range *r, uint32_t tid, unsigned depth,
                   int64_t end_ns)
{
    bool step = window_is_step(t, r->name, depth);
    struct spool_rec_range *rec =
        ring_reserve(t, step ? SPOOL_REC_STEP : SPOOL_REC_RANGE, sizeof *rec);
    if (rec) {
        rec->head.start_ns = r->start_ns;
        rec->head.end_ns = end_ns;
        rec->head.tid = tid;
        rec->name = r->name;
        rec->domain = r->domain;
        rec->depth = (uint16_t)depth;
        rec->flags = r->flags;
        rec->color = r->color;
        rec->payload = r->payload;
        ring_commit(t);
    }
    if (AGENT_UNLIKELY(r->comm))
        instruments_collective_ended(t, r, end_ns);
}

/* A range between windows that is neither a step mark nor a collective: its end writes no
 * record. */
static bool unwanted(const struct open_range *r)
{
    return window_closed() && !r->name && !r->comm;
}

void ranges_push(struct thread *t, const struct open_range *r)
{
    unsigned depth = t->block->depth++;
    if (depth >= THREAD_RANGES)
        return;
    struct open_range *open = &t->block->open[depth];
    *open = *r;
    open->start_ns = unwanted(r) ? UNWANTED : clock_now_ns();
    window_step(t, r->name, depth, open->start_ns, false);
    if (AGENT_UNLIKELY(r->comm))
        instruments_collective_begins(open);
}

void ranges_pop(struct thread *t, uint32_t domain)
{
    struct thread_block *b = t->block;
    if (b->depth == 0)
        return;
    if (b->depth > THREAD_RANGES) {
        b->depth--;
        agent_count(SPOOL_TOO_DEEP, 1);
        return;
    }
    unsigned i = b->depth - 1;
    while (i > 0 && b->open[i].domain != domain)
        i--;
    if (b->open[i].domain != domain)
        return;
    if (b->open[i].start_ns != UNWANTED)
        record(t, &b->open[i], t->tid, i, clock_now_ns());
    b->depth--;
    /* ranges of several domains may overlap, so this one need not be the innermost */
    if (AGENT_UNLIKELY(i < b->depth))
        memmove(&b->open[i], &b->open[i + 1], (b->depth - i) * sizeof b->open[0]);
}

void ranges_mark(struct thread *t, struct open_range *r)
{
    r->start_ns = clock_now_ns();
    r->flags = SPOOL_RANGE_MARK;
    record(t, r, t->tid, t->block->depth, r->start_ns);
}

/* ---- ranges with an id: any thread may end them ---- */

enum { SLOTS = 2048, TRIES = 16 };

static struct slot {
    _Atomic uint64_t id; /* 0: free; TAKEN: another thread fills or empties the slot */
    uint32_t word, tid;
    struct open_range range;
} slots[SLOTS];
static _Atomic uint64_t next_id = 1;
static const uint64_t TAKEN = UINT64_MAX;

/* Ids that the program gives may be pointers, so the hash uses all of their bits. */
static struct slot *slot_of(uint64_t id)
{
    return &slots[(id ^ id >> 11 ^ id >> 22) % SLOTS];
}

uint64_t ranges_start(struct thread *t, const struct open_range *r, uint64_t given)
{
    for (int i = 0; i < (given ? 1 : TRIES); i++) {
        uint64_t free = 0, id = given;
        if (!id)
            id = atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed);
        struct slot *s = slot_of(id);
        if (!atomic_compare_exchange_strong(&s->id, &free, TAKEN))
            continue;
        s->word = t->word;
        s->tid = t->tid;
        s->range = *r;
        s->range.flags = SPOOL_RANGE_STARTEND;
        s->range.start_ns = clock_now_ns();
        window_step(t, r->name, 0, s->range.start_ns, false);
        atomic_store_explicit(&s->id, id, memory_order_release);
        return id;
    }
    agent_count(SPOOL_RING_FULL, 1);
    return 0;
}

void ranges_end(struct thread *t, uint64_t id)
{
    int64_t now = clock_now_ns();
    struct slot *s = slot_of(id);
    uint64_t expected = id;
    if (id == 0 || !atomic_compare_exchange_strong(&s->id, &expected, TAKEN))
        return;
    struct open_range r = s->range;
    uint32_t word = s->word, tid = s->tid;
    atomic_store_explicit(&s->id, 0, memory_order_release);
    /* otherwise it started before a fork, and its names are in the parent's spool */
    if (word == t->word)
        record(t, &r, tid, 0, now);
}
