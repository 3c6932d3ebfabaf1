/* Shares CUPTI with another client in the program (torch.profiler's Kineto, a tracer of the
 * user's). CUPTI has one pair of buffer callbacks and one switch per kind for the whole process,
 * and the last client to set them wins. So preload_cupti.c answers the other client's calls itself,
 * our callbacks stay registered, and both get all records. A session of the client lasts from its
 * first Enable to its last Disable. During a session CUPTI fills the client's buffers; when one is
 * complete, the agent copies it, removes the records that the client did not request, converts
 * times to the client's clock if it registered one, and passes the buffer on.
 *
 * A client that reaches CUPTI by dlsym is not seen here: see silence.c. */
#include <string.h>

#include "agent/core/clock.h"
#include "agent/cupti/cupti.h"

enum { KINDS = 64, STAMPS = 4, BRACKETS = 8 };

static struct {
    _Atomic(CUpti_BuffersCallbackRequestFunc) request;
    _Atomic(CUpti_BuffersCallbackCompleteFunc) complete;
    _Atomic(CUpti_TimestampCallbackFunc) clock;
    _Atomic uint64_t on;     /* kinds that the client has enabled, a bit each */
    _Atomic uint64_t wanted; /* kinds of its last session: buffers come back after it */
    /* Of that session, by CUPTI's clock; stop 0: it still lasts. */
    _Atomic uint64_t start_ns, stop_ns;
    _Atomic uint64_t here_ns, there; /* CUPTI's clock and the client's at one moment */
    _Atomic size_t dropped;          /* counted by gpuprof, not yet reported to the client */
    _Atomic uint32_t sessions;
    _Atomic bool ended;
} peer;

bool peer_present(void)
{
    return atomic_load(&peer.on) != 0;
}

bool peer_wants(uint32_t kind)
{
    return kind < KINDS && (atomic_load(&peer.on) >> kind & 1);
}

static uint64_t now_ns(void)
{
    uint64_t ns = 0;
    if (cupti.api.GetTimestamp)
        cupti.api.GetTimestamp(&ns);
    return ns;
}

void peer_registers(CUpti_BuffersCallbackRequestFunc request,
                    CUpti_BuffersCallbackCompleteFunc complete)
{
    atomic_store(&peer.complete, complete);
    atomic_store(&peer.request, request);
}

bool peer_enables(uint32_t kind)
{
    if (kind >= KINDS)
        return false;
    bool first = atomic_load(&peer.on) == 0;
    if (first) {
        atomic_store(&peer.wanted, 0);
        atomic_store(&peer.start_ns, now_ns());
        atomic_store(&peer.stop_ns, 0);
        atomic_store(&peer.dropped, 0);
        atomic_fetch_add(&peer.sessions, 1);
    }
    atomic_fetch_or(&peer.wanted, 1ull << kind);
    atomic_fetch_or(&peer.on, 1ull << kind);
    return first;
}

static void session_ends(void)
{
    atomic_store(&peer.stop_ns, now_ns());
    atomic_store(&peer.ended, true);
    cupti_flush_wake(); /* its buffers must go back to it */
}

void peer_disables(uint32_t kind)
{
    if (kind >= KINDS)
        return;
    uint64_t bit = 1ull << kind, before = atomic_fetch_and(&peer.on, ~bit);
    if (before == bit)
        session_ends();
}

void peer_finalizes(void)
{
    if (atomic_exchange(&peer.on, 0) != 0)
        session_ends();
    /* Complete stays: its last buffers are still to be returned. */
    atomic_store(&peer.request, NULL);
    atomic_store(&peer.clock, NULL);
}

/* ---- the client's clock ---- */

static void read_clocks(CUpti_TimestampCallbackFunc clock, uint64_t *here, uint64_t *there)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < BRACKETS; i++) {
        uint64_t before = now_ns(), at = clock(), after = now_ns();
        if (after - before >= best)
            continue;
        best = after - before;
        *here = before + (after - before) / 2;
        *there = at;
    }
}

void peer_has_clock(CUpti_TimestampCallbackFunc clock)
{
    uint64_t here = 0, there = 0;
    if (clock)
        read_clocks(clock, &here, &there);
    atomic_store(&peer.here_ns, here);
    atomic_store(&peer.there, there);
    atomic_store(&peer.clock, clock);
}

CUpti_TimestampCallbackFunc peer_clock(void)
{
    return atomic_load(&peer.clock);
}

/* The client's clock as a straight line through both clocks' values at registration and now. */
struct line {
    uint64_t here, there;
    double rate; /* 0: the client uses CUPTI's clock */
};

static struct line clock_line(void)
{
    struct line l = {.here = atomic_load(&peer.here_ns), .there = atomic_load(&peer.there)};
    CUpti_TimestampCallbackFunc clock = peer_clock();
    uint64_t here = 0, there = 0;
    if (!clock)
        return l;
    read_clocks(clock, &here, &there);
    if (here > l.here)
        l.rate = (double)(there - l.there) / (double)(here - l.here);
    return l;
}

static uint64_t convert(const struct line *l, uint64_t ns)
{
    return l->there + (uint64_t)(int64_t)((double)(int64_t)(ns - l->here) * l->rate);
}

/* ---- the client's buffers ---- */

/* Offsets of the times in a kind's records, 0 behind the last one; the first is the start. NULL:
 * the kind has none. */
static const uint8_t *stamps_of(uint32_t kind)
{
#define AT(type, member) (uint8_t) offsetof(type, member)
    static const uint8_t kernel[STAMPS] = {
        AT(CUpti_ActivityKernel9, start), AT(CUpti_ActivityKernel9, end),
        AT(CUpti_ActivityKernel9, queued), AT(CUpti_ActivityKernel9, submitted)};
    static const uint8_t copy[STAMPS] = {AT(CUpti_ActivityMemcpy5, start),
                                         AT(CUpti_ActivityMemcpy5, end)};
    static const uint8_t peer_copy[STAMPS] = {AT(CUpti_ActivityMemcpyPtoP4, start),
                                              AT(CUpti_ActivityMemcpyPtoP4, end)};
    static const uint8_t set[STAMPS] = {AT(CUpti_ActivityMemset4, start),
                                        AT(CUpti_ActivityMemset4, end)};
    static const uint8_t call[STAMPS] = {AT(CUpti_ActivityAPI, start), AT(CUpti_ActivityAPI, end)};
    static const uint8_t sync[STAMPS] = {AT(CUpti_ActivitySynchronization, start),
                                         AT(CUpti_ActivitySynchronization, end)};
    static const uint8_t overhead[STAMPS] = {AT(CUpti_ActivityOverhead2, start),
                                             AT(CUpti_ActivityOverhead2, end)};
    static const uint8_t memory[STAMPS] = {AT(CUpti_ActivityMemory3, timestamp)};
    static const uint8_t graph[STAMPS] = {AT(CUpti_ActivityGraphTrace, start),
                                          AT(CUpti_ActivityGraphTrace, end)};
#undef AT
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return kernel;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return copy;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return peer_copy;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return set;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API:
        return call;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return sync;
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return overhead;
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        return memory;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return graph;
    default:
        return NULL;
    }
}

static uint64_t stamp_at(const uint8_t *record, uint8_t at)
{
    uint64_t v = 0;
    memcpy(&v, record + at, sizeof v);
    return v;
}

/* True if the client would have got this record without gpuprof. */
static bool is_for_client(const uint8_t *record, uint32_t kind)
{
    const uint8_t *at = stamps_of(kind);
    uint64_t began = at ? stamp_at(record, at[0]) : 0, stop = atomic_load(&peer.stop_ns);
    if (kind >= KINDS || !(atomic_load(&peer.wanted) >> kind & 1))
        return false;
    return began == 0 || (began >= atomic_load(&peer.start_ns) && (stop == 0 || began <= stop));
}

static void restamp(uint8_t *record, uint32_t kind, const struct line *l)
{
    const uint8_t *at = stamps_of(kind);
    for (int i = 0; at && i < STAMPS && at[i]; i++) {
        uint64_t v = stamp_at(record, at[i]);
        if (v == 0)
            continue;
        v = convert(l, v);
        memcpy(record + at[i], &v, sizeof v);
    }
}

/* Moves the client's records to the front, and returns their length in bytes. */
static size_t keep_clients(uint8_t *buffer, size_t valid)
{
    struct line l = clock_line();
    size_t from = 0, to = 0;
    while (from + sizeof(uint32_t) <= valid) {
        uint32_t kind;
        memcpy(&kind, buffer + from, sizeof kind);
        uint32_t stride = kind < SPOOL_STRIDES ? agent.spool->stride[kind] : 0;
        if (stride == 0 || from + stride > valid)
            return valid; /* unknown record: the client gets the rest unchanged */
        if (is_for_client(buffer + from, kind)) {
            memmove(buffer + to, buffer + from, stride);
            if (l.rate > 0)
                restamp(buffer + to, kind, &l);
            to += stride;
        }
        from += stride;
    }
    memset(buffer + to, 0, valid - to);
    return to;
}

bool peer_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    CUpti_BuffersCallbackRequestFunc request = atomic_load(&peer.request);
    if (!request || atomic_load(&peer.on) == 0)
        return false;
    *buffer = NULL;
    request(buffer, size, max_records);
    if (!*buffer)
        return false;
    memset(*buffer, 0, *size); /* gpuprof told CUPTI that buffers come zeroed */
    if (cupti_running())
        peer_buffer_lent(*buffer, *size);
    return true;
}

bool peer_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    CUpti_BuffersCallbackCompleteFunc complete = atomic_load(&peer.complete);
    if (!complete)
        return false;
    if (cupti_running() && !peer_buffer_returned(buffer))
        cupti_buffers_keep(buffer, valid);
    complete(context, stream, buffer, size, agent.spool ? keep_clients(buffer, valid) : valid);
    return true;
}

/* ---- for the agent's thread ---- */

void peer_dropped(size_t n)
{
    if (peer_present())
        atomic_fetch_add(&peer.dropped, n);
}

size_t peer_take_dropped(void)
{
    return atomic_exchange(&peer.dropped, 0);
}

bool peer_ended(void)
{
    return atomic_exchange(&peer.ended, false);
}

/* True during a session, and for up to a minute after it while CUPTI has buffers of the client's.
 * Kineto of PyTorch 2.11 takes a session for empty if all its buffers have come back already when
 * it asks, and it first reads the CPU's events, which can take long. */
bool peer_holds(void)
{
    const uint64_t longest_ns = 60ull * 1000000000;
    uint64_t stop = atomic_load(&peer.stop_ns);
    return peer_present() || (stop && peer_is_out() && now_ns() - stop < longest_ns);
}

uint32_t peer_sessions(void)
{
    return atomic_load(&peer.sessions);
}
