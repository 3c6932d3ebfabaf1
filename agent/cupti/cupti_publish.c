/* Makes buffers that CUPTI has finished readable for the collector, after it has published the
 * names that their records point to. It also reads the names in buffers that CUPTI still fills,
 * because the process may be killed at any moment.
 *
 * The agent's thread does this all the time. At the end of each of the first steps a thread of the
 * program reads names too (but hands no buffer over), so that no step is marked as ended whose
 * kernels have no names. One thread at a time has the turn. A thread of the program waits for its
 * turn only in these steps, for at most 20 ms: it takes that long only if the agent's thread has
 * the turn and gets no core. */
#include <errno.h>
#include <time.h>

#include "agent/core/cancel.h"
#include "agent/core/clock.h"
#include "agent/core/instrument.h"
#include "agent/cupti/cupti.h"

enum {
    FIRST_STEPS = 8, /* steps after which the program's own thread reads names */
    TURN_NAP_NS = 20000,
    TURN_NAPS = 280, /* 20 ms in all: a nap takes 50 us longer than asked for */
};

static _Atomic bool turn_taken;
static _Atomic uint32_t steps_marked;
static struct {
    uint64_t seq, at;
} walked[SPOOL_BUFFERS]; /* how far the names of each buffer are published */

static bool take_turn(void)
{
    return !atomic_exchange_explicit(&turn_taken, true, memory_order_acquire);
}

static void give_turn(void)
{
    atomic_store_explicit(&turn_taken, false, memory_order_release);
}

/* hand_over: complete buffers go to the collector; only the agent's thread may do that. */
static struct cupti_progress publish(struct thread *t, bool hand_over)
{
    struct cupti_progress p = {0};
    for (uint32_t i = 0; i < atomic_load(&cupti.arena); i++) {
        struct spool_buffer_desc *d = &spool_descs()[i];
        uint32_t state = atomic_load_explicit(&d->state, memory_order_acquire);
        if (state != SPOOL_COMPLETE && state != SPOOL_OWNED)
            continue;
        uint64_t seq = atomic_load_explicit(&d->seq, memory_order_relaxed);
        if (walked[i].seq != seq) {
            walked[i].seq = seq;
            walked[i].at = 0;
        }
        bool complete = state == SPOOL_COMPLETE;
        uint64_t bytes = complete ? atomic_load(&d->valid_bytes) : SPOOL_BUFFER_BYTES;
        uint64_t at = cupti_names_walk(t, spool_buffer(i), walked[i].at, bytes, complete);
        p.records |= at != walked[i].at;
        walked[i].at = at;
        if (complete && hand_over && !cupti_buffers_merge(i, bytes)) {
            atomic_store_explicit(&d->state, SPOOL_READY, memory_order_release);
            p.buffers++;
        }
    }
    if (p.buffers)
        spool_wake();
    return p;
}

struct cupti_progress cupti_publish(struct thread *t, bool new_round)
{
    const struct timespec nap = {.tv_nsec = TURN_NAP_NS};
    while (!take_turn())
        nanosleep(&nap, NULL); /* a thread of the program has the turn, for microseconds */
    if (new_round)
        cupti_names_round();
    clock_watch();
    struct cupti_progress p = publish(t, true);
    if (new_round && cupti_buffers_gathered()) {
        p.buffers++;
        spool_wake();
    }
    give_turn();
    return p;
}

void cupti_publish_begin(void)
{
    for (int i = 0; i < SPOOL_BUFFERS; i++)
        walked[i].seq = walked[i].at = 0;
    atomic_store(&turn_taken, false); /* a forked child inherits it */
    cupti_buffers_gather_begin();
    atomic_store(&steps_marked, 0);
    atomic_store(&instruments_asleep, false);
}

/* Called in the program's thread, which must not be cancelled here. */
static bool wait_for_turn(void)
{
    const struct timespec nap = {.tv_nsec = TURN_NAP_NS};
    bool mine = take_turn();
    if (mine)
        return true;
    int saved = errno, state = cancel_disable();
    for (int i = 0; !mine && i < TURN_NAPS; i++) {
        nanosleep(&nap, NULL);
        mine = take_turn();
    }
    cancel_restore(state);
    errno = saved;
    return mine;
}

void cupti_step_over(struct thread *t)
{
    if (atomic_load_explicit(&steps_marked, memory_order_relaxed) >= FIRST_STEPS ||
        !cupti_running() || !cupti.thread)
        return;
    atomic_fetch_add_explicit(&steps_marked, 1, memory_order_relaxed);
    if (!wait_for_turn())
        return;
    publish(t, false);
    give_turn();
}
