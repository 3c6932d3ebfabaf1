/* What is said of a program that trains without a GPU: which of its reads of tensors would hold up
 * the host on one, and which of several ranks has the slowest data. One pass over ranges, or over
 * the loader's spans. */
#include "analyzer/analyze/passes.h"

#include "agent/spool_format.h"

#include <stdlib.h>
#include <string.h>

/* The read that the process does most, in its own words: "read .item() train.py:42". */
const char *cpu_reads(struct analysis *a)
{
    const struct timeline *t = a->tl;
    int64_t *count = calloc((size_t)t->strings.n + 1, sizeof *count);
    uint32_t best = 0;
    for (size_t k = 0; count && k < t->thread_count; k++) {
        const struct thread *th = &t->threads[k];
        for (uint32_t i = 0; th->process == a->steps.process && i < th->ranges; i++) {
            uint32_t name = t->ranges[th->first_range + i].name;
            if (strncmp(tl_text(t, name), "read ", 5) == 0 && ++count[name] > count[best])
                best = name;
        }
    }
    const char *text =
        best ? arena_printf(&a->arena,
                            " %s runs %lld times: free here, but on a GPU it would hold up the "
                            "host each time.",
                            tl_text(t, best) + 5, (long long)count[best])
             : "";
    free(count);
    return text ? text : "";
}

struct waits {
    int64_t ns, count;
};

static int64_t mean_of(const struct waits *w)
{
    return w->count ? w->ns / w->count : 0;
}

/* Of several ranks the one that waits longest for its data, where that is not the one whose steps
 * are told: the others wait for it in their collectives. */
const char *cpu_waiting_rank(struct analysis *a)
{
    const struct timeline *t = a->tl;
    struct waits *of = calloc(t->process_count + 1, sizeof *of);
    size_t worst = a->steps.process;
    for (size_t i = 0; of && i < t->loader_count; i++) {
        const struct row_loader *l = &t->loaders[i];
        uint32_t thread = timeline_thread_index(t, l->thread);
        if (l->what != SPOOL_LOADER_WAIT || thread >= t->thread_count)
            continue;
        struct waits *w = &of[t->threads[thread].process];
        w->ns += l->end_ns - l->start_ns;
        w->count++;
    }
    for (size_t i = 0; of && i < t->process_count; i++)
        if (t->processes[i].rank >= 0 && mean_of(&of[i]) > mean_of(&of[worst]))
            worst = i;
    const struct row_process *here = &t->processes[a->steps.process];
    const char *text = "";
    if (of && here->rank >= 0 && mean_of(&of[worst]) * 10 > mean_of(&of[a->steps.process]) * 11)
        text = arena_printf(&a->arena,
                            " These are the steps of rank %lld, which waits %.1f ms for a batch; "
                            "rank %lld waits %.1f ms, and all wait for it.",
                            (long long)here->rank, (double)mean_of(&of[a->steps.process]) / 1e6,
                            (long long)t->processes[worst].rank, (double)mean_of(&of[worst]) / 1e6);
    free(of);
    return text ? text : "";
}
