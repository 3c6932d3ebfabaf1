/* Opens and closes the windows of the run that are recorded in full (window.h). */
#include "agent/core/window.h"

#include <stdlib.h>
#include <string.h>

#include "agent/core/clock.h"
#include "agent/core/instrument.h"
#include "agent/core/old_names.h"
#include "agent/core/steady.h"

OLD_NUMBER(strtoull);

_Atomic bool window_is_closed;

enum {
    EARLY_STEPS = 2, /* CUPTI is turned on this many steps before a window begins */
    SEEN = 64,       /* size of the cache of names: is this name a step mark? */
    /* the pace is the mean of up to this many steps, because a host that runs ahead of the GPU has
     * quick steps and then slow ones again */
    PACED = 64,
    /* queued work still runs after a window: GPU records count for the time of TAIL_STEPS steps
     * more, within TAIL_MIN_MS and TAIL_MAX_MS */
    TAIL_STEPS = 4,
    TAIL_MIN_MS = 50,
    TAIL_MAX_MS = 2000,
    OFF_MIN_MS = 1000, /* CUPTI stays on in pauses shorter than this */
    /* ... and is turned on so long before a window whose pause the pace decides: the agent's
     * thread looks ten times a second, and CUPTI then needs a moment */
    EARLY_MS = STEADY_EARLY_NS / 1000000,
    /* how long CUPTI takes to be on after the collector asks for it; the collector asks 200 ms
     * early */
    SETTLE_MS = 50
};

/* The plan, and where the program is in it. The thread that marks steps changes it, holding
 * `busy`. */
static struct {
    enum spool_window_plan plan;
    uint64_t every, window; /* in steps */
    uint64_t first, end;    /* of the next or present window; its first step leads in */
    uint64_t near;          /* the window for which CUPTI is already turned on; 0: none */
    _Atomic bool open;      /* by the plan */
    _Atomic bool paused;    /* by the collector */
    _Atomic uint64_t steps; /* steps begun so far */
    _Atomic int64_t gpu_until_ns, pace_ns, settled_ns;
    int64_t began_ns[PACED]; /* begin of step s, at index s % PACED */
    /* the marks that count as steps (counted_as); 0: none seen. Every thread reads it */
    _Atomic uint64_t counted;
    struct steady steady;  /* where the pace decides */
    _Atomic bool given_up; /* no window opens any more */
    atomic_flag busy;
    _Atomic uint64_t seen[SEEN]; /* name << 8 | mark + 1; name: a string id of this process */
} g;

static uint64_t next_number(const char **text)
{
    char *end;
    uint64_t n = strtoull(*text, &end, 10);
    *text = *end ? end + 1 : end;
    return n;
}

/* ENOUGH:MS:WINDOW:PAUSE:MS:WAKE, the members of struct steady_plan. */
static void read_steady(const char *text, bool light)
{
    struct steady_plan p = {.light = light};
    p.enough = next_number(&text);
    p.enough_ns = (int64_t)next_number(&text) * 1000000;
    p.window = next_number(&text);
    p.pause = next_number(&text);
    p.pause_ns = (int64_t)next_number(&text) * 1000000;
    p.wake = next_number(&text);
    if (!p.window || !p.pause)
        return;
    steady_begin(&g.steady, &p);
    g.first = g.steady.first;
    g.end = g.steady.end;
    g.plan = light ? SPOOL_WINDOWS_LIGHT : SPOOL_WINDOWS_STEADY;
}

/* Reads GPUPROF_WINDOW: "every=500,window=20", "steps=100:200", "profiler", "closed", or "steady="
 * and "light=" with the numbers of read_steady. begin_paused reads "asked". */
static void read_plan(void)
{
    const char *text = agent_env("GPUPROF_WINDOW");
    char *end;
    g.plan = SPOOL_WINDOWS_ALL;
    if (!text)
        return;
    if (strncmp(text, "steady=", 7) == 0 || strncmp(text, "light=", 6) == 0) {
        read_steady(strchr(text, '=') + 1, *text == 'l');
    } else if (strncmp(text, "every=", 6) == 0) {
        g.every = strtoull(text + 6, &end, 10);
        g.window = strncmp(end, ",window=", 8) == 0 ? strtoull(end + 8, NULL, 10) : 0;
        g.first = 1;
        g.end = g.window + 1;
        g.plan = g.window ? SPOOL_WINDOWS_EVERY : SPOOL_WINDOWS_ALL;
    } else if (strncmp(text, "steps=", 6) == 0) {
        g.first = strtoull(text + 6, &end, 10);
        uint64_t last = *end == ':' ? strtoull(end + 1, NULL, 10) : 0;
        g.end = last ? last + 1 : UINT64_MAX;
        g.plan = SPOOL_WINDOWS_STEPS;
    } else if (strcmp(text, "closed") == 0) {
        g.first = g.end = UINT64_MAX; /* a step that never comes */
        g.plan = SPOOL_WINDOWS_STEPS;
    } else if (strcmp(text, "profiler") == 0) {
        g.plan = SPOOL_WINDOWS_PROFILER;
    }
}

static bool by_pace(void)
{
    return g.plan == SPOOL_WINDOWS_STEADY || g.plan == SPOOL_WINDOWS_LIGHT;
}

/* Tells all threads whether the window is closed. */
static void publish(void)
{
    atomic_store(&window_is_closed, !atomic_load(&g.open) || atomic_load(&g.paused));
}

static struct spool_window *window_at(uint32_t i)
{
    return &agent.spool->windows[i % SPOOL_WINDOWS];
}

static void open_now(int64_t now_ns)
{
    uint32_t head = atomic_load(&agent.spool->windows_head);
    struct spool_window *w = window_at(head);
    atomic_store(&w->to_ns, INT64_MAX);
    atomic_store(&w->gpu_to_ns, INT64_MAX);
    atomic_store(&w->from_ns, now_ns);
    atomic_store(&w->first_step, atomic_load(&g.steps));
    atomic_store_explicit(&agent.spool->windows_head, head + 1, memory_order_release);
    atomic_store(&g.open, true);
    publish();
}

static void close_now(int64_t now_ns)
{
    uint32_t head = atomic_load(&agent.spool->windows_head);
    if (!atomic_load(&g.open))
        return;
    if (head == 0) { /* SPOOL_WINDOWS_LIGHT: open for those who mark no steps */
        atomic_store(&g.open, false);
        publish();
        return;
    }
    struct spool_window *w = window_at(head - 1);
    int64_t tail_ns = TAIL_STEPS * atomic_load(&g.pace_ns);
    tail_ns = tail_ns < TAIL_MIN_MS * 1000000ll   ? TAIL_MIN_MS * 1000000ll
              : tail_ns > TAIL_MAX_MS * 1000000ll ? TAIL_MAX_MS * 1000000ll
                                                  : tail_ns;
    atomic_store(&g.gpu_until_ns, now_ns + tail_ns);
    atomic_store(&w->gpu_to_ns, now_ns + tail_ns);
    atomic_store_explicit(&w->to_ns, now_ns, memory_order_release);
    atomic_store(&g.open, false);
    publish();
}

/* With "asked" nothing is recorded until a user asks, and with SPOOL_WINDOWS_LIGHT until a process
 * that marks steps does; CUPTI stays off from the start: the collector's own word would come too
 * late. */
static void begin_paused(void)
{
    const char *text = agent_env("GPUPROF_WINDOW");
    uint32_t run = SPOOL_RUN;
    if (window_light() || (text && strcmp(text, "asked") == 0))
        atomic_compare_exchange_strong(&agent.spool->control, &run, SPOOL_PAUSE);
    atomic_store(&g.paused, atomic_load(&agent.spool->control) == SPOOL_PAUSE);
}

void window_begin(void)
{
    memset(&g, 0, sizeof g);
    read_plan();
    agent.spool->window = g.plan;
    begin_paused();
    if (g.plan == SPOOL_WINDOWS_PROFILER || g.plan == SPOOL_WINDOWS_ALL || window_light())
        atomic_store(&g.open, g.plan != SPOOL_WINDOWS_PROFILER);
    else if (g.first != UINT64_MAX)
        /* open until the first step shows where the program is */
        open_now(agent.spool->start_monotonic_ns);
    publish();
}

bool window_by_profiler(void)
{
    return g.plan == SPOOL_WINDOWS_PROFILER;
}

void window_give_up(void)
{
    atomic_store(&g.given_up, true);
}

bool window_light(void)
{
    return g.plan == SPOOL_WINDOWS_LIGHT;
}

/* ---- the collector's word ---- */

void window_apply_control(uint32_t control)
{
    bool pause = control == SPOOL_PAUSE;
    if (control == SPOOL_STOP || atomic_load(&g.paused) == pause)
        return;
    int64_t now_ns = clock_now_ns();
    atomic_store(&g.gpu_until_ns, now_ns + TAIL_MIN_MS * 1000000ll);
    atomic_store(&g.settled_ns, now_ns + SETTLE_MS * 1000000ll);
    atomic_store(&g.paused, pause);
    publish();
    instruments_wake(); /* a sleeping thread would read the control word only ten times a second */
}

bool window_counts(int64_t now_ns)
{
    return !window_closed() && now_ns >= atomic_load(&g.settled_ns);
}

bool window_allows(enum spool_rec_kind kind, uint32_t control)
{
    window_apply_control(control);
    switch (kind) {
    case SPOOL_REC_META:
    case SPOOL_REC_HEALTH:
    case SPOOL_REC_THREAD:
    case SPOOL_REC_STEP:
    case SPOOL_REC_SILENT:
    case SPOOL_REC_SEARCH:
        return true;
    default:
        return !window_closed();
    }
}

/* ---- steps ---- */

uint32_t window_name(const char *text)
{
    size_t n = text ? spool_step_base(text) : 0;
    return n && spool_step_mark(text) ? strings_add(text, n) : 0;
}

/* The mark that a name stands for. A cache helps, since programs use a few names again and
 * again. */
static enum spool_step_mark mark_of(uint32_t name)
{
    uint64_t there = atomic_load_explicit(&g.seen[name % SEEN], memory_order_relaxed);
    if (there >> 8 == name && there)
        return (enum spool_step_mark)((there & 0xff) - 1);
    enum spool_step_mark mark = spool_step_mark(strings_text(name));
    atomic_store_explicit(&g.seen[name % SEEN], (uint64_t)name << 8 | (uint64_t)(mark + 1),
                          memory_order_relaxed);
    return mark;
}

enum { MARK_BITS = 8, DEPTH_BITS = 24 };

/* The kind of marks that count as steps, in one word: thread << 32 | depth << 8 | mark. */
static uint64_t counted_as(const struct thread *t, unsigned depth, enum spool_step_mark mark)
{
    return (uint64_t)t->tid << (MARK_BITS + DEPTH_BITS) |
           (uint64_t)(depth & ((1u << DEPTH_BITS) - 1)) << MARK_BITS | mark;
}

bool window_is_step(const struct thread *t, uint32_t name, unsigned depth)
{
    enum spool_step_mark mark = name ? mark_of(name) : SPOOL_STEP_NONE;
    return mark != SPOOL_STEP_NONE &&
           counted_as(t, depth, mark) == atomic_load_explicit(&g.counted, memory_order_relaxed);
}

/* True if these marks are better than those counted so far: of a more trustworthy kind, or of the
 * same kind and further out. */
static bool better(uint64_t counted, enum spool_step_mark mark, unsigned depth)
{
    enum spool_step_mark kind = (enum spool_step_mark)(counted & ((1u << MARK_BITS) - 1));
    unsigned its_depth = counted >> MARK_BITS & ((1u << DEPTH_BITS) - 1);
    return counted == 0 || mark > kind || (mark == kind && depth < its_depth);
}

static void next_window(uint64_t s, int64_t now_ns)
{
    uint32_t thin = atomic_load(&agent.spool->thin);
    if (by_pace()) {
        steady_next(&g.steady, s, now_ns, thin);
        g.first = g.steady.first;
        g.end = g.steady.end;
        return;
    }
    uint64_t every = g.every << (thin < 32 ? thin : 32);
    g.first = g.plan == SPOOL_WINDOWS_EVERY ? g.first + every : UINT64_MAX;
    g.end = g.plan == SPOOL_WINDOWS_EVERY ? g.first + g.window : UINT64_MAX;
}

static void begin_step(int64_t now_ns)
{
    uint64_t s = atomic_fetch_add(&g.steps, 1) + 1, over = s - 1 < PACED ? s - 1 : PACED;
    atomic_store(&agent.spool->steps, s);
    if (over)
        atomic_store(&g.pace_ns, (now_ns - g.began_ns[(s - over) % PACED]) / (int64_t)over);
    g.began_ns[s % PACED] = now_ns;
    if (atomic_load_explicit(&g.given_up, memory_order_relaxed)) {
        g.first = g.end = UINT64_MAX;
    } else if (by_pace()) {
        steady_step(&g.steady, s, now_ns);
        g.first = g.steady.first;
        g.end = g.steady.end;
    } else if (g.plan != SPOOL_WINDOWS_EVERY && g.plan != SPOOL_WINDOWS_STEPS) {
        return;
    }
    bool open = atomic_load(&g.open);
    if (s >= g.end) {
        if (open)
            close_now(now_ns);
        open = false;
        next_window(s, now_ns);
    }
    bool wanted = s + 1 >= g.first && s < g.end; /* one step leads in */
    if (open && !wanted)
        close_now(now_ns);
    else if (!open && wanted)
        open_now(now_ns);
    if (!open && s + EARLY_STEPS + 1 >= g.first)
        instruments_wake();
}

bool window_step(const struct thread *t, uint32_t name, unsigned depth, int64_t now_ns, bool ended)
{
    enum spool_step_mark mark = name ? mark_of(name) : SPOOL_STEP_NONE;
    if (mark == SPOOL_STEP_NONE || atomic_flag_test_and_set(&g.busy))
        return false;
    uint64_t counted = atomic_load_explicit(&g.counted, memory_order_relaxed);
    uint64_t this = counted_as(t, depth, mark);
    if (better(counted, mark, depth)) {
        if (ended && counted == 0)
            begin_step(now_ns); /* the step that has just ended */
        counted = this;
        atomic_store_explicit(&g.counted, counted, memory_order_relaxed);
    }
    bool step = counted == this;
    if (step)
        begin_step(now_ns);
    atomic_flag_clear(&g.busy);
    return step;
}

/* ---- the profiler's range, and CUPTI ---- */

void window_profiler(bool start)
{
    int64_t now_ns = clock_now_ns();
    if (g.plan != SPOOL_WINDOWS_PROFILER || atomic_flag_test_and_set(&g.busy))
        return;
    if (start && !atomic_load(&g.open))
        open_now(now_ns);
    else if (!start)
        close_now(now_ns);
    atomic_flag_clear(&g.busy);
}

bool window_wants_cupti(int64_t now_ns)
{
    if (!window_closed() || now_ns < atomic_load(&g.gpu_until_ns))
        return true;
    if (atomic_load(&g.paused) || g.plan == SPOOL_WINDOWS_PROFILER)
        return false;
    uint64_t s = atomic_load(&g.steps), first = g.first;
    if (first <= s + EARLY_STEPS + 1)
        return true;
    int64_t pace_ns = atomic_load(&g.pace_ns);
    uint64_t left = first - s - 1;
    int64_t early_ns = (by_pace() ? EARLY_MS : OFF_MIN_MS) * 1000000ll;
    if (left < (uint64_t)INT32_MAX && (int64_t)left * pace_ns < early_ns)
        g.near = first;
    /* once on for this window, CUPTI stays on, even if steps become longer */
    return g.near == first;
}
