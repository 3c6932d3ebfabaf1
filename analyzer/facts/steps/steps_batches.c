/* Makes steps for a loop without a PyTorch optimizer (inference, evaluation; fastai and Keras have
 * their own): a step lasts from the request for one batch to the request for the next. If some
 * batches are followed by a backward pass, only those begin steps: the others are validation. Cost:
 * one pass over the loader's records and the thread's ranges, sorted by time. */
#include "analyzer/facts/steps/steps.h"

#include "analyzer/facts/limits.h"
#include "base/vec.h"
#include "wire/spool_format.h"

#include <stdlib.h>
#include <string.h>

/* True if the loop requests a batch here, or learns that the loader is exhausted. */
static bool asks(const struct row_loader *l)
{
    return l->what == SPOOL_LOADER_WAIT || l->what == SPOOL_LOADER_END;
}

/* The thread that requests most batches; among several ranks, that of the lowest rank. TL_NONE: no
 * thread requests FACTS_BATCHES. *batches: its requests. */
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
        if (count[i] < FACTS_BATCHES)
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

/* A request for a batch. */
struct asked {
    int64_t ns;
    bool batch; /* a batch was delivered */
    bool trains;
};

static int by_time(const void *a, const void *b)
{
    const struct asked *x = a, *y = b;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Marks the requests after which a backward pass begins before the next
 * request; returns their number. */
static size_t which_train(const struct timeline *t, uint32_t thread, struct asked *asked, size_t n)
{
    const struct thread *th = &t->threads[thread];
    size_t trains = 0;
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges; i++) {
        const struct range *r = &t->ranges[i];
        size_t low = 0, high = n;
        if (strcmp(tl_text(t, r->name), "backward") != 0)
            continue;
        while (low < high) {
            size_t mid = low + (high - low) / 2;
            if (asked[mid].ns <= r->start_ns)
                low = mid + 1;
            else
                high = mid;
        }
        if (low && !asked[low - 1].trains)
            trains += asked[low - 1].trains = true;
    }
    return trains;
}

static void push_step(struct steps *s, int64_t start_ns, int64_t end_ns)
{
    if (end_ns > start_ns)
        s->at[s->count++] = (struct step){.start_ns = start_ns, .end_ns = end_ns, .used = 1};
}

/* Makes steps as from one optimizer step to the next: the time until the next training batch
 * belongs to the batch before it. */
static void steps_of_training(struct steps *s, const struct asked *asked, size_t n)
{
    size_t last = n;
    for (size_t i = 0; i < n; i++) {
        if (!asked[i].trains)
            continue;
        if (last < n)
            push_step(s, asked[last].ns, asked[i].ns);
        last = i;
    }
    if (last + 1 < n)
        push_step(s, asked[last].ns, asked[last + 1].ns);
    s->source_text = "from one batch with a backward pass to the next (no optimizer step repeated)";
}

static void steps_of_all(struct steps *s, const struct asked *asked, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++)
        if (asked[i].batch)
            push_step(s, asked[i].ns, asked[i + 1].ns);
    s->source_text = "from one batch to the next (no optimizer step repeated)";
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
            *p = (struct asked){t->loaders[i].start_ns, t->loaders[i].what == SPOOL_LOADER_WAIT,
                                false};
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
    if (which_train(t, thread, asked.at, asked.n) >= FACTS_BATCHES)
        steps_of_training(s, asked.at, asked.n);
    else
        steps_of_all(s, asked.at, asked.n);
    vec_release(&asked);
    s->main_thread = thread;
    s->process = t->threads[thread].process;
    s->source = STEPS_FRAMEWORK;
    s->confidence = 1;
    s->batches = true;
    return 0;
}
