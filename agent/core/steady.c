/* Decides from the pace of the steps what is recorded in full (steady.h). */
#include "agent/core/steady.h"

#include <string.h>

static bool recording(const struct steady *x, uint64_t s)
{
    return s >= x->first && s < x->end;
}

static bool open_ended(const struct steady *x)
{
    return x->end == UINT64_MAX && x->first != UINT64_MAX;
}

void steady_begin(struct steady *x, const struct steady_plan *plan)
{
    memset(x, 0, sizeof *x);
    x->plan = *plan;
    x->first = plan->light ? UINT64_MAX : 1;
    x->end = UINT64_MAX;
    x->apart = plan->pause ? plan->pause : 1;
}

static int64_t median(const int64_t *of)
{
    int64_t v[STEADY_BLOCK];
    for (unsigned i = 0; i < STEADY_BLOCK; i++) {
        unsigned k = i;
        for (; k > 0 && v[k - 1] > of[i]; k--)
            v[k] = v[k - 1];
        v[k] = of[i];
    }
    return v[STEADY_BLOCK / 2];
}

static bool near(int64_t a, int64_t b)
{
    int64_t low = a < b ? a : b, high = a < b ? b : a;
    return (high - low) * 100 <= low * STEADY_PCT;
}

static void stretch(struct steady *x, uint64_t from, int64_t from_ns)
{
    x->from = from;
    x->from_ns = from_ns;
    x->off = 0;
    x->longs = 0;
    x->longs_ns = 0;
}

/* A block of steps has ended at step s. */
static void end_block(struct steady *x, uint64_t s, int64_t now_ns)
{
    int64_t m = median(x->length_ns), *pace_ns = &x->pace_ns[recording(x, s - 1)], sum_ns = 0;
    for (unsigned i = 0; i < STEADY_BLOCK; i++)
        sum_ns += x->length_ns[i];
    x->in_block = 0;
    if (x->settle) {
        x->settle--;
    } else if (!*pace_ns) {
        *pace_ns = m;
        if (!x->closed)
            stretch(x, s - STEADY_BLOCK, now_ns - sum_ns);
    } else if (near(m, *pace_ns)) {
        x->off = 0;
    } else if (++x->off >= STEADY_OFF) {
        *pace_ns = m;
        x->pace_ns[!recording(x, s - 1)] = 0;
        x->changed = x->closed != 0 && !recording(x, s - 1);
        x->known = 0;
        stretch(x, s - STEADY_BLOCK, now_ns - sum_ns);
    }
}

static void measure(struct steady *x, uint64_t s, int64_t now_ns)
{
    int64_t length_ns = now_ns - x->began_ns, pace_ns = x->pace_ns[recording(x, s - 1)];
    bool is_long = pace_ns && length_ns * 2 > pace_ns * 3;
    if (is_long) {
        x->longs += !x->was_long;
        x->longs_ns += length_ns - pace_ns;
    }
    x->was_long = is_long;
    x->length_ns[x->in_block++] = length_ns;
    if (x->in_block == STEADY_BLOCK)
        end_block(x, s, now_ns);
}

/* The share of long steps in the time since then, in thousandths; 0 where it does not matter. */
static int64_t longs_share(const struct steady *x, int64_t since_ns, int64_t now_ns)
{
    int64_t thousandth_ns = (now_ns - since_ns) / 1000;
    int64_t share = thousandth_ns > 0 ? x->longs_ns / thousandth_ns : 0;
    return share >= STEADY_MATTERS && share > 2 * x->known ? share : 0;
}

/* Is enough recorded? */
static bool enough(struct steady *x, uint64_t s, int64_t now_ns)
{
    if (!x->pace_ns[1] || x->off || s - x->from < x->plan.enough ||
        now_ns - x->from_ns < x->plan.enough_ns)
        return false;
    int64_t share = longs_share(x, x->from_ns, now_ns);
    share = share > x->awaited ? share : x->awaited;
    if (share && x->longs < STEADY_LONG && s - x->from < x->plan.enough * STEADY_PATIENCE)
        return false;
    x->known = share > x->known ? share : x->known;
    return true;
}

static void open_at(struct steady *x, uint64_t s, uint64_t steps)
{
    uint64_t ahead = x->pace_ns[0] > 0 ? (uint64_t)(STEADY_EARLY_NS / x->pace_ns[0]) + 1 : 0;
    ahead = ahead > STEADY_SOON ? STEADY_SOON : ahead;
    x->first = s + (ahead > STEADY_AHEAD ? ahead : STEADY_AHEAD);
    x->end = steps ? x->first + steps : UINT64_MAX;
    x->changed = false;
    x->decided = true;
}

/* Nothing is recorded now: is there a reason to? */
static void look_for_change(struct steady *x, uint64_t s, int64_t now_ns)
{
    if (x->decided)
        return;
    if (!x->closed) { /* light, and not begun */
        bool steady = x->pace_ns[0] && !x->off && s - x->from >= 2 * STEADY_BLOCK;
        if (steady || s >= STEADY_LATEST)
            open_at(x, s, x->plan.enough);
        return;
    }
    if (s - x->closed < x->plan.wake || x->first <= s + STEADY_AHEAD)
        return;
    x->awaited = x->plan.light || x->longs < 2 ? 0 : longs_share(x, x->closed_ns, now_ns);
    if (x->changed || x->awaited)
        open_at(x, s, x->plan.light ? x->plan.window : 0);
}

void steady_step(struct steady *x, uint64_t s, int64_t now_ns)
{
    if (x->began_ns)
        measure(x, s, now_ns);
    x->began_ns = now_ns;
    if (s == x->first) { /* a window begins: its steps are a stretch of their own */
        x->in_block = 0;
        x->decided = false;
        stretch(x, s, now_ns);
    }
    if (open_ended(x) && recording(x, s) && x->in_block == 0 && enough(x, s, now_ns))
        x->end = s;
    else if (s < x->first && x->in_block == 0)
        look_for_change(x, s, now_ns);
}

void steady_next(struct steady *x, uint64_t s, int64_t now_ns, uint32_t thin)
{
    int64_t pace_ns = x->pace_ns[0] ? x->pace_ns[0] : x->pace_ns[1];
    uint64_t apart = x->apart;
    while (pace_ns && apart * (uint64_t)pace_ns < (uint64_t)x->plan.pause_ns)
        apart *= 2;
    bool rests = apart >= (uint64_t)STEADY_REST_NS / (uint64_t)(pace_ns ? pace_ns : 1);
    x->apart = rests ? apart : 2 * apart;
    apart <<= thin < 16 ? thin : 16;
    /* at a multiple of the pause, so that the ranks of a job, which end their first windows within
     * a few steps, record the same steps */
    x->first = (s + 2 * apart - 1) / apart * apart;
    x->end = x->first + x->plan.window;
    x->closed = s;
    x->closed_ns = now_ns;
    x->in_block = 0;
    x->settle = STEADY_SETTLE;
    x->changed = false;
    x->awaited = 0;
    stretch(x, s, now_ns);
}
