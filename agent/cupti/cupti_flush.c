/* The agent's own thread. It asks CUPTI for finished records, makes finished buffers readable for
 * the collector, takes anchors, counts dropped records, and stops if the collector asks for it.
 *
 * The thread sleeps between rounds, longer while the program records nothing. After the last flush
 * it calls no function of CUPTI again, because libraries are being unloaded around it. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/core/clock.h"
#include "agent/core/instrument.h"
#include "agent/core/old_names.h"
#include "agent/core/window.h"
#include "agent/cupti/callers.h"
#include "agent/cupti/cupti.h"

OLD_NAME(pthread_create);
OLD_NAME(pthread_attr_getstacksize);
OLD_NAME(pthread_attr_setstacksize);

enum {
    FLUSH_MS = 100,
    IDLE_MS = 1000,
    /* Time between two searches for names: after a new name; while records come; while none come,
     * until the program does something. A kill loses the names that were first used within this
     * time. */
    WALK_MS = 1,
    WALK_BUSY_MS = 10,
    WALK_IDLE_MS = 100,
    ANCHOR_MS = SPOOL_LOOK_NS / 1000000,
    SPARE_BUFFERS = 8,
    LATE_MS = 100,
    LATE_NAPS = 10,
    NAMES_MS = 500,
    /* A flush comes sooner, after SOON_MS, if so many threads have taken their first buffer since the
     * last. */
    MANY_NEW = 8,
    SOON_MS = 2,
    LEAST_STACK = 1 << 20, /* bytes; by itself it would get what `ulimit -s` says */
};
enum finish { FINISH_NONE, FINISH_PLAIN, FINISH_FORCED };

static _Atomic uint32_t bell; /* futex: rung when there is something to do */
static _Atomic bool rung;     /* ... and the thread has not looked yet */
static _Atomic uint32_t finish_asked, finish_done;
/* futex: how often names were wanted before an exec, and read. */
static _Atomic uint32_t names_asked, names_done;

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
        return; /* already rung: callers are in a hurry */
    atomic_fetch_add_explicit(&bell, 1, memory_order_release);
    futex_wake(&bell);
}

bool cupti_wake_if_running(void)
{
    if (!cupti_running() || !cupti.thread)
        return false;
    cupti_flush_wake();
    return true;
}

static bool counted = true; /* did drops count (window_counts) at the last poll? */

/* Counts the records that CUPTI dropped. It also drops records outside the windows, mostly while
 * the agent turns kinds on or off and the program goes on launching. These are no loss, and are
 * counted separately. If drops counted at the last poll or count now, all of them count as lost. */
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

/* Polls often around the moments at which CUPTI is turned on or off, so that drops outside a window
 * are counted as such. */
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

/* Reports once that another client used CUPTI, even if its session began and ended between two
 * rounds. */
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
    if (told || !atomic_load(&cupti.runs_on) || atomic_load(&cupti.left_off))
        return;
    told = true;
    about_health(
        t, SPOOL_INFO, "cupti-runs-on",
        "This CUPTI can crash a program when it is turned off, so it stays on where nothing is to "
        "be recorded: there, too, the program pays what recording costs.",
        (int64_t)cupti.version);
}

static void tell_of_left_off(struct thread *t)
{
    static bool told;
    if (told || !atomic_load(&cupti.left_off))
        return;
    told = true;
    about_health(
        t, SPOOL_WARNING, "cupti-left-off",
        "This CUPTI can crash a program when it is turned off, so --light did not turn it on: "
        "only the times of the steps are known. Take the CUPTI of another CUDA release "
        "(GPUPROF_CUPTI), or try this one with GPUPROF_CUPTI_PAUSES=1.",
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

/* The last flush. If forced, it waits up to LATE_MS for the buffers that CUPTI still holds, because
 * CUPTI's own thread may be about to return one. */
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

/* Watches another client's sessions. After one, restores what the client changed: calls that it
 * left out, and kinds that it turned off unseen. */
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
    /* The last flush, and how many threads had taken a buffer by then. */
    int64_t flushed_ns;
    uint64_t threads;
    int flush_ms, walk_ms;
    uint32_t names; /* number of names at the last round */
    /* records: some came since the last anchor; alone: no thread of the program is left; rests:
     * CUPTI is off between two windows, and the step before the next one rings. */
    bool records, alone, rests;
};

static int slower(int ms, int most)
{
    return ms * 2 < most ? ms * 2 : most;
}

static void note_flush(struct pace *p, int64_t now_ns)
{
    p->flushed_ns = now_ns;
    p->threads = cupti_buffers_threads();
}

/* Each thread that comes and goes takes a buffer, which CUPTI returns only at a flush. Threads that
 * stay take a new buffer after each flush, so the number of requests does not tell: flushing for
 * these would go on without end. */
static void flush_soon(struct thread *t, struct pace *p, int64_t now_ns)
{
    if (cupti.waiting || peer_holds() || cupti_buffers_scarce() ||
        cupti_buffers_threads() - p->threads < MANY_NEW ||
        now_ns - p->flushed_ns < SOON_MS * 1000000ll)
        return;
    note_flush(p, now_ns);
    cupti.api.ActivityFlushAll(0);
    p->records |= cupti_publish(t, false).records;
}

/* One round. Returns how long to sleep, in ns. */
static int64_t round_of_work(struct thread *t, struct pace *p)
{
    int64_t now = clock_now_ns();
    uint32_t asked = atomic_load(&names_asked);
    if (asked != atomic_load(&names_done))
        p->next_flush_ns = now;
    struct cupti_progress done = cupti_publish(t, false);
    if (now >= p->next_flush_ns && cupti_buffers_scarce()) {
        /* No flush now: each one returns half-full buffers. */
        p->next_flush_ns = now + p->flush_ms * 1000000ll;
    } else if (now >= p->next_flush_ns) {
        note_flush(p, now);
        struct cupti_progress more = peer_holds() ? cupti_publish(t, true) : flush(t, false);
        bool busy = done.buffers || more.buffers;
        done.records |= more.records;
        p->flush_ms = p->rests ? IDLE_MS : busy ? FLUSH_MS : slower(p->flush_ms, IDLE_MS);
        p->next_flush_ns = now + p->flush_ms * 1000000ll;
    }
    flush_soon(t, p, now);
    if (atomic_exchange(&names_done, asked) != asked)
        futex_wake(&names_done);
    p->records |= done.records;
    window_apply_control(atomic_load_explicit(&agent.spool->control, memory_order_relaxed));
    watch_switch(now);
    bool wanted = window_wants_cupti(now);
    cupti_switch(wanted);
    p->rests = !wanted && window_closed() && !atomic_load(&cupti.kinds_on) && !peer_holds();
    tell_of_runs_on(t);
    tell_of_left_off(t);
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
        /* The disk may be full: try again later, not in each round. */
        p->next_grow_ns = now + ANCHOR_MS * 1000000ll;
    charge_self();
    uint32_t names = atomic_load_explicit(&agent.spool->names_used, memory_order_relaxed);
    p->walk_ms = p->rests            ? WALK_IDLE_MS
                 : names != p->names ? WALK_MS
                 : done.records      ? slower(p->walk_ms, WALK_BUSY_MS)
                                     : slower(p->walk_ms, WALK_IDLE_MS);
    p->names = names;
    int64_t left = p->next_flush_ns - clock_now_ns(), walk = p->walk_ms * 1000000ll;
    return left < walk ? left : walk;
}

static void *flush_thread(void *arg)
{
    prctl(PR_SET_NAME, "gpuprof", 0, 0, 0);
    /* NULL if there is no room for a ring; the thread still flushes. */
    struct thread *t = thread_enter();
    agent_thread.is_agent = true;
    silence_begin();
    counted = true; /* a forked child inherits it */
    struct pace p = {.flush_ms = FLUSH_MS, .walk_ms = WALK_MS};
    uint32_t asked;
    for (;;) {
        atomic_store(&rung, false); /* before the round, so that later calls ring again */
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
        atomic_store(&instruments_asleep, p.walk_ms > WALK_BUSY_MS && !p.rests);
        futex_wait(&bell, seen, sleep_ns);
        if (atomic_load(&bell) != seen) /* rung: the program does something */
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
    /* Signals of the program must not be delivered to this thread. */
    sigset_t all, before;
    pthread_attr_t attr;
    size_t stack;
    pthread_t id;
    sigfillset(&all);
    if (pthread_attr_init(&attr) != 0)
        return -1;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (pthread_attr_getstacksize(&attr, &stack) == 0 && stack < LEAST_STACK)
        pthread_attr_setstacksize(&attr, LEAST_STACK);
    sigprocmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&id, &attr, flush_thread, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return failed ? -1 : 0;
}

/* Called before exec. The agent's thread reads the names, since this may run in a signal handler
 * within a call of CUDA; this thread waits up to NAMES_MS for it. */
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
