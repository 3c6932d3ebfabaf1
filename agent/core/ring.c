/* The rings of records: each thread writes into its own, and the collector alone reads them
 * (spool_format.h). */
#include "agent/core/spool.h"

#include <string.h>
#include <sys/mman.h>

#include "agent/core/clock.h"
#include "agent/core/instrument.h"
#include "agent/core/window.h"

/* Once a ring holds EARLY_BYTES that the collector has not read, the agent's thread makes
 * SPARE_RINGS empty rings for its thread to go on in. The thread looks again every EARLY_BYTES: a
 * collector that had caught up may be gone since. */
enum { EARLY_BYTES = SPOOL_RING_BYTES / 4, SPARE_RINGS = 4 };

static struct spool_ring *ring_at(uint32_t i)
{
    return (struct spool_ring *)((char *)agent.spool + agent.spool->rings_off) + i;
}

/* What this process has made for each ring, once: room on disk, touched pages, and the block of its
 * thread. A later thread that gets the ring uses them again, so a program needs only as many rings
 * as it has threads at one time. */
static struct {
    /* of the spool in which the ring has room; any other value: it has no room yet */
    _Atomic uint32_t generation;
    struct thread_block *block; /* the block of the thread that has the ring or had it last */
} made[SPOOL_RINGS];

static bool take(uint32_t i, uint32_t state)
{
    return atomic_compare_exchange_strong_explicit(&ring_at(i)->state, &state, SPOOL_RING_OPEN,
                                                   memory_order_acquire, memory_order_relaxed);
}

static bool is_made(uint32_t i)
{
    return atomic_load_explicit(&made[i].generation, memory_order_acquire) == agent.generation;
}

static bool has_room(uint32_t i)
{
    const struct spool_ring *r = ring_at(i);
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    return atomic_load_explicit(&r->head, memory_order_relaxed) - tail < SPOOL_RING_BYTES / 2;
}

/* Takes a ring for the calling thread: best one that is made and has room, perhaps of a thread that
 * has ended; else a new one; else any that no thread holds. UINT32_MAX: none is left. */
static uint32_t claim(void)
{
    for (int choice = 0; choice < 3; choice++)
        for (uint32_t i = 0; i < agent.spool->ring_count; i++) {
            uint32_t state = atomic_load_explicit(&ring_at(i)->state, memory_order_relaxed);
            if (state == SPOOL_RING_OPEN || state == SPOOL_RING_LEFT ||
                (choice == 0 && !(is_made(i) && has_room(i))) || (choice == 1 && is_made(i)))
                continue;
            if (take(i, state))
                return i;
        }
    return UINT32_MAX;
}

static struct thread_block *block_map(void)
{
    void *p = mmap(NULL, sizeof(struct thread_block), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* Gives ring i room on disk and touched pages. The caller has taken the ring. -1: no room. */
static int make(uint32_t i)
{
    uint64_t off = agent.spool->ring_data_off + (uint64_t)i * SPOOL_RING_BYTES;
    uint32_t used = atomic_load(&agent.spool->rings_used);
    while (used <= i && !atomic_compare_exchange_weak(&agent.spool->rings_used, &used, i + 1))
        ;
    if (spool_grow(off, SPOOL_RING_BYTES) != 0)
        return -1;
    if (made[i].block)
        /* a parent's: its names were in the parent's spool */
        memset(made[i].block, 0, sizeof *made[i].block);
    atomic_store_explicit(&made[i].generation, agent.generation, memory_order_release);
    return 0;
}

static void write_to(struct thread *t, uint32_t i)
{
    struct spool_ring *r = ring_at(i);
    atomic_store(&r->tid, t->tid);
    t->ring = r;
    t->data = (char *)agent.spool + agent.spool->ring_data_off + (uint64_t)i * SPOOL_RING_BYTES;
    t->head = t->pending = atomic_load(&r->head);
    t->tail = atomic_load(&r->tail);
    t->look_at = t->tail + EARLY_BYTES;
}

int ring_open(struct thread *t)
{
    uint32_t i = claim();
    t->block = NULL;
    t->ring = NULL;
    if (i == UINT32_MAX)
        return -1;
    struct spool_ring *r = ring_at(i);
    if ((!is_made(i) && make(i) != 0) || (!made[i].block && !(made[i].block = block_map()))) {
        atomic_store(&r->state, SPOOL_RING_FREE);
        return -1;
    }
    t->block = made[i].block;
    t->block->depth = 0; /* ring and block keep the cache of names: it still holds */
    t->in_call = false;
    write_to(t, i);
    return 0;
}

void ring_close(struct thread *t)
{
    if (t->ring)
        atomic_store_explicit(&t->ring->state, SPOOL_RING_CLOSED, memory_order_release);
    t->ring = NULL;
    t->block = NULL;
}

/* ---- a ring that is full ---- */

static _Atomic bool wanted; /* a ring has filled up since the agent's thread last made some */

/* Takes a ring that is made and empty. UINT32_MAX: there is none. */
static uint32_t claim_spare(void)
{
    uint32_t n = atomic_load_explicit(&agent.spool->rings_used, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++) {
        struct spool_ring *r = ring_at(i);
        if (atomic_load_explicit(&r->state, memory_order_relaxed) != SPOOL_RING_FREE ||
            !is_made(i) || !take(i, SPOOL_RING_FREE))
            continue;
        if (atomic_load(&r->head) == atomic_load(&r->tail))
            return i;
        atomic_store_explicit(&r->state, SPOOL_RING_CLOSED, memory_order_release);
    }
    return UINT32_MAX;
}

/* True while there are SPOOL_THREADS rings left for new threads. */
static bool may_make(void)
{
    uint32_t n = agent.spool->ring_count, count = 0;
    for (uint32_t i = 0; i < n; i++)
        count += is_made(i);
    return count < n - SPOOL_THREADS;
}

/* Makes a ring that stays empty and free. -1: no room. */
static int make_spare(void)
{
    for (uint32_t i = 0; i < agent.spool->ring_count; i++) {
        if (is_made(i) || !take(i, SPOOL_RING_FREE))
            continue;
        int rc = is_made(i) ? 0 : make(i);
        atomic_store_explicit(&ring_at(i)->state, SPOOL_RING_FREE, memory_order_release);
        return rc;
    }
    return -1;
}

/* How many rings the agent's thread should make: SPARE_RINGS for each ring that fills up, less
 * those that are ready. */
static int missing(void)
{
    int n = 0;
    for (uint32_t i = 0; i < atomic_load(&agent.spool->rings_used); i++) {
        struct spool_ring *r = ring_at(i);
        uint32_t state = atomic_load(&r->state);
        uint64_t tail = atomic_load(&r->tail), head = atomic_load(&r->head);
        if (state == SPOOL_RING_OPEN && head - tail >= EARLY_BYTES)
            n += SPARE_RINGS;
        n -= state == SPOOL_RING_FREE && is_made(i);
    }
    return n;
}

int rings_prepare(void)
{
    if (!atomic_exchange(&wanted, false))
        return 0;
    for (int n = missing(); n > 0 && may_make(); n--)
        if (make_spare() != 0)
            return -1;
    return 0;
}

/* A ring in which thread t goes on, or UINT32_MAX. If the agent has no thread of its own to make
 * one, t makes it here, as it made its first one: 0.2 ms for a MiB of records. After a failure no
 * thread tries again for a millisecond. */
static uint32_t find_spare(struct thread *t)
{
    enum { DRY_NS = 1000000 };
    static _Atomic int64_t dry_until_ns;
    uint32_t i = claim_spare();
    if (i != UINT32_MAX)
        return i;
    atomic_store(&wanted, true);
    if (!t->is_agent && instruments_wake())
        return UINT32_MAX;
    int64_t now_ns = clock_now_ns();
    if (now_ns < atomic_load_explicit(&dry_until_ns, memory_order_relaxed))
        return UINT32_MAX;
    if (may_make() && make_spare() == 0)
        return claim_spare();
    atomic_store_explicit(&dry_until_ns, now_ns + DRY_NS, memory_order_relaxed);
    return UINT32_MAX;
}

static bool go_on(struct thread *t)
{
    uint32_t i = find_spare(t), from = (uint32_t)(t->ring - ring_at(0));
    if (i == UINT32_MAX)
        return false;
    made[from].block = made[i].block;
    made[i].block = t->block;
    atomic_store_explicit(&ring_at(i)->after, from + 1, memory_order_relaxed);
    atomic_store_explicit(&t->ring->next, i + 1, memory_order_relaxed);
    atomic_store_explicit(&t->ring->state, SPOOL_RING_LEFT, memory_order_release);
    write_to(t, i);
    agent_count(SPOOL_RINGS_LEFT, 1);
    return true;
}

/* Looks for room for `need` bytes, in the thread's ring and then in another one. False: none;
 * counted. */
static __attribute__((noinline)) bool find_room(struct thread *t, uint64_t need)
{
    t->tail = atomic_load_explicit(&t->ring->tail, memory_order_acquire);
    if (t->head + need - t->tail <= SPOOL_RING_BYTES || go_on(t))
        return true;
    agent_count(SPOOL_RING_FULL, 1);
    return false;
}

void *ring_reserve(struct thread *t, enum spool_rec_kind kind, size_t bytes)
{
    if (AGENT_UNLIKELY(!t->ring)) {
        agent_count(SPOOL_NO_RING, 1);
        return NULL;
    }
    uint32_t control = spool_control();
    if (AGENT_UNLIKELY((control != SPOOL_RUN || window_closed()) && !t->is_agent)) {
        if (control == SPOOL_STOP)
            agent_stop_asked();
        if (control == SPOOL_STOP || !window_allows(kind, control))
            return NULL;
    }
    if (AGENT_UNLIKELY(kind == SPOOL_REC_STEP))
        instruments_step_over(t);
    uint64_t size = AGENT_ALIGN(bytes, 8), at = t->head % SPOOL_RING_BYTES;
    uint64_t left = SPOOL_RING_BYTES - at, need = size <= left ? size : left + size;
    if (AGENT_UNLIKELY(t->head + need - t->tail > SPOOL_RING_BYTES)) {
        if (!find_room(t, need))
            return NULL;
        at = t->head % SPOOL_RING_BYTES; /* find_room may have changed the ring */
        left = SPOOL_RING_BYTES - at;
        need = size <= left ? size : left + size;
    }
    if (AGENT_UNLIKELY(size > left)) {
        struct spool_rec *pad = (struct spool_rec *)(t->data + at);
        pad->kind = SPOOL_REC_PAD;
        pad->size = (uint16_t)left;
        pad->tid = t->tid;
        at = 0;
    }
    struct spool_rec *r = (struct spool_rec *)(t->data + at);
    memset(r, 0, size);
    r->kind = (uint16_t)kind;
    r->size = (uint16_t)size;
    r->tid = t->tid;
    t->pending = t->head + need;
    return r;
}

void ring_trim(struct thread *t, struct spool_rec *r, size_t size)
{
    uint16_t less = (uint16_t)AGENT_ALIGN(size, 8);
    t->pending -= (uint64_t)(r->size - less);
    r->size = less;
}

/* If the ring is a quarter full, wakes the collector and the agent's thread. This early, because
 * the agent's thread may get a core late. */
static __attribute__((noinline)) void look_ahead(struct thread *t)
{
    t->tail = atomic_load_explicit(&t->ring->tail, memory_order_acquire);
    if (t->head - t->tail < EARLY_BYTES) {
        t->look_at = t->tail + EARLY_BYTES;
        return;
    }
    t->look_at = t->head + EARLY_BYTES;
    spool_wake();
    atomic_store(&wanted, true);
    instruments_wake();
}

void ring_commit(struct thread *t)
{
    t->head = t->pending;
    atomic_store_explicit(&t->ring->head, t->head, memory_order_release);
    if (AGENT_UNLIKELY(atomic_load_explicit(&instruments_asleep, memory_order_relaxed)) &&
        !t->is_agent)
        instruments_rouse();
    if (AGENT_UNLIKELY(t->head >= t->look_at))
        look_ahead(t);
}
