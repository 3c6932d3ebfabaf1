/* The agent's own thread: asks CUPTI for what is ready, makes finished buffers readable by the
 * collector, keeps anchors and drop counts, and obeys the collector's stop.
 *
 * It sleeps between rounds, longer while nothing happens. After the last flush it makes no CUPTI
 * call again, because libraries are being torn down around it. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/core/clock.h"
#include "agent/core/instrument.h"
#include "agent/core/window.h"
#include "agent/cupti/callers.h"
#include "agent/cupti/cupti.h"

#if defined(__x86_64__) && defined(__GLIBC__) /* so that it loads on older systems */
__asm__(".symver pthread_create,pthread_create@GLIBC_2.2.5");
#endif

enum {
    FLUSH_MS = 100,
    IDLE_MS = 1000,
    /* Between two looks for names: a kill loses those first seen within this time. After a new
     * name; while records come; while none does, until the program does something. */
    WALK_MS = 1,
    WALK_BUSY_MS = 10,
    WALK_IDLE_MS = 100,
    ANCHOR_MS = SPOOL_LOOK_NS / 1000000,
    SPARE_BUFFERS = 8,
    LATE_MS = 100,
    LATE_NAPS = 10,
    NAMES_MS = 500,
};
enum finish { FINISH_NONE, FINISH_PLAIN, FINISH_FORCED };

static _Atomic uint32_t bell; /* futex: rung when there is something to do */
static _Atomic bool rung;     /* ... and it has not looked yet */
static _Atomic uint32_t finish_asked, finish_done;
static _Atomic uint32_t names_asked, names_done; /* futex: how often before exec */

static void futex_wait(_Atomic uint32_t *word, uint32_t value, int64_t ns)
{
    struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &t, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void cupti_flush_wake(void)
{
    if (atomic_exchange(&rung, true))
        return; /* it is on its way: callers are in a hurry */
    atomic_fetch_add_explicit(&bell, 1, memory_order_release);
    futex_wake(&bell);
}

bool cupti_attend(void)
{
    if (!cupti_running() || !cupti.thread)
        return false;
    cupti_flush_wake();
    return true;
}

static bool counted = true; /* at the last look at what was dropped (window_counts) */

/* CUPTI also drops records outside the windows, mostly while the agent turns kinds on or off and the
 * program goes on launching. These are counted apart and are no loss. Where it is not clear, a
 * dropped record counts as lost. */
static void poll_dropped(void)
{
    size_t n = 0;
    bool counts = window_counts(clock_now_ns());
    if (cupti.api.ActivityGetNumDroppedRecords &&
        cupti.api.ActivityGetNumDroppedRecords(NULL, 0, &n) == CUPTI_SUCCESS && n) {
        agent_count(counts || counted ? SPOOL_CUPTI_DROPPED : SPOOL_CUPTI_UNASKED, n);
        peer_dropped(n);
    }
    counted = counts;
}

/* Around the moments in which CUPTI is turned on or off, often enough to tell what these cost. */
static void watch_switch(int64_t now_ns)
{
    bool counts = window_counts(now_ns);
    if (!cupti.waiting && (counts != counted || (!counts && atomic_load(&cupti.kinds_on))))
        poll_dropped();
}

static struct cupti_progress flush(struct thread *t, bool forced)
{
    if (!cupti.waiting) {
        cupti.api.ActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
        poll_dropped();
    }
    return cupti_publish(t, true);
}

static void self_check(struct thread *t)
{
    struct cupti_seen seen = cupti_names_seen();
    if (seen.launches > 0 && seen.kernels == 0)
        about_health(t, SPOOL_WARNING, "no-kernels",
                     "CUPTI reported kernel launches but no kernel: this CUPTI version does not "
                     "trace kernels here. Try the CUPTI of another CUDA release (GPUPROF_CUPTI).",
                     (int64_t)seen.launches);
}

/* Another client's session: say so once, also of one that was over between two rounds. */
static void tell_of_peer(struct thread *t)
{
    static bool told;
    if (told || peer_sessions() == 0)
        return;
    told = true;
    about_health(t, SPOOL_INFO, "cupti-shared",
                 "Another profiler in the program (such as torch.profiler) also used CUPTI: both "
                 "got their records, and the program paid for both.",
                 peer_sessions());
}

static void tell_of_runs_on(struct thread *t)
{
    static bool told;
    if (told || !atomic_load(&cupti.runs_on))
        return;
    told = true;
    about_health(
        t, SPOOL_INFO, "cupti-runs-on",
        "This CUPTI can crash a program when it is turned off, so it stays on where nothing is to "
        "be recorded: there, too, the program pays what recording costs.",
        (int64_t)cupti.version);
}

bool cupti_flush_late(uint64_t up_to)
{
    const struct timespec nap = {.tv_nsec = LATE_MS / LATE_NAPS * 1000000};
    for (int i = 0;; i++) {
        cupti.api.ActivityFlushAll(0);
        if (!cupti_buffers_pending(up_to))
            return true;
        if (i == LATE_NAPS)
            return false;
        nanosleep(&nap, NULL);
    }
}

/* CUPTI's own thread may be about to hand a buffer back just now. */
static void finish(struct thread *t, enum finish how)
{
    const struct timespec nap = {.tv_nsec = LATE_MS / LATE_NAPS * 1000000};
    uint64_t asked = cupti_buffers_asked();
    bool kept = false;
    flush(t, false);
    if (how == FINISH_FORCED) {
        for (int i = 0; i < LATE_NAPS && (cupti_buffers_pending(asked) || peer_pending()); i++) {
            nanosleep(&nap, NULL);
            flush(t, false);
        }
        if (cupti_buffers_pending(asked))
            flush(t, true);
        if (peer_pending()) {
            peer_keep_pending();
            cupti_publish(t, true);
        }
        kept = !cupti.waiting && cupti_buffers_pending(asked);
    }
    self_check(t);
    tell_of_peer(t);
    silence_end(t, kept);
    about_libraries(t);
    clock_anchor();
}

/* Afterwards put back what it has changed (calls that it left out, kinds that it turned off behind
 * our back). */
static void after_peer(struct thread *t)
{
    tell_of_peer(t);
    if (!peer_ended())
        return;
    if (!peer_holds())
        cupti.api.ActivityFlushAll(0);
    if (!peer_present())
        cupti_register();
}

static void charge_self(void)
{
    static int64_t before;
    int64_t now = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    agent_count(SPOOL_SELF_NS, (uint64_t)(now > before ? now - before : now));
    before = now;
}

struct pace {
    int64_t next_flush_ns, next_anchor_ns, next_grow_ns;
    int flush_ms, walk_ms;
    uint32_t names;      /* known by the last round */
    bool records, alone; /* some since the last anchor; no thread of the program is left */
};

static int slower(int ms, int most)
{
    return ms * 2 < most ? ms * 2 : most;
}

/* Returns how long to sleep, in ns. */
static int64_t round_of_work(struct thread *t, struct pace *p)
{
    int64_t now = clock_now_ns();
    uint32_t asked = atomic_load(&names_asked);
    if (asked != atomic_load(&names_done))
        p->next_flush_ns = now;
    struct cupti_progress done = cupti_publish(t, false);
    if (now >= p->next_flush_ns && cupti_buffers_scarce()) {
        p->next_flush_ns = now + p->flush_ms * 1000000ll; /* each flush takes buffers half full */
    } else if (now >= p->next_flush_ns) {
        struct cupti_progress more = peer_holds() ? cupti_publish(t, true) : flush(t, false);
        bool busy = done.buffers || more.buffers;
        done.records |= more.records;
        p->flush_ms = busy ? FLUSH_MS : slower(p->flush_ms, IDLE_MS);
        p->next_flush_ns = now + p->flush_ms * 1000000ll;
    }
    if (atomic_exchange(&names_done, asked) != asked)
        futex_wake(&names_done);
    p->records |= done.records;
    window_obey(atomic_load_explicit(&agent.spool->control, memory_order_relaxed));
    watch_switch(now);
    cupti_switch(window_wants_cupti(now));
    tell_of_runs_on(t);
    callers_refresh(t);
    if (now >= p->next_anchor_ns) {
        clock_anchor();
        about_libraries(t);
        p->alone = agent_alone();
        if (cupti.waiting)
            cupti_try_again(t);
        else
            silence_watch(t, p->records, now);
        p->records = false;
        p->next_anchor_ns = now + ANCHOR_MS * 1000000ll;
    }
    if (!cupti.waiting)
        after_peer(t);
    if (now >= p->next_grow_ns && (cupti_buffers_prepare(SPARE_BUFFERS) | rings_prepare()) != 0)
        p->next_grow_ns = now + ANCHOR_MS * 1000000ll; /* a full disk: do not ask all the time */
    charge_self();
    uint32_t names = atomic_load_explicit(&agent.spool->names_used, memory_order_relaxed);
    p->walk_ms = names != p->names ? WALK_MS
                 : done.records    ? slower(p->walk_ms, WALK_BUSY_MS)
                                   : slower(p->walk_ms, WALK_IDLE_MS);
    p->names = names;
    int64_t left = p->next_flush_ns - clock_now_ns(), walk = p->walk_ms * 1000000ll;
    return left < walk ? left : walk;
}

static void *flush_thread(void *arg)
{
    prctl(PR_SET_NAME, "gpuprof", 0, 0, 0);
    struct thread *t = thread_enter(); /* NULL without room for a ring: the thread still flushes */
    agent_thread.is_agent = true;
    silence_begin();
    counted = true; /* a forked child inherits it */
    struct pace p = {.flush_ms = FLUSH_MS, .walk_ms = WALK_MS};
    uint32_t asked;
    for (;;) {
        atomic_store(&rung, false); /* before looking: what comes later rings again */
        uint32_t seen = atomic_load(&bell);
        asked = atomic_load(&finish_asked);
        if (asked != FINISH_NONE || atomic_load(&agent.spool->control) == SPOOL_STOP ||
            !agent_recording())
            break;
        int64_t sleep_ns = round_of_work(t, &p);
        if (p.alone) {
            asked = FINISH_PLAIN;
            break;
        }
        if (sleep_ns <= 0)
            continue;
        atomic_store(&instruments_asleep, p.walk_ms > WALK_BUSY_MS);
        futex_wait(&bell, seen, sleep_ns);
        if (atomic_load(&bell) != seen) /* rung: something begins */
            p.walk_ms = WALK_MS;
        atomic_store(&instruments_asleep, false);
    }
    if (asked == FINISH_NONE) {
        cupti_stop_kinds();
        finish(t, FINISH_PLAIN);
        agent_stop();
    } else {
        finish(t, (enum finish)asked);
    }
    charge_self();
    atomic_store_explicit(&finish_done, 1, memory_order_release);
    syscall(SYS_futex, &finish_done, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
    return arg;
}

int cupti_flush_start(void)
{
    atomic_store(&finish_asked, FINISH_NONE);
    atomic_store(&finish_done, 0);
    /* no signal of the program's may end up on our thread */
    sigset_t all, before;
    pthread_attr_t attr;
    pthread_t id;
    sigfillset(&all);
    if (pthread_attr_init(&attr) != 0)
        return -1;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    sigprocmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&id, &attr, flush_thread, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return failed ? -1 : 0;
}

/* By our thread, since this may be a signal's handler, and within a call of CUDA. */
void cupti_replaced(void)
{
    if (!cupti_running() || !cupti.thread)
        return;
    uint32_t mine = atomic_fetch_add(&names_asked, 1) + 1, done;
    int64_t until = clock_now_ns() + NAMES_MS * 1000000ll;
    cupti_flush_wake();
    while ((int32_t)((done = atomic_load(&names_done)) - mine) < 0 && clock_now_ns() < until)
        futex_wait(&names_done, done, until - clock_now_ns());
}

bool cupti_finish(int timeout_ms, bool forced)
{
    if (!cupti_running() || !cupti.thread)
        return true;
    uint32_t none = FINISH_NONE;
    atomic_compare_exchange_strong(&finish_asked, &none, forced ? FINISH_FORCED : FINISH_PLAIN);
    cupti_flush_wake();
    int64_t until = clock_now_ns() + timeout_ms * 1000000ll;
    while (!atomic_load_explicit(&finish_done, memory_order_acquire)) {
        int64_t left = until - clock_now_ns();
        if (left <= 0)
            return false;
        futex_wait(&finish_done, 0, left);
    }
    return true;
}
