/* Time stamps: in CLOCK_REALTIME, or from the clock that the client has registered. */
#include "shims/cupti/shim_cupti.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { TRIES = 4, NARROW_NS = 1000 };

static _Atomic int64_t offset_ns; /* from CLOCK_MONOTONIC to CLOCK_REALTIME */

static int64_t clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void cupti_clock_follow(void)
{
    int64_t best = INT64_MAX, offset = 0;
    for (int i = 0; i < TRIES; i++) {
        int64_t before = clock_ns(CLOCK_MONOTONIC), real = clock_ns(CLOCK_REALTIME);
        int64_t after = clock_ns(CLOCK_MONOTONIC);
        if (after - before < best) {
            best = after - before;
            offset = real - before - (after - before) / 2;
        }
    }
    int64_t moved = offset - offset_ns;
    /* A smaller difference is noise of the measurement. */
    if (moved > NARROW_NS || moved < -NARROW_NS)
        offset_ns = offset;
}

/* ---- the client's clock ---- */

/* One reading of the client's clock: its value, when it was taken (CLOCK_MONOTONIC), and how long
 * the reading took. A long reading is inexact, because the thread may have lost its core. */
struct reading {
    int64_t at_ns, width_ns;
    uint64_t value;
};

/* The client's clock is taken as a straight line through the first reading and a later one, the one
 * that gives the least uncertain rate. The relative uncertainty is `doubt`. */
static struct {
    _Atomic(CUpti_TimestampCallbackFunc) clock;
    pthread_mutex_t lock;
    struct reading first;
    double rate, doubt;
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct reading read_own(CUpti_TimestampCallbackFunc f)
{
    struct reading best = {.width_ns = INT64_MAX};
    for (int i = 0; i < TRIES && best.width_ns > NARROW_NS; i++) {
        int64_t before = vg_now_ns();
        uint64_t value = f();
        int64_t width = vg_now_ns() - before;
        if (width < best.width_ns)
            best = (struct reading){before + width / 2, width, value};
    }
    return best;
}

void cupti_clock_own(CUpti_TimestampCallbackFunc f)
{
    struct reading first = f ? read_own(f) : (struct reading){0, 0, 0};
    pthread_mutex_lock(&own.lock);
    own.first = first;
    own.rate = 1;
    own.doubt = INFINITY;
    own.clock = f;
    pthread_mutex_unlock(&own.lock);
}

static uint64_t own_stamp(int64_t monotonic_ns, CUpti_TimestampCallbackFunc f)
{
    struct reading r = read_own(f);
    pthread_mutex_lock(&own.lock);
    int64_t passed = r.at_ns - own.first.at_ns;
    double doubt =
        passed > 0 ? (double)(r.width_ns + own.first.width_ns) / (double)passed : INFINITY;
    if (doubt < own.doubt) {
        own.rate = (double)(r.value - own.first.value) / (double)passed;
        own.doubt = doubt;
    }
    double since = (double)(monotonic_ns - own.first.at_ns) * own.rate;
    uint64_t stamp = own.first.value + (uint64_t)(int64_t)since;
    pthread_mutex_unlock(&own.lock);
    return stamp;
}

uint64_t cupti_stamp(int64_t monotonic_ns)
{
    CUpti_TimestampCallbackFunc f = own.clock;
    if (f)
        return own_stamp(monotonic_ns, f);
    if (offset_ns == 0)
        cupti_clock_follow();
    const struct misbehaviour *m = cupti_faults();
    int64_t step = m->step_at_ns && monotonic_ns >= m->step_at_ns ? m->step_ns : 0;
    return (uint64_t)(monotonic_ns + offset_ns + step);
}
