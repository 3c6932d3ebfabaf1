/* Windows that somebody asks for while the program runs. The agents are told in time, so a window
 * begins a moment after it was asked for; it ends when its steps are done, or its time. */
#include "analyzer/collector/collect_state.h"
#include "analyzer/collector/spool/spool.h"

/* Agents look at the collector's word ten times a second; they flush as often, and what the last
 * flush brings is read at the next drain. Without step marks a window lasts `unmarked`. */
static const int64_t start_ns = 150000000, late_ns = 600000000, unmarked_ns = 10000000000;

static struct row_recorded *window_of(const struct spool_times *t)
{
    return t->asked && t->at.n ? &t->at.at[0] : NULL;
}

void spool_ask(struct spool_times *t, int64_t now_ns, int64_t steps, int64_t length_ns)
{
    t->at.n = 0;
    t->steps = steps;
    t->based = false;
    t->until_ns = INT64_MAX;
    spool_times_add(t, now_ns + start_ns, steps ? INT64_MAX : length_ns);
}

void spool_ask_end(struct spool_times *t, int64_t now_ns)
{
    struct row_recorded *w = window_of(t);
    if (!w || w->end_ns <= now_ns)
        return;
    w->end_ns = now_ns > w->start_ns ? now_ns : w->start_ns;
    w->gpu_end_ns = w->end_ns + spool_tail(w->end_ns - w->start_ns);
}

static int64_t steps_begun(const struct spool *s)
{
    uint64_t steps = s->done || !s->h ? 0 : atomic_load(&s->h->steps);
    return steps < INT64_MAX / 2 ? (int64_t)steps : 0; /* a damaged one */
}

static bool any_marks(struct spool *const *spools, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any |= steps_begun(spools[i]) > 0;
    return any;
}

/* The mark of the step behind the last one ends it. Ranks go together; one that does not keep up
 * holds the others' window open for as many steps again. */
static bool enough(struct spool *const *spools, size_t n, int64_t steps)
{
    int64_t least = INT64_MAX, most = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t done = steps_begun(spools[i]) - spools[i]->asked_from - 1;
        if (done > most)
            most = done;
        if (done >= 0 && done < least)
            least = done;
    }
    return most >= steps && (least >= steps || most >= 2 * steps);
}

void spool_ask_advance(struct spool_times *t, struct spool *const *spools, size_t n, int64_t now_ns)
{
    struct row_recorded *w = window_of(t);
    if (!w || now_ns < w->start_ns)
        return;
    for (size_t i = 0; i < n && !t->based; i++)
        spools[i]->asked_from = steps_begun(spools[i]);
    t->based = true;
    if (w->end_ns != INT64_MAX)
        return;
    bool marks = any_marks(spools, n);
    if (marks ? enough(spools, n, t->steps) : now_ns - w->start_ns >= unmarked_ns)
        spool_ask_end(t, now_ns);
}

/* ---- what the recorder asks for ---- */

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
    const struct row_recorded *w = window_of(&c->out.times);
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
    const struct row_recorded *w = window_of(&c->out.times);
    return w ? w->start_ns : -1;
}

int64_t collect_ask_first_step(const struct collector *c)
{
    for (size_t i = 0; i < c->spools.n; i++)
        if (c->out.times.based && steps_begun(c->spools.at[i]) > 0)
            return c->spools.at[i]->asked_from + 1;
    return -1;
}

bool collect_ask_has_begun(const struct collector *c)
{
    const struct row_recorded *w = window_of(&c->out.times);
    return w && w->end_ns > w->start_ns && collect_time_ns(c) > w->start_ns;
}

bool collect_marks_steps(const struct collector *c)
{
    return any_marks(c->spools.at, c->spools.n);
}
