/* One ring a thread: single producer, and the collector as single consumer (spool_format.h). */
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "agent/core/clock.h"
#include "agent/core/window.h"
#include "agent/core/spool.h"

static struct spool_ring *ring_at(uint32_t i)
{
    return (struct spool_ring *)((char *)agent.spool + agent.spool->rings_off) + i;
}

/* What a ring has needs making once: disk and pages, and the thread's block. The next thread that
 * gets the ring finds them, so threads that come and go take as many as there are at once. */
static struct {
    _Atomic uint32_t generation; /* of the spool that has room for it; else it has none yet */
    struct thread_block *block;  /* its thread's, or of the one that was */
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

/* Best of all one that is made and has room, also that of a thread that has ended; else a new one;
 * else whatever nobody has. */
static uint32_t claim(void)
{
    for (int choice = 0; choice < 3; choice++)
        for (uint32_t i = 0; i < agent.spool->ring_count; i++) {
            uint32_t state = atomic_load_explicit(&ring_at(i)->state, memory_order_relaxed);
            if (state == SPOOL_RING_OPEN || (choice == 0 && !(is_made(i) && has_room(i))) ||
                (choice == 1 && is_made(i)))
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

/* By the thread that has taken the ring. */
static int make(uint32_t i)
{
    uint64_t off = agent.spool->ring_data_off + (uint64_t)i * SPOOL_RING_BYTES;
    if (spool_grow(off, SPOOL_RING_BYTES) != 0)
        return -1;
    if (!made[i].block && !(made[i].block = block_map()))
        return -1;
    memset(made[i].block, 0, sizeof *made[i].block); /* names it knew were in another spool */
    atomic_store_explicit(&made[i].generation, agent.generation, memory_order_release);
    return 0;
}

int ring_open(struct thread *t)
{
    uint32_t i = claim();
    t->block = NULL;
    t->ring = NULL;
    if (i == UINT32_MAX)
        return -1;
    struct spool_ring *r = ring_at(i);
    if (!is_made(i) && make(i) != 0) {
        atomic_store(&r->state, SPOOL_RING_FREE);
        return -1;
    }
    atomic_store(&r->tid, t->tid);
    t->block = made[i].block;
    t->block->depth = 0; /* its cache of names may stay */
    t->ring = r;
    t->data = (char *)agent.spool + agent.spool->ring_data_off + (uint64_t)i * SPOOL_RING_BYTES;
    t->head = t->pending = atomic_load(&r->head);
    t->tail = atomic_load(&r->tail);
    t->in_call = false;
    return 0;
}

void ring_close(struct thread *t)
{
    if (t->ring)
        atomic_store_explicit(&t->ring->state, SPOOL_RING_CLOSED, memory_order_release);
    t->ring = NULL;
    t->block = NULL;
}

void *ring_reserve(struct thread *t, enum spool_rec_kind kind, size_t bytes)
{
    if (AGENT_UNLIKELY(!t->ring)) {
        agent_count(SPOOL_NO_RING, 1);
        return NULL;
    }
    uint32_t control = atomic_load_explicit(&agent.spool->control, memory_order_relaxed);
    if (AGENT_UNLIKELY((control != SPOOL_RUN || window_closed()) && !t->is_agent)) {
        if (control == SPOOL_STOP)
            agent_stop_asked();
        if (control == SPOOL_STOP || !window_lets(kind, control))
            return NULL;
    }
    if (AGENT_UNLIKELY(kind == SPOOL_REC_STEP))
        cupti_step_over(t);
    uint64_t size = AGENT_ALIGN(bytes, 8), at = t->head % SPOOL_RING_BYTES;
    uint64_t left = SPOOL_RING_BYTES - at, need = size <= left ? size : left + size;
    if (AGENT_UNLIKELY(t->head + need - t->tail > SPOOL_RING_BYTES)) {
        t->tail = atomic_load_explicit(&t->ring->tail, memory_order_acquire);
        if (t->head + need - t->tail > SPOOL_RING_BYTES) {
            agent_count(SPOOL_RING_FULL, 1);
            return NULL;
        }
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

void ring_commit(struct thread *t)
{
    enum { HALF = SPOOL_RING_BYTES / 2 };
    bool was_below = t->head - t->tail <= HALF;
    t->head = t->pending;
    atomic_store_explicit(&t->ring->head, t->head, memory_order_release);
    if (AGENT_UNLIKELY(atomic_load_explicit(&cupti_asleep, memory_order_relaxed)) && !t->is_agent)
        cupti_rouse();
    if (AGENT_UNLIKELY(was_below && t->head - t->tail > HALF)) {
        t->tail = atomic_load_explicit(&t->ring->tail, memory_order_acquire);
        if (t->head - t->tail > HALF)
            spool_wake();
    }
}
