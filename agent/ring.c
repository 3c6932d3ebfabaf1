/* One ring a thread: single producer, and the collector as single consumer (spool_format.h). */
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "agent/clock.h"
#include "agent/gate.h"
#include "agent/spool.h"

static struct spool_ring *ring_at(uint32_t i)
{
    return (struct spool_ring *)((char *)agent.spool + agent.spool->rings_off) + i;
}

/* Rings that have been used once keep their disk: taking one again is cheap. */
static uint32_t claim(void)
{
    for (uint32_t i = 0; i < agent.spool->ring_count; i++) {
        uint32_t free = SPOOL_RING_FREE;
        if (atomic_load_explicit(&ring_at(i)->state, memory_order_relaxed) == SPOOL_RING_FREE &&
            atomic_compare_exchange_strong(&ring_at(i)->state, &free, SPOOL_RING_OPEN))
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

int ring_open(struct thread *t)
{
    struct thread_block *block = t->block ? t->block : block_map();
    uint32_t i = block ? claim() : UINT32_MAX;
    if (i == UINT32_MAX)
        goto fail;
    struct spool_ring *r = ring_at(i);
    uint64_t off = agent.spool->ring_data_off + (uint64_t)i * SPOOL_RING_BYTES;
    if (spool_grow(off, SPOOL_RING_BYTES) != 0) {
        atomic_store(&r->state, SPOOL_RING_FREE);
        goto fail;
    }
    memset(block, 0, sizeof *block);
    atomic_store(&r->tid, t->tid);
    t->block = block;
    t->ring = r;
    t->data = (char *)agent.spool + off;
    t->head = t->pending = atomic_load(&r->head);
    t->tail = atomic_load(&r->tail);
    t->in_call = false;
    return 0;
fail:
    if (block)
        munmap(block, sizeof *block);
    t->block = NULL;
    t->ring = NULL;
    return -1;
}

void ring_close(struct thread *t)
{
    if (t->ring)
        atomic_store_explicit(&t->ring->state, SPOOL_RING_CLOSED, memory_order_release);
    if (t->block)
        munmap(t->block, sizeof *t->block);
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
    if (AGENT_UNLIKELY((control != SPOOL_RUN || gate_closed()) && !t->is_agent)) {
        if (control == SPOOL_STOP)
            agent_stop_asked();
        if (control == SPOOL_STOP || !gate_lets(kind, control))
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
