/* The edit "skip": the training thread spends no time in the marked ranges. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/measure/spans.h"

#include <stdlib.h>

/* Returns the marked ranges of the training thread as spans in order, where nested ranges are
 * merged, or NULL without memory. The caller frees them. */
static struct span *marked_spans(const struct edit *x, const struct graph *g, size_t *n)
{
    const struct timeline *t = g->a->tl;
    const struct thread *th = facts_main_thread(g->a);
    struct span *at = malloc((th->ranges + 1) * sizeof *at);
    *n = 0;
    for (uint32_t i = th->first_range; at && i < th->first_range + th->ranges; i++) {
        const struct range *r = &t->ranges[i];
        if (!x->skip.range_marks || !x->skip.range_marks[i])
            continue;
        if (*n == 0 || r->start_ns > at[*n - 1].end_ns)
            at[(*n)++] = (struct span){r->start_ns, r->end_ns};
        else if (r->end_ns > at[*n - 1].end_ns)
            at[*n - 1].end_ns = r->end_ns;
    }
    return at;
}

static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    size_t n, k = 0;
    struct span *at = marked_spans(x, g, &n);
    int64_t before = INT64_MIN;
    uint32_t lane = (uint32_t)g->streams + g->a->steps.main_thread;
    (void)d;
    for (uint32_t i = 0; at && i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        if (t->lane != lane || (t->kind != TASK_HOST_GAP && t->kind != TASK_LOAD) ||
            t->dur_ns < x->skip.pause_ns)
            continue;
        int64_t from = g->start_ns + t->at_ns, to = from + t->dur_ns, less = 0;
        k = from < before ? 0 : k; /* the repetition of a short window starts again */
        before = from;
        while (k < n && at[k].end_ns <= from)
            k++;
        for (size_t m = k; m < n && at[m].start_ns < to; m++)
            less += (at[m].end_ns < to ? at[m].end_ns : to) -
                    (at[m].start_ns > from ? at[m].start_ns : from);
        p->dur[i] -= less < p->dur[i] ? less : p->dur[i];
    }
    free(at);
}

const struct edit_kind edit_skip = {
    .name = "skip",
    .apply = apply,
    .certain = true,
    .of_host = true,
    .bounded_by_cause = true,
};
