/* The buffers of another client (cupti_peer.c) that CUPTI has at the moment. CUPTI returns each of
 * them through gpuprof, which copies its records then. When the process ends, it may be too late
 * for that: CUPTI's own thread may be about to return a buffer, or work in it still runs on the
 * GPU. The records in these buffers are then copied while CUPTI has them. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>

#include "agent/core/cancel.h"
#include "agent/cupti/cupti.h"

enum { OUT = 512, TURN_NAP_NS = 20000 };

static struct out {
    _Atomic(uint8_t *) buffer;
    _Atomic size_t size;
    _Atomic bool busy; /* a thread copies it or releases it */
    _Atomic bool kept; /* its records are already copied */
} out[OUT];

void peer_forget(void)
{
    for (int i = 0; i < OUT; i++) {
        atomic_store(&out[i].buffer, NULL);
        atomic_store(&out[i].busy, false);
    }
}

/* Takes a buffer. It may have to wait, because the agent's thread may be copying it; runs perhaps
 * in a thread of the program. */
static void wait_for(struct out *o)
{
    const struct timespec nap = {.tv_nsec = TURN_NAP_NS};
    int saved = errno, state = cancel_disable();
    while (atomic_exchange(&o->busy, true))
        nanosleep(&nap, NULL);
    cancel_restore(state);
    errno = saved;
}

bool peer_buffer_returned(const uint8_t *buffer)
{
    for (int i = 0; i < OUT; i++) {
        if (atomic_load(&out[i].buffer) != buffer)
            continue;
        if (atomic_exchange(&out[i].busy, true))
            wait_for(&out[i]);
        bool kept = atomic_load(&out[i].kept);
        atomic_store(&out[i].buffer, NULL);
        atomic_store(&out[i].busy, false);
        return kept;
    }
    return false;
}

bool peer_is_out(void)
{
    for (int i = 0; i < OUT; i++)
        if (atomic_load(&out[i].buffer))
            return true;
    return false;
}

void peer_buffer_lent(uint8_t *buffer, size_t size)
{
    peer_buffer_returned(buffer); /* it may have come back without our knowing */
    for (int i = 0; i < OUT; i++) {
        if (atomic_load(&out[i].buffer) || atomic_exchange(&out[i].busy, true))
            continue;
        bool free = atomic_load(&out[i].buffer) == NULL;
        if (free) {
            atomic_store(&out[i].size, size);
            atomic_store(&out[i].kept, false);
            atomic_store(&out[i].buffer, buffer);
        }
        atomic_store(&out[i].busy, false);
        if (free)
            return;
    }
}

/* Copies a buffer through the kernel: if the client reached CUPTI without us, it may have the
 * buffer back and have freed its memory. Returns how many bytes were read. */
static size_t read_buffer(const uint8_t *buffer, void *to, size_t size)
{
    struct iovec here = {to, size}, there = {(void *)(uintptr_t)buffer, size};
    ssize_t n = process_vm_readv(agent.pid, &here, 1, &there, 1, 0);
    return n > 0 ? (size_t)n : 0;
}

static bool holds_records(const struct out *o)
{
    uint32_t kind = 0;
    const uint8_t *buffer = atomic_load(&o->buffer);
    return buffer && !atomic_load(&o->kept) &&
           read_buffer(buffer, &kind, sizeof kind) == sizeof kind && kind != 0;
}

static void keep(const struct out *o)
{
    size_t size = atomic_load(&o->size);
    void *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return;
    cupti_buffers_keep(copy, read_buffer(atomic_load(&o->buffer), copy, size));
    munmap(copy, size);
}

void peer_keep_pending(void)
{
    for (int i = 0; i < OUT; i++) {
        if (!atomic_load(&out[i].buffer) || atomic_exchange(&out[i].busy, true))
            continue;
        if (holds_records(&out[i])) {
            keep(&out[i]);
            atomic_store(&out[i].kept, true);
        }
        atomic_store(&out[i].busy, false);
    }
}

bool peer_pending(void)
{
    bool pending = false;
    for (int i = 0; i < OUT && !pending; i++) {
        if (!atomic_load(&out[i].buffer) || atomic_exchange(&out[i].busy, true))
            continue;
        pending = holds_records(&out[i]);
        atomic_store(&out[i].busy, false);
    }
    return pending;
}
