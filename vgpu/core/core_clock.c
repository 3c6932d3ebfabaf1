/* The virtual GPU's clock is CLOCK_MONOTONIC. Threads spend host costs by spinning. Waits for the
 * device sleep until shortly before the moment and then spin, because a sleeping thread wakes
 * late. */
#include "core/core_state.h"

#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

enum { SPIN_NS = 150000 };

int64_t vg_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb"); /* yield has no effect on most of these */
#endif
}

void vg_spin_until(int64_t when_ns)
{
    while (vg_now_ns() < when_ns)
        pause_briefly();
}

static void sleep_until(int64_t when_ns)
{
    struct timespec t = {when_ns / 1000000000, when_ns % 1000000000};
    /* The default timer slack of 50 us would make every wait late; it is restored afterwards. */
    int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        continue;
    if (slack > 0)
        prctl(PR_SET_TIMERSLACK, (unsigned long)slack, 0, 0, 0);
}

void vg_sleep_until(int64_t when_ns)
{
    if (when_ns - vg_now_ns() > SPIN_NS)
        sleep_until(when_ns - SPIN_NS);
    vg_spin_until(when_ns);
}

void vg_wait_for(int64_t when_ns, bool blocking)
{
    if (blocking && when_ns > vg_now_ns())
        sleep_until(when_ns);
    else
        vg_sleep_until(when_ns);
}
