/* What the threads' clocks told between their first and last sample. Cost: one pass over samples.
 */
#include "analyzer/measure/clocks.h"

#include "analyzer/timeline/timeline.h"

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

double clocks_queued(const struct timeline *t, uint32_t thread, int64_t from_ns, int64_t to_ns)
{
    const struct row_host_sample *from = NULL, *to = NULL;
    for (size_t i = 0; i < t->host_sample_count; i++) { /* by time */
        const struct row_host_sample *s = &t->host_samples[i];
        if (s->run_queue_ns < 0 || timeline_thread_index(t, s->thread) != thread)
            continue;
        if (!from || s->time_ns <= from_ns)
            from = s;
        if (!to || to->time_ns < to_ns)
            to = s;
    }
    if (!from || to->time_ns <= from->time_ns || to->run_queue_ns < from->run_queue_ns)
        return -1;
    double share =
        (double)(to->run_queue_ns - from->run_queue_ns) / (double)(to->time_ns - from->time_ns);
    return share < 1 ? share : 1;
}

int64_t clocks_grown(int64_t first, int64_t last)
{
    return first >= 0 && last >= first ? last - first : -1;
}
