/* A loop without an optimizer (inference, evaluation, a trainer of its own): one batch of a loader
 * is one step, from where the loop asks for it to where it asks for the next one. Cost: one pass
 * over the loader's records, sorted by time. */
#include "analyzer/facts/passes.h"

#include "base/vec.h"
#include "wire/spool_format.h"

#include <stdlib.h>

enum { LEAST_BATCHES = 4 };

static bool asks(const struct row_loader *l)
{
    return l->what == SPOOL_LOADER_WAIT || l->what == SPOOL_LOADER_END;
}

/* The thread that asks for most batches; of several ranks, that of the first. */
static uint32_t thread_of_loop(const struct timeline *t, size_t *batches)
{
    size_t *count = calloc(t->thread_count + 1, sizeof *count);
    uint32_t best = TL_NONE;
    for (size_t i = 0; count && i < t->loader_count; i++) {
        uint32_t thread = timeline_thread_index(t, t->loaders[i].thread);
        if (t->loaders[i].what == SPOOL_LOADER_WAIT && thread != TL_NONE)
            count[thread]++;
    }
    for (uint32_t i = 0; count && i < t->thread_count; i++) {
        if (count[i] < LEAST_BATCHES)
            continue;
        int64_t rank = t->processes[t->threads[i].process].rank;
        int64_t before = best == TL_NONE ? -1 : t->processes[t->threads[best].process].rank;
        bool earlier = rank >= 0 && before >= 0 && rank != before;
        if (best == TL_NONE || (earlier ? rank < before : count[i] > count[best]))
            best = i;
    }
    *batches = best == TL_NONE ? 0 : count[best];
    free(count);
    return best;
}

struct asked {
    int64_t ns;
    bool batch; /* got one */
};

static int by_time(const void *a, const void *b)
{
    const struct asked *x = a, *y = b;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

int steps_from_batches(struct facts *f)
{
    const struct timeline *t = f->tl;
    struct steps *s = &f->steps;
    struct VEC(struct asked) asked = {0};
    size_t batches;
    uint32_t thread = thread_of_loop(t, &batches);
    if (thread == TL_NONE)
        return 0;
    for (size_t i = 0; i < t->loader_count; i++) {
        struct asked *p = NULL;
        if (!asks(&t->loaders[i]) || timeline_thread_index(t, t->loaders[i].thread) != thread)
            continue;
        if ((p = vec_push(&asked)))
            *p = (struct asked){t->loaders[i].start_ns, t->loaders[i].what == SPOOL_LOADER_WAIT};
        else
            break;
    }
    s->at = arena_array(&f->arena, asked.n, sizeof *s->at);
    if (!s->at) {
        vec_release(&asked);
        return -1;
    }
    if (asked.n)
        qsort(asked.at, asked.n, sizeof *asked.at, by_time);
    for (size_t i = 0; i + 1 < asked.n; i++)
        if (asked.at[i].batch && asked.at[i + 1].ns > asked.at[i].ns)
            s->at[s->count++] =
                (struct step){.start_ns = asked.at[i].ns, .end_ns = asked.at[i + 1].ns, .used = 1};
    vec_release(&asked);
    s->main_thread = thread;
    s->process = t->threads[thread].process;
    s->source = STEPS_FRAMEWORK;
    s->source_text = "from one batch to the next (no optimizer step repeated)";
    s->confidence = 1;
    s->batches = true;
    return 0;
}
