/* Stops using steps in which the program's own profiler starts, stops or writes its results, or the
 * hook reads PyTorch's memory history. That takes seconds, once in a run, and is no cost of the loop.
 *
 *   ranges "torch.profiler" and "gpuprof.memory" of the hook -> time in each step -> unused from 1/FACTS_PROFILED on
 *
 * Leaves out at most half of the steps: a program that profiles every step pays for that in every
 * step. Cost: one pass over the ranges of the training thread. */
#include "analyzer/facts/steps/steps.h"
#include "analyzer/facts/limits.h"

#include <stdlib.h>
#include <string.h>

static bool profiles(const char *name)
{
    return strcmp(name, "torch.profiler") == 0 || strcmp(name, "gpuprof.memory") == 0;
}

static int64_t common(const struct step *s, const struct range *r)
{
    int64_t from = r->start_ns > s->from_ns ? r->start_ns : s->from_ns;
    int64_t to = r->end_ns < s->to_ns ? r->end_ns : s->to_ns;
    return to > from ? to - from : 0;
}

/* Fills taken[] with the profiler's time in each step. Of nested ranges only the outer one
 * counts. A step's time begins at the end of the work before it, because the host's work after
 * that makes this step longer. */
static void find_times(const struct facts *f, int64_t *taken)
{
    const struct timeline *t = f->tl;
    const struct steps *s = &f->steps;
    const struct thread *th = &t->threads[s->main_thread];
    int64_t until = INT64_MIN;
    size_t first = 0;
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges; i++) {
        const struct range *r = &t->ranges[i];
        if (r->start_ns < until || !profiles(tl_text(t, r->name)))
            continue;
        until = r->end_ns;
        while (first < s->count && s->at[first].to_ns <= r->start_ns)
            first++;
        for (size_t k = first; k < s->count && s->at[k].from_ns < r->end_ns; k++)
            taken[k] += common(&s->at[k], r);
    }
}

int steps_drop_profiled(struct facts *f)
{
    struct steps *s = &f->steps;
    if (s->main_thread >= f->tl->thread_count)
        return 0;
    int64_t *taken = calloc(s->count + 1, sizeof *taken);
    size_t used = 0, out = 0;
    if (!taken)
        return -1;
    find_times(f, taken);
    for (size_t i = 0; i < s->count; i++) {
        bool most = taken[i] * FACTS_PROFILED >= s->at[i].to_ns - s->at[i].from_ns && taken[i] > 0;
        taken[i] = most ? taken[i] : 0;
        used += s->at[i].used;
        out += s->at[i].used && most;
    }
    for (size_t i = 0; out > 0 && out * 2 <= used && i < s->count; i++) {
        if (!taken[i])
            continue;
        s->profiled += s->at[i].used;
        s->profiled_ns += s->at[i].used ? taken[i] : 0;
        s->at[i].used = 0;
    }
    free(taken);
    return 0;
}
