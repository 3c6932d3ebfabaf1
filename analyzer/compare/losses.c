/* Whether a change alters what the program computes, by its first losses (losses.h). */
#include "analyzer/compare/losses.h"

#include "wire/fact_keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const losses_verdict_text[] = {
    [LOSSES_UNKNOWN] = "not compared",
    [LOSSES_EQUAL] = "equal",
    [LOSSES_WITHIN] = "within",
    [LOSSES_CHANGED] = "changed",
};

static size_t numbers(const char *text, double at[LOSSES_MOST])
{
    size_t n = 0;
    for (char *end; n < LOSSES_MOST; text = end) {
        at[n] = strtod(text, &end);
        if (end == text)
            break;
        n++;
    }
    return n;
}

/* Of a job on several devices: the first process that tells losses. */
void losses_add(struct losses *l, const struct timeline *t)
{
    for (size_t i = 0; i < t->meta_count && l->count < LOSSES_RUNS; i++) {
        struct losses_run *r = &l->run[l->count];
        if (strcmp(tl_text(t, t->metas[i].key), FACT_TORCH_LOSSES) != 0)
            continue;
        r->count = numbers(tl_text(t, t->metas[i].value), r->at);
        l->count += r->count > 0;
        return;
    }
}

static double apart(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    return isfinite(a) && isfinite(b) ? fabs(a - b) / fmax(fabs(a), fabs(b)) : INFINITY;
}

/* The relative distance of v from the nearest of the n-th losses. */
static double from_nearest(const struct losses *l, size_t n, double v, double *nearest)
{
    double least = INFINITY, low = l->run[0].at[n], high = low;
    *nearest = low;
    for (size_t i = 0; i < l->count; i++) {
        double at = l->run[i].at[n], d = apart(at, v);
        low = fmin(low, at);
        high = fmax(high, at);
        if (d < least)
            least = d, *nearest = at;
    }
    return low <= v && v <= high ? 0 : least;
}

static void fewest(const struct losses *l, size_t *n)
{
    for (size_t i = 0; i < l->count; i++)
        *n = l->run[i].count < *n ? l->run[i].count : *n;
}

struct losses_result losses_compare(const struct losses *without, const struct losses *with)
{
    struct losses_result r = {.compared = LOSSES_MOST, .without_runs = without->count};
    fewest(without, &r.compared);
    fewest(with, &r.compared);
    if (!without->count || !with->count)
        return (struct losses_result){0};
    bool same = true;
    for (size_t n = 0; n < r.compared; n++) {
        for (size_t i = 0; i < without->count; i++)
            r.noise = fmax(r.noise, apart(without->run[0].at[n], without->run[i].at[n]));
        for (size_t i = 0; i < with->count; i++) {
            double nearest, v = with->run[i].at[n], d = from_nearest(without, n, v, &nearest);
            same = same && apart(v, without->run[0].at[n]) == 0;
            if (n && d <= r.apart)
                continue;
            r.apart = d, r.worst = n, r.without = nearest, r.with = v;
        }
    }
    r.verdict = r.apart > r.noise        ? LOSSES_CHANGED
                : same && r.noise == 0.0 ? LOSSES_EQUAL
                                         : LOSSES_WITHIN;
    return r;
}
