/* Finds silences: times in which CUPTI reports nothing although the program goes on. The likely
 * cause is a client that reached CUPTI by dlsym and took over. The collector decides what a silence
 * means, since a program may also do without the GPU for a while. */
#include "agent/core/clock.h"
#include "agent/core/window.h"
#include "agent/cupti/cupti.h"

enum {
    SILENCE_MS = 3000,
    SILENCE_BYTES = 4096, /* so much the program must record itself meanwhile */
    SILENCE_STEPS = 2,    /* one step may be long, while a compiler works */
};

static struct {
    int64_t heard_ns; /* when a record last came; 0: never */
    int64_t since_ns; /* begin of the present silence; 0: there is none */
    uint64_t rings;   /* bytes in the rings at that time */
    uint64_t steps;   /* steps begun when the last record came */
    bool held;
} s;

static uint64_t ring_bytes(void)
{
    const struct spool_ring *r =
        (const struct spool_ring *)((char *)agent.spool + agent.spool->rings_off);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < atomic_load(&agent.spool->rings_used); i++)
        sum += atomic_load_explicit(&r[i].head, memory_order_relaxed);
    return sum;
}

static void put(struct thread *t, int64_t end_ns)
{
    struct spool_rec_silent *r = t ? ring_reserve(t, SPOOL_REC_SILENT, sizeof *r) : NULL;
    if (!r)
        return;
    r->head.start_ns = s.since_ns;
    r->head.end_ns = end_ns;
    r->held = s.held;
    r->stepped = atomic_load(&agent.spool->steps) >= s.steps + SILENCE_STEPS;
    ring_commit(t);
}

static void ended(struct thread *t, int64_t now_ns)
{
    if (s.since_ns)
        put(t, now_ns);
    s.since_ns = 0;
    s.held = false;
}

void silence_begin(void)
{
    s.heard_ns = s.since_ns = 0; /* a forked child inherits them */
    s.held = false;
}

void silence_watch(struct thread *t, bool records, int64_t now_ns)
{
    if (records || s.heard_ns == 0 || window_closed() || peer_holds()) {
        ended(t, now_ns);
        s.heard_ns = cupti_names_seen().launches ? now_ns : 0;
        s.rings = ring_bytes();
        s.steps = atomic_load(&agent.spool->steps);
        return;
    }
    bool began = s.since_ns == 0;
    if (began &&
        (now_ns - s.heard_ns < SILENCE_MS * 1000000ll || ring_bytes() - s.rings < SILENCE_BYTES))
        return;
    bool held = cupti_held();
    if (began)
        s.since_ns = s.heard_ns;
    if (began || (held && !s.held)) {
        s.held |= held;
        put(t, INT64_MAX);
    }
    if (now_ns - s.heard_ns < SILENCE_MS * 1000000ll || ring_bytes() - s.rings < SILENCE_BYTES)
        return;
    if (!held) /* that client has ended, or there was none: set our callbacks again */
        cupti_register();
    s.heard_ns = now_ns;
    s.rings = ring_bytes();
}

void silence_end(struct thread *t, bool kept)
{
    int64_t now_ns = clock_now_ns();
    if (kept) { /* Another client gets the buffers now: a silence, however short it is so far. */
        s.since_ns = s.since_ns ? s.since_ns : s.heard_ns ? s.heard_ns : now_ns;
        s.held = true;
    }
    ended(t, now_ns);
}
