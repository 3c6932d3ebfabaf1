/* Chooses the steps that carry lines: the first few, then single ones spread over the run. A
 * stretch, a time in which launches note their lines, begins and ends with a step. Before the first
 * step mark, or without any, the program's start is one stretch. */
#include "agent/core/clock.h"
#include "agent/core/instrument.h"
#include "agent/core/window.h"
#include "agent/lines/lines.h"

/* The first FIRST_STEPS steps all carry lines, so that a recording of a few steps has some. Later
 * ones do if at least LEAST_STEPS steps, LEAST_NS and a fiftieth (SHARE) of the run so far have
 * passed since the last one: so a run of any length has about a hundred, in all of its parts. */
enum { FIRST_STEPS = 5, LEAST_STEPS = 8, SHARE = 50, LEAST_NS = 100000000 };

static struct {
    uint64_t steps, last; /* steps begun; number of the last one with lines */
    int64_t first_ns, last_ns;
} g;

static bool is_due(int64_t now_ns)
{
    if (g.steps <= FIRST_STEPS)
        return true;
    int64_t apart_ns = (now_ns - g.first_ns) / SHARE;
    return g.steps - g.last >= LEAST_STEPS &&
           now_ns - g.last_ns >= (apart_ns > LEAST_NS ? apart_ns : LEAST_NS);
}

/* A step has ended. Called in the thread that marks steps. */
static void step_over(struct thread *t)
{
    if (!lines_ready())
        return;
    int64_t now_ns = clock_now_ns();
    lines_end(t);
    if (g.steps++ == 0)
        g.first_ns = now_ns;
    if (window_closed() || !is_due(now_ns))
        return;
    g.last = g.steps;
    g.last_ns = now_ns;
    lines_begin();
}

static void at_exit(void)
{
    struct thread *t = lines_ready() ? thread_enter() : NULL;
    if (!t)
        return;
    lines_end(t);
    thread_leave(t);
}

const struct instrument instrument_lines = {
    .forget = lines_forget,
    .step_over = step_over,
    .at_exit = at_exit,
};
