/* Reads the host's clocks, and takes the anchors that relate them to CUPTI's clock. */
#include "agent/core/clock.h"

#include "agent/core/agent.h"

enum { BRACKETS = 16 };

static clock_cupti_fn read_cupti;

void clock_use_cupti(clock_cupti_fn read)
{
    read_cupti = read;
}

/* One anchor. bracket_ns is the time between the two readings of CLOCK_MONOTONIC around the others:
 * the shorter it is, the better they match. */
static struct spool_anchor sample(void)
{
    struct spool_anchor a = {0};
    int64_t before = clock_now_ns();
    a.realtime_ns = clock_read_ns(CLOCK_REALTIME);
    if (read_cupti)
        a.cupti_ns = (int64_t)read_cupti();
    int64_t after = clock_now_ns();
    a.monotonic_ns = before + (after - before) / 2;
    a.bracket_ns = after - before;
    return a;
}

static void append(struct spool_anchor a)
{
    struct spool_header *h = agent.spool;
    uint32_t head = atomic_load_explicit(&h->anchors_head, memory_order_relaxed);
    h->anchors[head % SPOOL_ANCHORS] = a;
    atomic_store_explicit(&h->anchors_head, head + 1, memory_order_release);
}

void clock_anchor(void)
{
    struct spool_anchor best = sample();
    for (int i = 1; i < BRACKETS; i++) {
        struct spool_anchor a = sample();
        if (a.bracket_ns < best.bracket_ns)
            best = a;
    }
    append(best);
}

static int64_t offset_of(const struct spool_anchor *a)
{
    return (a->cupti_ns ? a->cupti_ns : a->realtime_ns) - a->monotonic_ns;
}

void clock_watch(void)
{
    static struct spool_anchor last;
    static uint32_t generation; /* a forked child begins anew */
    struct spool_anchor now = sample();
    bool known = generation == agent.generation && (last.cupti_ns != 0) == (now.cupti_ns != 0);
    int64_t jump = known ? offset_of(&now) - offset_of(&last) : 0;
    int64_t most = SPOOL_CLOCK_STEP_NS + now.bracket_ns + last.bracket_ns;
    if (jump > most || jump < -most) {
        append(last); /* the old relation held until now */
        clock_anchor();
    }
    last = now;
    generation = agent.generation;
}
