/* Windows requested while the program runs. Agents must be told in time, so a window begins a
 * moment after the request. It ends after its steps, or its time. */
#include "analyzer/collector/spool/spool.h"

/* start_ns: delay from the request to the earliest begin. unmarked_ns: length of a window by steps
 * if no process marks steps. */
static const int64_t start_ns = SPOOL_EARLY_NS + 50000000, unmarked_ns = 10000000000;

struct row_recorded *spool_asked(const struct spool_times *t)
{
    return t->asked && t->at.n ? &t->at.at[0] : NULL;
}

void spool_ask(struct spool_times *t, int64_t now_ns, int64_t steps, int64_t length_ns)
{
    t->at.n = 0;
    t->steps = steps;
    t->told = t->based = false;
    t->until_ns = INT64_MAX;
    spool_times_add(t, now_ns + start_ns, steps ? INT64_MAX : length_ns);
}

void spool_ask_end(struct spool_times *t, int64_t now_ns)
{
    struct row_recorded *w = spool_asked(t);
    if (!w || w->end_ns <= now_ns)
        return;
    w->end_ns = now_ns > w->start_ns ? now_ns : w->start_ns;
    w->gpu_end_ns = w->end_ns + spool_tail_ns(w->end_ns - w->start_ns);
}

int64_t spool_steps_begun(const struct spool *s)
{
    uint64_t steps = s->done || !s->h ? 0 : atomic_load(&s->h->steps);
    return steps < INT64_MAX / 2 ? (int64_t)steps : 0; /* damaged */
}

bool spool_any_marks(struct spool *const *spools, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any |= spool_steps_begun(spools[i]) > 0;
    return any;
}

/* True if the window has enough steps: the mark of the step after the last one ends it. Ranks step
 * together; if one does not keep up, the window stays open at most for as many steps again. */
static bool enough(struct spool *const *spools, size_t n, int64_t steps)
{
    int64_t least = INT64_MAX, most = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t done = spool_steps_begun(spools[i]) - spools[i]->asked_from - 1;
        if (done > most)
            most = done;
        if (done >= 0 && done < least)
            least = done;
    }
    return most >= steps && (least >= steps || most >= 2 * steps);
}

/* Moves the window's begin to from_ns if that is later: the collector may have had no
 * core since the request. */
static void begin_later(struct row_recorded *w, int64_t from_ns)
{
    int64_t later_ns = from_ns - w->start_ns;
    if (later_ns <= 0)
        return;
    w->start_ns = from_ns;
    if (w->end_ns == INT64_MAX)
        return;
    w->end_ns += later_ns;
    w->gpu_end_ns += later_ns;
}

void spool_ask_advance(struct spool_times *t, struct spool *const *spools, size_t n, int64_t now_ns)
{
    struct row_recorded *w = spool_asked(t);
    if (w && !t->told && now_ns + SPOOL_EARLY_NS > w->start_ns) { /* tell them now */
        begin_later(w, now_ns + SPOOL_EARLY_NS - 1);
        t->told = true;
    }
    if (!w || now_ns < w->start_ns)
        return;
    for (size_t i = 0; i < n && !t->based; i++) {
        spools[i]->asked_from = spool_steps_begun(spools[i]);
        spool_read_counters(spools[i]);
        spools[i]->lost_before = spools[i]->lost;
    }
    t->based = true;
    if (w->end_ns != INT64_MAX)
        return;
    bool marks = spool_any_marks(spools, n);
    if (marks ? enough(spools, n, t->steps) : now_ns - w->start_ns >= unmarked_ns)
        spool_ask_end(t, now_ns);
}
