/* Makes steps for a loop on a CPU that repeats neither an optimizer's step nor a loader's batch, such as one that updates its
 * weights by hand: from one backward pass to the next, or, where the hook saw gradients being cleared, from one such
 * clearing to the next with a backward pass between. Cost: one pass over the ranges, sorted by time. */
#include "analyzer/facts/steps/steps.h"

#include "analyzer/facts/limits.h"

#include <stdlib.h>
#include <string.h>

/* Number of ranges of this name on the thread. */
static size_t count_of(const struct timeline *t, const struct thread *th, const char *name)
{
    size_t n = 0;
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges; i++)
        n += strcmp(tl_text(t, t->ranges[i].name), name) == 0;
    return n;
}

/* The thread with most backward passes; TL_NONE: none has FACTS_BATCHES. */
static uint32_t thread_of_passes(const struct timeline *t, size_t *most)
{
    uint32_t best = TL_NONE;
    *most = FACTS_BATCHES - 1;
    for (uint32_t i = 0; i < t->thread_count; i++) {
        size_t n = count_of(t, &t->threads[i], "backward");
        if (n > *most) {
            *most = n;
            best = i;
        }
    }
    return best;
}

int steps_from_passes(struct facts *f)
{
    const struct timeline *t = f->tl;
    struct steps *s = &f->steps;
    size_t passes;
    uint32_t thread = thread_of_passes(t, &passes);
    if (thread == TL_NONE)
        return 0;
    const struct thread *th = &t->threads[thread];
    bool cleared = count_of(t, th, "zero_grad") >= FACTS_BATCHES, passed = false;
    int64_t from_ns = -1;
    s->at = arena_array(&f->arena, passes + 1, sizeof *s->at);
    if (!s->at)
        return -1;
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges; i++) {
        const struct range *r = &t->ranges[i];
        bool pass = strcmp(tl_text(t, r->name), "backward") == 0;
        bool clears = strcmp(tl_text(t, r->name), "zero_grad") == 0;
        bool begins = cleared ? clears && (passed || from_ns < 0) : pass;
        int64_t at_ns = cleared ? r->start_ns : r->end_ns;
        passed = (passed || pass) && !(cleared && clears);
        if (!begins)
            continue;
        if (from_ns >= 0 && at_ns > from_ns)
            s->at[s->count++] = (struct step){.start_ns = from_ns, .end_ns = at_ns, .used = 1};
        from_ns = at_ns;
    }
    s->source_text = cleared
                         ? "from one clearing of gradients to the next (no optimizer step repeated)"
                         : "from one backward pass to the next (no optimizer step repeated)";
    s->main_thread = thread;
    s->process = t->threads[thread].process;
    s->source = STEPS_FRAMEWORK;
    s->confidence = 1;
    return 0;
}
