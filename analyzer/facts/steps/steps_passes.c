/* Makes steps for a loop on a CPU that repeats neither an optimizer's step nor a loader's batch, such as one that updates its
 * weights by hand: from one backward pass to the next, or, where the hook saw gradients being cleared, from one such
 * clearing to the next with a backward pass between. Cost: one pass over the ranges, sorted by time. */
#include "analyzer/facts/steps/steps.h"

#include "analyzer/facts/limits.h"
#include "analyzer/facts/passes.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

struct backward VEC(struct span);

/* Number of ranges of this name on the thread. */
static size_t count_of(const struct timeline *t, const struct thread *th, const char *name)
{
    size_t n = 0;
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges; i++)
        n += strcmp(tl_text(t, t->ranges[i].name), name) == 0;
    return n;
}

/* Finds the backward passes of a thread: ranges of the hook, or PyTorch's nodes in a row, which no
 * operator of a forward pass divides. Returns -1 without memory. */
static int find_passes(struct backward *passes, const struct timeline *t, const struct thread *th)
{
    int64_t end_ns = INT64_MIN;
    bool open = false;
    passes->n = 0;
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges; i++) {
        const struct range *r = &t->ranges[i];
        const char *name = tl_text(t, r->name);
        bool whole = strcmp(name, "backward") == 0;
        if (r->start_ns < end_ns)
            continue;
        open &= strncmp(name, "aten::", 6) != 0;
        if (!whole && !cpu_backward(name))
            continue;
        struct span *pass = open && !whole ? &passes->at[passes->n - 1] : vec_push(passes);
        if (!pass)
            return -1;
        if (!open || whole)
            pass->start_ns = r->start_ns;
        pass->end_ns = end_ns = r->end_ns;
        open = !whole;
    }
    return 0;
}

/* Finds the thread with most backward passes, and these. TL_NONE: none has FACTS_BATCHES. Returns -1
 * without memory. */
static int thread_of_passes(struct backward *passes, const struct timeline *t, uint32_t *thread)
{
    size_t most = FACTS_BATCHES - 1;
    int rc = 0;
    *thread = TL_NONE;
    for (uint32_t i = 0; i < t->thread_count && rc == 0; i++) {
        rc = find_passes(passes, t, &t->threads[i]);
        if (passes->n > most) {
            most = passes->n;
            *thread = i;
        }
    }
    return rc == 0 && *thread != TL_NONE ? find_passes(passes, t, &t->threads[*thread]) : rc;
}

/* Adds the step that ends at at_ns, if one began. */
static void add_step(struct steps *s, int64_t *from_ns, int64_t at_ns)
{
    if (*from_ns >= 0 && at_ns > *from_ns)
        s->at[s->count++] = (struct step){.start_ns = *from_ns, .end_ns = at_ns, .used = 1};
    *from_ns = at_ns;
}

static void from_clearings(struct steps *s, const struct timeline *t, const struct thread *th,
                           const struct backward *passes)
{
    size_t k = 0;
    int64_t from_ns = -1;
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges; i++) {
        const struct range *r = &t->ranges[i];
        size_t before = k;
        if (strcmp(tl_text(t, r->name), "zero_grad") != 0)
            continue;
        while (k < passes->n && passes->at[k].start_ns <= r->start_ns)
            k++;
        if (k > before || from_ns < 0)
            add_step(s, &from_ns, r->start_ns);
    }
}

int steps_from_passes(struct facts *f)
{
    const struct timeline *t = f->tl;
    struct steps *s = &f->steps;
    struct backward passes = {0};
    uint32_t thread;
    int rc = thread_of_passes(&passes, t, &thread);
    if (rc == 0 && thread != TL_NONE) {
        s->at = arena_array(&f->arena, passes.n + 1, sizeof *s->at);
        rc = s->at ? 0 : -1;
    }
    if (rc < 0 || thread == TL_NONE) {
        vec_release(&passes);
        return rc;
    }
    const struct thread *th = &t->threads[thread];
    bool cleared = count_of(t, th, "zero_grad") >= FACTS_BATCHES;
    int64_t from_ns = -1;
    if (cleared)
        from_clearings(s, t, th, &passes);
    for (size_t i = 0; i < passes.n && !cleared; i++)
        add_step(s, &from_ns, passes.at[i].end_ns);
    vec_release(&passes);
    s->source_text = cleared
                         ? "from one clearing of gradients to the next (no optimizer step repeated)"
                         : "from one backward pass to the next (no optimizer step repeated)";
    s->main_thread = thread;
    s->process = t->threads[thread].process;
    s->source = STEPS_FRAMEWORK;
    s->confidence = 1;
    return 0;
}
