/* What the clocks of the threads counted between two samples. Cost: one pass over the samples. */
#include "analyzer/measure/clocks.h"

#include "analyzer/timeline/timeline.h"

#include <stdlib.h>

struct thread_clocks *thread_clocks(const struct timeline *t, struct arena *arena)
{
    struct thread_clocks *of = arena_array(arena, t->thread_count + 1, sizeof *of);
    for (size_t i = 0; of && i < t->host_sample_count; i++) {
        const struct row_host_sample *s = &t->host_samples[i];
        uint32_t th = timeline_thread_index(t, s->thread);
        if (th == TL_NONE || s->cpu_ns < 0)
            continue;
        if (!of[th].first || s->time_ns < of[th].first->time_ns)
            of[th].first = s;
        if (!of[th].last || s->time_ns > of[th].last->time_ns)
            of[th].last = s;
    }
    return of;
}

struct sample_ends {
    const struct row_host_sample *from, *to;
};

static void add_sample(struct sample_ends *q, const struct row_host_sample *s, int64_t from_ns,
                       int64_t to_ns)
{
    if (!q->from || s->time_ns <= from_ns)
        q->from = s;
    if (!q->to || q->to->time_ns < to_ns)
        q->to = s;
}

static double share_of(int64_t first, int64_t last, int64_t ns)
{
    int64_t grown = clocks_grown(first, last);
    return grown < 0 || ns <= 0 ? -1 : grown < ns ? (double)grown / (double)ns : 1;
}

static struct clock_share share_between(const struct sample_ends *q)
{
    const struct row_host_sample *from = q->from, *to = q->to;
    if (!from)
        return (struct clock_share){-1, -1};
    int64_t ns = to->time_ns - from->time_ns;
    return (struct clock_share){share_of(from->cpu_ns, to->cpu_ns, ns),
                                share_of(from->run_queue_ns, to->run_queue_ns, ns)};
}

struct clock_share *clocks_shares(const struct timeline *t, const struct clock_span *of)
{
    struct sample_ends *q = calloc(t->thread_count + 1, sizeof *q);
    struct clock_share *share = malloc((t->thread_count + 1) * sizeof *share);
    /* samples are sorted by time */
    for (size_t i = 0; q && share && i < t->host_sample_count; i++) {
        const struct row_host_sample *s = &t->host_samples[i];
        uint32_t th = timeline_thread_index(t, s->thread);
        if (s->run_queue_ns >= 0 && th != TL_NONE)
            add_sample(&q[th], s, of[th].from_ns, of[th].to_ns);
    }
    for (size_t i = 0; q && share && i < t->thread_count; i++)
        share[i] = share_between(&q[i]);
    if (!q) {
        free(share);
        share = NULL;
    }
    free(q);
    return share;
}

int64_t clocks_grown(int64_t first, int64_t last)
{
    return first >= 0 && last >= first ? last - first : -1;
}
