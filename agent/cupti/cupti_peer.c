/* Another CUPTI client in the program (torch.profiler's kineto, a tracer of the user's). CUPTI has
 * one pair of buffer callbacks and one switch per kind for all, and the last client to call wins.
 * So preload_cupti.c keeps its calls from reaching CUPTI, ours stay registered, and both get all:
 * in a session of its own (between its first Enable and its last Disable) the buffers are the
 * client's; when one is complete we copy it, take out what the client did not ask for, and hand it
 * on. Stamps are put into its clock if it registered one.
 *
 * A client that reaches CUPTI behind our back (by dlsym) is not seen here: see cupti_flush.c. */
#include <string.h>

#include "agent/core/clock.h"
#include "agent/cupti/cupti.h"

enum { KINDS = 64, STAMPS = 4, BRACKETS = 8 };

static struct {
    _Atomic(CUpti_BuffersCallbackRequestFunc) request;
    _Atomic(CUpti_BuffersCallbackCompleteFunc) complete;
    _Atomic(CUpti_TimestampCallbackFunc) clock;
    _Atomic uint64_t on;                /* kinds that it has enabled, a bit each */
    _Atomic uint64_t wanted;            /* those of its last session: buffers come back later */
    _Atomic uint64_t start_ns, stop_ns; /* of that session, CUPTI's clock; stop 0: it lasts */
    _Atomic uint64_t here_ns, there;    /* the two clocks at one moment */
    _Atomic size_t dropped;             /* counted by us, not yet told to the client */
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
    cupti_flush_wake(); /* its buffers go back to it */
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
    atomic_store(&peer.request, NULL); /* complete stays: its last buffers are on their way */
    atomic_store(&peer.clock, NULL);
}

/* ---- its clock ---- */

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

/* A straight line through the clocks at registration and now. */
struct line {
    uint64_t here, there;
    double rate; /* 0: its clock is CUPTI's */
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

/* ---- its buffers ---- */

/* Where the stamps of a kind's records stand; the first is when it began. */
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

/* Would the client have got this record without us? */
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

/* Moves the client's records to the front; returns their bytes. */
static size_t keep_clients(uint8_t *buffer, size_t valid)
{
    struct line l = clock_line();
    size_t from = 0, to = 0;
    while (from + sizeof(uint32_t) <= valid) {
        uint32_t kind;
        memcpy(&kind, buffer + from, sizeof kind);
        uint32_t stride = kind < SPOOL_STRIDES ? agent.spool->stride[kind] : 0;
        if (stride == 0 || from + stride > valid)
            return valid; /* not understood: the client gets the rest as it is */
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
    memset(*buffer, 0, *size); /* CUPTI was told by us that buffers come zeroed */
    if (cupti_running())
        peer_goes_out(*buffer, *size);
    return true;
}

bool peer_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    CUpti_BuffersCallbackCompleteFunc complete = atomic_load(&peer.complete);
    if (!complete)
        return false;
    if (cupti_running() && !peer_comes_back(buffer))
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

/* kineto that comes with PyTorch 2.11 takes a session whose buffers have all come back already for
 * an empty one. After the session it reads the CPU's events first, which can take long. */
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
