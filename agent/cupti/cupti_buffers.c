/* The two buffer callbacks that CUPTI calls. It makes the request inside the program's CUDA
 * calls. */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/core/clock.h"
#include "agent/cupti/cupti.h"

static _Atomic uint64_t requests, threads;

uint64_t cupti_buffers_asked(void)
{
    return atomic_load(&requests);
}

uint64_t cupti_buffers_threads(void)
{
    return atomic_load_explicit(&threads, memory_order_relaxed);
}

static uint64_t next_request(void)
{
    return atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed) + 1;
}

/* Buffers whose records are thrown away, for when there is no other. CUPTI needs a different one
 * for each request, and before API version 27 it crashes if it gets none. The first ones are
 * static; the others are mapped at first use and stay. They are kept in a table, because a buffer
 * that CUPTI completes may also be another client's. */
enum { DISCARDS = 256, DISCARDS_HERE = 16, DISCARD_BYTES = 64 << 10 };
static _Alignas(64) char discard_here[DISCARDS_HERE][DISCARD_BYTES];
static struct {
    _Atomic(uint8_t *) data;
    _Atomic uint64_t seq; /* number of the request for which CUPTI has it; 0: free */
} discards[DISCARDS];

static uint8_t *discard_data(int i)
{
    if (i < DISCARDS_HERE)
        return (uint8_t *)discard_here[i];
    return atomic_load(&discards[i].data);
}

static uint8_t *discard_take(void)
{
    for (int i = 0; i < DISCARDS; i++) {
        uint64_t none = 0;
        if (atomic_load(&discards[i].seq) != 0 ||
            !atomic_compare_exchange_strong(&discards[i].seq, &none, next_request()))
            continue;
        uint8_t *p = discard_data(i);
        if (!p) {
            p = mmap(NULL, DISCARD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                     0);
            if (p == MAP_FAILED) {
                atomic_store(&discards[i].seq, 0);
                return NULL;
            }
            atomic_store(&discards[i].data, p);
        }
        atomic_store((_Atomic uint32_t *)p, 0); /* no record yet: see discards_pending */
        return p;
    }
    return NULL;
}

/* Length of the whole records at the start of `records` that together are no longer than `most`.
 * *n: their number. */
static size_t reach(const uint8_t *records, size_t bytes, size_t most, uint64_t *n)
{
    size_t to = 0;
    *n = 0;
    while (to + sizeof(uint32_t) <= bytes) {
        uint32_t kind;
        memcpy(&kind, records + to, sizeof kind);
        size_t stride = kind < SPOOL_STRIDES ? agent.spool->stride[kind] : 0;
        if (stride == 0 || to + stride > bytes || to + stride > most)
            break;
        to += stride;
        ++*n;
    }
    return to;
}

/* Index of a discard buffer that CUPTI has, or -1. */
static int discard_of(const uint8_t *buffer)
{
    for (int i = 0; buffer && i < DISCARDS; i++)
        if (discard_data(i) == buffer && atomic_load(&discards[i].seq) != 0)
            return i;
    return -1;
}

/* True if CUPTI holds a discard buffer with uncounted records, of a request up to `up_to`. */
static bool discards_pending(uint64_t up_to)
{
    for (int i = 0; i < DISCARDS; i++) {
        uint64_t seq = atomic_load(&discards[i].seq);
        const uint8_t *p = discard_data(i);
        if (seq != 0 && seq <= up_to && p && atomic_load((const _Atomic uint32_t *)p) != 0)
            return true;
    }
    return false;
}

static int64_t take(void)
{
    static _Atomic uint32_t hint;
    struct spool_buffer_desc *d = spool_descs();
    uint32_t n = atomic_load_explicit(&cupti.arena, memory_order_acquire);
    uint32_t from = n ? atomic_fetch_add_explicit(&hint, 1, memory_order_relaxed) % n : 0;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = from + k < n ? from + k : from + k - n, free = SPOOL_FREE;
        if (atomic_load_explicit(&d[i].state, memory_order_relaxed) != SPOOL_FREE)
            continue;
        if (!atomic_compare_exchange_strong_explicit(&d[i].state, &free, SPOOL_OWNED,
                                                     memory_order_acquire, memory_order_relaxed))
            continue;
        d[i].tid = agent_thread.tid ? agent_thread.tid : (uint32_t)syscall(SYS_gettid);
        atomic_store_explicit(&d[i].seq, next_request(), memory_order_relaxed);
        return i;
    }
    return -1;
}

enum { GROWS = 64 }; /* attempts to make a buffer within a request; each takes 0.2 ms */

/* Index of a free buffer, made here if needed; -1: there is none. After a failure no thread
 * searches for a millisecond, because CUPTI asks again at every record, and a search of all buffers
 * takes 20 us. */
static int64_t find(void)
{
    enum { DRY_NS = 1000000 };
    static _Atomic int64_t dry_until_ns;
    int64_t now_ns = clock_now_ns();
    if (now_ns < atomic_load_explicit(&dry_until_ns, memory_order_relaxed))
        return -1;
    int64_t i = take();
    for (unsigned k = 1; i < 0 && k <= GROWS && cupti_buffers_prepare(k) == 0; k++)
        /* The agent's thread got no core in time. Other threads may take what this one makes, so it
         * makes more each time. */
        i = take();
    if (i < 0)
        atomic_store_explicit(&dry_until_ns, now_ns + DRY_NS, memory_order_relaxed);
    return i;
}

void CUPTIAPI cupti_buffer_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *max_records = 0;
    if (peer_request(buffer, size, max_records))
        return;
    *max_records = 0;
    bool here = cupti_running(); /* false in a forked child, where the buffers are not mapped */
    if (here && !agent_thread.has_asked) {
        agent_thread.has_asked = true;
        atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);
    }
    int64_t i = here ? find() : -1;
    if (i >= 0) {
        *buffer = (uint8_t *)spool_buffer((uint32_t)i);
        *size = SPOOL_BUFFER_BYTES;
        cupti_flush_wake(); /* records will come, perhaps with new names */
        return;
    }
    if (here) {
        agent_count(SPOOL_BUFFER_STARVED, 1);
        cupti_flush_wake();
    }
    *buffer = here && cupti.version >= CUPTI_API_12_9 ? NULL : discard_take();
    *size = *buffer ? DISCARD_BYTES : 0;
}

/* Index of one of our buffers, or -1. */
static int64_t ours(const uint8_t *buffer)
{
    uint64_t at = (uint64_t)(buffer - (uint8_t *)spool_buffer(0));
    bool inside = at < (uint64_t)agent.spool->buffer_count * SPOOL_BUFFER_BYTES;
    return inside ? (int64_t)(at / SPOOL_BUFFER_BYTES) : -1;
}

static void complete(uint32_t i, size_t valid)
{
    struct spool_buffer_desc *d = &spool_descs()[i];
    atomic_store_explicit(&d->valid_bytes, valid, memory_order_relaxed);
    atomic_store_explicit(&d->state, SPOOL_COMPLETE, memory_order_release);
    cupti_flush_wake();
}

void CUPTIAPI cupti_buffer_complete(CUcontext context, uint32_t stream, uint8_t *buffer,
                                    size_t size, size_t valid)
{
    bool here = cupti_running();
    int64_t i = agent.spool && cupti_registered() ? ours(buffer) : -1;
    int thrown = i < 0 ? discard_of(buffer) : -1;
    if (i >= 0) {
        if (here)
            complete((uint32_t)i, valid);
    } else if (thrown >= 0) {
        uint64_t n = 0;
        if (here)
            reach(buffer, valid < size ? valid : size, size, &n);
        if (n)
            agent_count(SPOOL_DISCARDED, n);
        atomic_store(&discards[thrown].seq, 0);
    } else if (!peer_complete(context, stream, buffer, size, valid) && here) {
        agent_count(SPOOL_BUFFERS_LOST, 1);
    }
}

/* Copies records into a buffer. The first record's kind is written last, as CUPTI does it: the
 * search for names also reads incomplete buffers, and takes a record for complete if its kind is
 * set. */
static void fill(void *buffer, const uint8_t *records, size_t bytes)
{
    uint32_t kind;
    memcpy(&kind, records, sizeof kind);
    memcpy((char *)buffer + sizeof kind, records + sizeof kind, bytes - sizeof kind);
    atomic_store_explicit((_Atomic uint32_t *)buffer, kind, memory_order_release);
}

/* Each thread has a buffer of its own, and a thread that soon ends leaves it almost empty. The
 * records of such buffers are gathered in one of ours, so the agent needs only as many buffers as
 * there are threads at one time. Its seq is higher than that of any request. Only the thread that
 * has the turn (cupti_publish.c) uses this. */
enum { GATHER_MOST = SPOOL_BUFFER_BYTES / 8 };
static int64_t gathering = -1;
static size_t gathered;

void cupti_buffers_gather_begin(void)
{
    gathering = -1; /* a forked child inherits it */
}

bool cupti_buffers_gathered(void)
{
    if (gathering < 0)
        return false;
    struct spool_buffer_desc *d = &spool_descs()[gathering];
    atomic_store_explicit(&d->valid_bytes, gathered, memory_order_relaxed);
    atomic_store_explicit(&d->state, SPOOL_READY, memory_order_release);
    gathering = -1;
    return true;
}

bool cupti_buffers_merge(uint32_t i, size_t valid)
{
    uint8_t *from = (uint8_t *)spool_buffer(i);
    if (valid < sizeof(uint32_t) || valid > GATHER_MOST)
        return false;
    if (gathering >= 0 && gathered + valid > SPOOL_BUFFER_BYTES)
        cupti_buffers_gathered();
    if (gathering < 0) {
        if ((gathering = take()) < 0)
            return false;
        gathered = 0;
        atomic_fetch_or(&spool_descs()[gathering].seq, UINT64_C(1) << 63);
    }
    fill(spool_buffer((uint32_t)gathering) + gathered, from, valid);
    atomic_store_explicit((_Atomic uint32_t *)from, 0,
                          /* After a kill here the records are read only once. */
                          memory_order_release);
    /* cupti_buffers_pending() may look at the first word meanwhile */
    memset(from + sizeof(uint32_t), 0, valid - sizeof(uint32_t));
    gathered += valid;
    atomic_store_explicit(&spool_descs()[i].valid_bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&spool_descs()[i].state, SPOOL_FREE, memory_order_release);
    return true;
}

void cupti_buffers_keep(const uint8_t *records, size_t bytes)
{
    for (size_t from = 0; from < bytes;) { /* as many records at a time as fit into a buffer */
        uint64_t n;
        size_t part = reach(records + from, bytes - from, SPOOL_BUFFER_BYTES, &n);
        if (part == 0)
            return; /* not readable by us */
        int64_t i = take();
        if (i < 0 && cupti_buffers_prepare(1) == 0)
            i = take(); /* no launch waits for this thread, so it may take the time */
        if (i < 0) {
            agent_count(SPOOL_BUFFER_STARVED, 1);
            agent_count(SPOOL_DISCARDED, n);
            cupti_flush_wake();
        } else {
            fill(spool_buffer((uint32_t)i), records + from, part);
            complete((uint32_t)i, part);
        }
        from += part;
    }
}

bool cupti_buffers_pending(uint64_t up_to)
{
    for (uint32_t i = 0; i < atomic_load(&cupti.arena); i++)
        if (atomic_load(&spool_descs()[i].state) == SPOOL_OWNED &&
            atomic_load(&spool_descs()[i].seq) <= up_to &&
            atomic_load((const _Atomic uint32_t *)spool_buffer(i)) != 0)
            return true;
    return discards_pending(up_to);
}

bool cupti_buffers_scarce(void)
{
    uint32_t used = 0, n = atomic_load_explicit(&cupti.arena, memory_order_relaxed);
    for (uint32_t i = 0; i < n; i++)
        used += atomic_load_explicit(&spool_descs()[i].state, memory_order_relaxed) != SPOOL_FREE;
    return used > agent.spool->buffer_count / 2;
}

/* Buffer i has room now. Several threads may add the same one; that does no harm. */
static void add_to_arena(uint32_t i)
{
    uint32_t n = atomic_load(&cupti.arena);
    while (n <= i && !atomic_compare_exchange_weak(&cupti.arena, &n, i + 1))
        ;
    if (n <= i)
        agent_count(SPOOL_BUFFERS_MADE, i + 1 - n);
}

int cupti_buffers_prepare(unsigned spare)
{
    uint32_t n = atomic_load(&cupti.arena);
    unsigned free = 0;
    for (uint32_t i = 0; i < n; i++)
        free += atomic_load_explicit(&spool_descs()[i].state, memory_order_relaxed) == SPOOL_FREE;
    for (; free < spare && n < agent.spool->buffer_count; free++, n++) {
        uint64_t off = agent.spool->buffers_off + (uint64_t)n * SPOOL_BUFFER_BYTES;
        if (spool_grow(off, SPOOL_BUFFER_BYTES) != 0)
            return -1; /* the requests are counted as starved */
        add_to_arena(n);
    }
    return 0;
}
