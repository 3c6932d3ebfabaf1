/* Finds which collective of one rank is which of another: by their recorded numbers; without these
 * by their order, because a communicator runs its collectives in the same order on every rank.
 * Recordings begin and end at different collectives, so one order may be shifted against the other.
 * The right shift is the one with which names agree and, after subtracting the clocks' offset, ends
 * coincide. Cost: O(shifts * samples). */
#include "analyzer/facts/ranks/ranks.h"
#include "analyzer/facts/limits.h"

#include <stdlib.h>

enum { SAMPLES = 256 };

static bool same(const struct timeline *t, uint32_t a, uint32_t b)
{
    return t->ops[a].name == t->ops[b].name;
}

struct fit {
    int64_t shift, offset_ns, spread_ns;
};

/* The smaller, the better the fit. If all steps are alike, many shifts fit equally; then the
 * smaller offset between the clocks decides. */
static int64_t badness(const struct fit *f)
{
    return f->spread_ns + llabs(f->offset_ns) / 1000;
}

/* Compares the ends of sampled pairs under `shift`: fills *f with the median difference and the
 * median deviation from it. False: too few pairs, or their names differ. */
static bool fit_shift(const struct timeline *t, const struct lineup *r, const struct lineup *l,
                      int64_t shift, struct fit *f)
{
    int64_t difference[SAMPLES];
    size_t from = shift < 0 ? (size_t)-shift : 0, agree = 0, n = 0;
    size_t to = (int64_t)l->ops.n - shift < (int64_t)r->ops.n ? (size_t)((int64_t)l->ops.n - shift)
                                                              : r->ops.n;
    size_t least = r->ops.n < l->ops.n ? r->ops.n : l->ops.n;
    if ((int64_t)l->ops.n - shift <= (int64_t)from || (to - from) * 100 < least * FACTS_SHIFTED_PCT)
        return false;
    size_t stride = (to - from + SAMPLES - 1) / SAMPLES;
    for (size_t i = from; i < to; i += stride, n++) {
        uint32_t mine = l->ops.at[(int64_t)i + shift], its = r->ops.at[i];
        agree += same(t, mine, its);
        difference[n] = t->ops[mine].end_ns - t->ops[its].end_ns;
    }
    if (n == 0 || agree * 100 < n * FACTS_AGREE_PCT)
        return false;
    int64_t middle = median_ns(difference, n);
    for (size_t i = 0; i < n; i++)
        difference[i] = llabs(difference[i] - middle);
    *f = (struct fit){shift, middle, median_ns(difference, n)};
    return true;
}

/* True if shift 0 fits nearly as well as the best one; *f: that fit. If both ranks have the same
 * number of collectives, they were most likely recorded over the same steps, so shift 0 is
 * preferred, whatever the offset: clocks of two nodes may be far apart. */
static bool unshifted_fits(const struct timeline *t, const struct lineup *r, const struct lineup *l,
                           const struct fit *best, struct fit *f)
{
    int64_t more = best->spread_ns > FACTS_SCATTER_NS ? best->spread_ns : FACTS_SCATTER_NS;
    return r->ops.n == l->ops.n && fit_shift(t, r, l, 0, f) &&
           f->spread_ns <= best->spread_ns + more;
}

/* *period: the median time from the end of one collective to the end of the
 * next. -1: out of memory. */
static int typical_period(const struct timeline *t, const struct lineup *l, int64_t *period)
{
    int64_t *v = malloc((l->ops.n + 1) * sizeof *v);
    if (!v)
        return -1;
    for (size_t i = 1; i < l->ops.n; i++)
        v[i - 1] = t->ops[l->ops.at[i]].end_ns - t->ops[l->ops.at[i - 1]].end_ns;
    *period = l->ops.n > 1 ? median_ns(v, l->ops.n - 1) : INT64_MAX;
    free(v);
    return 0;
}

int lineup_match(const struct timeline *t, const struct lineup *reference, struct lineup *l)
{
    struct fit best = {0};
    bool any = false;
    int64_t period;
    if (typical_period(t, reference, &period) < 0)
        return -1;
    int64_t from = -FACTS_SHIFT, to = FACTS_SHIFT;
    /* the recorded numbers determine the shift */
    if (reference->first_sequence && l->first_sequence)
        from = to = reference->first_sequence - l->first_sequence;
    for (int64_t d = from; d <= to; d++) {
        struct fit f;
        if (fit_shift(t, reference, l, d, &f) && (!any || badness(&f) < badness(&best))) {
            best = f;
            any = true;
        }
    }
    struct fit even;
    if (any && from < to && unshifted_fits(t, reference, l, &best, &even))
        best = even;
    /* If ends scatter by more than the time between collectives, the pairs are
     * not the same collective. */
    l->matched = any && best.spread_ns <= period;
    l->shift = best.shift;
    l->offset_ns = best.offset_ns;
    l->spread_ns = best.spread_ns;
    return 0;
}
