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

int64_t clocks_grown(int64_t first, int64_t last)
{
    return first >= 0 && last >= first ? last - first : -1;
}
