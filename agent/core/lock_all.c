/* Wraps mlockall. The kernel counts every address of the process against `ulimit -l`, also the 3 GB
 * of the spool's map that are still empty, so the call would fail in programs that succeed without
 * gpuprof. If it fails for want of room, the empty parts are taken away for the length of the call.
 * They come back unlocked, so what the recording uses later does not count either. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/core/cancel.h"
#include "agent/core/resolve.h"
#include "agent/core/spool.h"

/* The parts that grow, in the order of the file. */
enum { PARTS = 4, KEPT = SPOOL_ALIGN };

static _Atomic uint64_t grown[PARTS]; /* where the part in use ends */
static _Atomic int growing;           /* threads that give a part room */
static _Atomic bool away;             /* the empty parts are taken away */
static _Atomic bool lost;             /* one did not come back: the spool grows no more */

/* A thread that only yields keeps its core from threads of lower priority, and programs that lock their
 * memory often have such threads. The call itself: the C library's may be cancelled. */
static void nap(void)
{
    syscall(SYS_nanosleep, &(struct timespec){0, 50000}, NULL);
}

static uint64_t part_begin(int part)
{
    const struct spool_header *h = agent.spool;
    const uint64_t at[PARTS + 1] = {h->names_off, h->strings_off, h->buffers_off, h->ring_data_off,
                                    h->file_bytes};
    return at[part];
}

void lock_all_new_spool(void)
{
    for (int i = 0; i < PARTS; i++)
        atomic_store(&grown[i], part_begin(i));
    atomic_store(&growing, 0); /* a forked child inherits both */
    atomic_store(&away, false);
    atomic_store(&lost, false);
}

/* The kernel would let this thread wait as well: the call holds all changes of the map. */
bool lock_all_begin_grow(void)
{
    for (;;) {
        atomic_fetch_add(&growing, 1);
        if (!atomic_load(&away))
            return !atomic_load(&lost);
        atomic_fetch_sub(&growing, 1);
        nap();
    }
}

void lock_all_end_grow(uint64_t off, uint64_t len)
{
    for (int i = 0; i < PARTS && len; i++) {
        uint64_t had = atomic_load(&grown[i]);
        if (off < part_begin(i) || off >= part_begin(i + 1))
            continue;
        while (had < off + len && !atomic_compare_exchange_weak(&grown[i], &had, off + len))
            ;
    }
    atomic_fetch_sub(&growing, 1);
}

/* Takes the empty end of each part away, but for its first pages. */
static void take_ends_away(void)
{
    for (int i = 0; i < PARTS; i++) {
        uint64_t from = atomic_load(&grown[i]) + KEPT, end = part_begin(i + 1);
        if (from < end)
            munmap((char *)agent.spool + from, end - from);
    }
}

/* Brings the ends back, and unlocks the spool. If another thread has mapped something there
 * meanwhile, that memory is the program's: the spool grows no more, and what finds no room is
 * counted. */
static void bring_ends_back(void)
{
    for (int i = 0; i < PARTS; i++) {
        uint64_t begin = i ? part_begin(i) : 0, last = atomic_load(&grown[i]),
                 end = part_begin(i + 1);
        uint64_t there = last + KEPT < end ? last + KEPT : end;
        munlock((char *)agent.spool + begin, there - begin);
        if (there < end && mremap((char *)agent.spool + last, KEPT, end - last, 0) == MAP_FAILED)
            atomic_store(&lost, true);
    }
}

static int lock_without_spool(int (*next)(int), int flags)
{
    bool no = false;
    if (!atomic_compare_exchange_strong(&away, &no, true))
        return -1;
    while (atomic_load(&growing))
        nap();
    take_ends_away();
    int rc = next(flags & ~MCL_FUTURE), why = errno;
    bring_ends_back();
    if (rc == 0 && flags & MCL_FUTURE && (rc = next(flags & ~MCL_CURRENT)) != 0)
        why = errno;
    atomic_store(&away, false);
    errno = why;
    return rc;
}

/* The spool is made before the call, if there is none yet: all that is mapped behind MCL_FUTURE counts
 * as locked. */
AGENT_EXPORT int mlockall(int flags)
{
    int (*next)(int) = (int (*)(int))resolve_next("mlockall");
    struct thread *t = next && agent.page ? thread_enter_for(false) : NULL;
    int rc = next ? next(flags) : -1, saved = errno;
    if (t && rc != 0 && saved == ENOMEM && flags & MCL_CURRENT && agent_recording()) {
        int state = cancel_disable();
        rc = lock_without_spool(next, flags);
        saved = errno;
        cancel_restore(state);
        if (rc != 0)
            about_health(
                t, SPOOL_WARNING, "mlockall",
                "The program's mlockall failed: what gpuprof records into counts against "
                "`ulimit -l`, too. If the call succeeds without gpuprof, raise this limit.",
                saved);
    }
    if (t)
        thread_leave(t);
    errno = saved;
    return rc;
}
