/* Chooses which steps are used, and computes their statistics. Leaves out warm-up, outliers and the
 * first steps while queues fill. Cost: O(n log n). */
#include "analyzer/facts/steps/steps.h"

#include "analyzer/facts/limits.h"
#include "analyzer/timeline/sort.h"

#include <math.h>
#include <stdlib.h>

/* Returns the median length of the used steps; *deviation: the median absolute deviation; *ops: the
 * median number of operations. `v` is scratch space. */
static int64_t spread(const struct steps *s, int64_t *v, int64_t *deviation, int64_t *ops)
{
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->at[i].used)
            v[n++] = s->at[i].ops;
    *ops = median_ns(v, n);
    n = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->at[i].used && s->at[i].length_ns)
            v[n++] = s->at[i].length_ns;
    int64_t median = median_ns(v, n);
    for (size_t i = 0; i < n; i++)
        v[i] = v[i] > median ? v[i] - median : median - v[i];
    *deviation = median_ns(v, n);
    return median;
}

/* Stops using the first steps, until one has about the median length. While queues fill (the host
 * runs ahead, the loader prefetches), the first steps are faster or slower than all later ones.
 * 1.4826 turns a median absolute deviation into a standard deviation. */
static void drop_pipeline_fill(struct steps *s, int64_t median, int64_t deviation)
{
    int64_t near = (int64_t)(FACTS_FILL * 1.4826 * (double)deviation);
    if (near < median / FACTS_FILL_NEAR)
        near = median / FACTS_FILL_NEAR;
    size_t most = s->count >= (size_t)FACTS_FILL_STEPS ? s->count / (size_t)FACTS_FILL_MOST : 0;
    for (size_t i = 0; i < most; i++) {
        if (!s->at[i].length_ns || llabs(s->at[i].length_ns - median) <= near) {
            if (s->at[i].used)
                return;
            continue;
        }
        s->at[i].used = 0;
    }
}

/* True if two kinds of steps take turns, as where parameters are updated only in every second one.
 * The reports then show the mean of both. */
static bool alternates(const struct steps *s)
{
    int64_t least = INT64_MAX, most = 0;
    size_t n = 0;
    bool more = false;
    for (size_t i = 0; i < s->count; i++) {
        int64_t ops = s->at[i].used ? s->at[i].ops : 0;
        least = ops && ops < least ? ops : least;
        most = ops > most ? ops : most;
    }
    if (most == 0 || (most - least) * 100 < least * FACTS_APART_PCT)
        return false;
    for (size_t i = 0; i < s->count; i++) {
        int64_t ops = s->at[i].ops;
        if (!s->at[i].used)
            continue;
        bool of_more = (most - ops) * 100 <= most * FACTS_KIND_PCT;
        bool of_less = (ops - least) * 100 <= least * FACTS_KIND_PCT;
        if (of_more == of_less || (n && of_more == more))
            return false;
        more = of_more;
        n++;
    }
    return n >= FACTS_TURNS;
}

/* Stops using the first step of ten and more (autotuning, lazy loading), steps whose length is off
 * by more than six deviations and a quarter of the median, and steps with other work (evaluation,
 * checkpoints: operations off by 15 %). Leaves out at most two fifths of the steps, and none if two
 * kinds take turns, so that a loop with two speeds keeps both. -1: out of memory. */
static int choose_used(struct steps *s)
{
    int64_t *v = malloc((s->count + 1) * sizeof *v), deviation, ops;
    if (!v)
        return -1;
    if (s->count >= (size_t)FACTS_WARM_STEPS)
        s->at[0].used = 0;
    int64_t median = spread(s, v, &deviation, &ops);
    drop_pipeline_fill(s, median, deviation);
    int64_t far = (int64_t)(FACTS_FAR * 1.4826 * (double)deviation);
    if (far < median / FACTS_FAR_LEAST)
        far = median / FACTS_FAR_LEAST;
    enum { LENGTH = 1, WORK = 2 }; /* how a step is odd */
    size_t left = 0, out = 0;
    for (size_t i = 0; i < s->count; i++) {
        int64_t off = s->at[i].length_ns ? llabs(s->at[i].length_ns - median) : 0;
        int64_t ops_off = llabs((int64_t)s->at[i].ops - ops);
        int odd =
            (off > far ? LENGTH : 0) | (ops > 0 && ops_off * 100 > ops * FACTS_WORK_PCT ? WORK : 0);
        v[i] = odd;
        left += s->at[i].used && !odd;
        out += s->at[i].used && odd;
    }
    s->alternate = alternates(s);
    if (s->count >= 3 && left * 2 >= out * 3 && !s->alternate)
        for (size_t i = 0; i < s->count; i++)
            if (v[i]) {
                s->at[i].other = v[i] & WORK && s->at[i].length_ns > median;
                s->at[i].slow = s->at[i].used && v[i] == LENGTH && s->at[i].length_ns > median;
                s->at[i].used = 0;
            }
    free(v);
    return 0;
}

/* Fills median, percentiles, mean and cv of the used steps. -1: out of memory. */
static int statistics(struct steps *s)
{
    int64_t *v = malloc((s->count + 1) * sizeof *v);
    if (!v)
        return -1;
    size_t n = 0, ordinary = 0;
    double sum = 0, squares = 0, mean;
    for (size_t i = 0; i < s->count; i++)
        if (s->at[i].used && s->at[i].length_ns) {
            v[n++] = s->at[i].length_ns;
            ordinary += !s->at[i].slow;
            sum += s->at[i].slow ? 0 : (double)s->at[i].length_ns;
        }
    mean = ordinary ? sum / (double)ordinary : 0;
    for (size_t i = 0; i < s->count; i++) {
        double off = (double)s->at[i].length_ns - mean;
        squares += s->at[i].used && !s->at[i].slow && s->at[i].length_ns ? off * off : 0;
    }
    s->cv = ordinary > 1 && mean > 0 ? sqrt(squares / (double)(ordinary - 1)) / mean : 0;
    if (n) {
        s->median_ns = median_ns(v, n);
        sort_ns(v, n);
        s->min_ns = v[0];
        s->max_ns = v[n - 1];
        s->p95_ns = v[(n * 95 + 99) / 100 - 1];
        s->mean_ns = s->recurs ? s->pace_ns : (int64_t)llround(mean);
    }
    free(v);
    return 0;
}

/* Fills other_text. Evaluation, or an agent that plays between updates, may take much of the loop's
 * time, which the step's numbers leave out. */
void steps_explain_other(struct facts *f)
{
    const struct steps *s = &f->steps;
    double all = 0, other = 0;
    size_t n = 0, of = 0;
    for (size_t i = FACTS_FIRST; i < s->count; i++) {
        of += s->at[i].length_ns > 0;
        all += (double)s->at[i].length_ns;
        other += s->at[i].other ? (double)s->at[i].length_ns : 0;
        n += s->at[i].other;
    }
    if (n == 0 || s->used == 0 || 100 * other < FACTS_OTHER_PCT * all)
        return;
    f->other_steps = n;
    f->other_ns = (int64_t)(other / (double)n);
    double like = (double)steps_like(s);
    f->run_ns = (int64_t)(((double)s->pace_ns * like + other) / (like + (double)n));
    f->other_text =
        arena_printf(&f->arena,
                     "%zu of the %zu steps behind the first two contain%s other work (evaluation, "
                     "a second model, an agent at play) and take%s %.4g ms%s, "
                     "%.0f %% of their time: the numbers per step are not about %s",
                     n, of, n == 1 ? "s" : "", n == 1 ? "s" : "", (double)f->other_ns / 1e6,
                     n == 1 ? "" : " on average", 100 * other / all, n == 1 ? "it" : "them");
}

int steps_choose(struct steps *s, bool on_cpu)
{
    return choose_used(s) < 0 || steps_find_long(s, on_cpu) < 0 || statistics(s) < 0 ? -1 : 0;
}

int steps_median_detected(const struct detected *d, int64_t *median)
{
    struct steps s = {.count = d->count};
    s.at = calloc(d->count + 1, sizeof *s.at);
    if (!s.at)
        return -1;
    for (size_t i = 0; i < d->count; i++)
        s.at[i] = (struct step){.start_ns = d->at[i].start_ns,
                                .end_ns = d->at[i].end_ns,
                                .length_ns = d->at[i].end_ns - d->at[i].start_ns,
                                .used = d->steady[i]};
    int rc = steps_choose(&s, false);
    *median = s.median_ns;
    free(s.at);
    return rc;
}
