/* How long each step takes. A host that runs ahead of the GPU is held up by full queues, now early,
 * now late: its steps are uneven where the GPU's are not, and their median misses the pace of the
 * loop. So where the time from the first kernel of a step to that of the next scatters less, that
 * is the step's length.
 * Cost: one pass over the operations. */
#include "analyzer/facts/passes.h"

#include <stdlib.h>

enum { LEAST_STEPS = 8 };

static int64_t host_length(const struct step *s)
{
    return s->end_ns - s->start_ns;
}

/* Work between two steps (an evaluation, marks that leave out the data loading) belongs to neither:
 * then the GPU's time from one to the other is not the step's. */
static bool adjoin(const struct step *s)
{
    return llabs(s[1].start_ns - s[0].end_ns) * 50 <= host_length(s);
}

/* Start of the kernel that each step launched first; 0 = none. `launched` is scratch. */
static void first_kernels(const struct facts *f, int64_t *start, int64_t *launched)
{
    const struct timeline *t = f->tl;
    for (uint32_t i = 0; i < t->op_count; i++) {
        uint32_t k = f->steps.op_step[i];
        if (k == TL_NONE || t->ops[i].kind != OP_KERNEL || t->ops[i].api == TL_NONE ||
            tl_op_device(t, i) != f->steps.device)
            continue;
        int64_t at = t->apis[t->ops[i].api].start_ns;
        if (start[k] && at >= launched[k])
            continue;
        launched[k] = at;
        start[k] = t->ops[i].start_ns;
    }
}

/* Median absolute deviation over the median; v is reordered. */
static double scatter(int64_t *v, size_t n)
{
    int64_t median = median_ns(v, n);
    for (size_t i = 0; i < n; i++)
        v[i] = llabs(v[i] - median);
    return median > 0 ? (double)median_ns(v, n) / (double)median : 1;
}

int steps_lengths(struct facts *f)
{
    struct steps *s = &f->steps;
    int64_t *start = calloc(s->count + 1, sizeof *start);
    int64_t *v = malloc((s->count + 1) * sizeof *v), *w = malloc((s->count + 1) * sizeof *w);
    size_t n = 0;
    int rc = start && v && w ? 0 : -1;
    for (size_t i = 0; i < s->count; i++)
        s->at[i].length_ns = host_length(&s->at[i]);
    if (rc == 0 && s->count >= LEAST_STEPS) {
        first_kernels(f, start, v);
        for (size_t i = 0; i + 1 < s->count; i++) {
            bool known = start[i] && start[i + 1] > start[i] && adjoin(&s->at[i]);
            start[i] = known ? start[i + 1] - start[i] : 0; /* a length from here on */
            if (!known)
                continue;
            v[n] = start[i];
            w[n++] = host_length(&s->at[i]);
        }
        start[s->count - 1] = 0;
    }
    if (n >= LEAST_STEPS - 1 && n * 2 > s->count && scatter(v, n) < scatter(w, n))
        for (size_t i = 0; i < s->count; i++)
            s->at[i].length_ns = start[i];
    free(start);
    free(v);
    free(w);
    return rc;
}
