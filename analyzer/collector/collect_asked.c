/* The recorder's interface to windows on request; spool_asked.c makes the windows. */
#include "analyzer/collector/collect_state.h"

/* Agents flush ten times a second, and the next drain reads what the last flush wrote. */
static const int64_t late_ns = 600000000;

void collect_on_request(struct collector *c)
{
    c->out.times.asked = true;
}

void collect_ask(struct collector *c, int64_t steps, int64_t duration_ns)
{
    spool_ask(&c->out.times, collect_time_ns(c), steps, duration_ns);
}

void collect_ask_end(struct collector *c)
{
    spool_ask_end(&c->out.times, collect_time_ns(c));
}

enum collect_asked collect_asked(const struct collector *c)
{
    const struct row_recorded *w = spool_asked(&c->out.times);
    if (!w)
        return COLLECT_NONE;
    return w->gpu_end_ns == INT64_MAX || collect_time_ns(c) < w->gpu_end_ns + late_ns
               ? COLLECT_OPEN
               : COLLECT_OVER;
}

void collect_ask_next(struct collector *c)
{
    c->out.times.at.n = 0;
    c->out.limit.reached = false;
    c->out.limit.left_out = 0;
}

int64_t collect_ask_began(const struct collector *c)
{
    const struct row_recorded *w = spool_asked(&c->out.times);
    return w ? w->start_ns : -1;
}

int64_t collect_ask_first_step(const struct collector *c)
{
    for (size_t i = 0; i < c->spools.n; i++)
        if (c->out.times.based && spool_steps_begun(c->spools.at[i]) > 0)
            return c->spools.at[i]->asked_from + 1;
    return -1;
}

bool collect_ask_has_begun(const struct collector *c)
{
    const struct row_recorded *w = spool_asked(&c->out.times);
    return w && w->end_ns > w->start_ns && collect_time_ns(c) > w->start_ns;
}

bool collect_marks_steps(const struct collector *c)
{
    return spool_any_marks(c->spools.at, c->spools.n);
}
