/* Takes the step times of an analysis as a sample, and draws bootstrap intervals for a median, a
 * mean or the ratio of two. */
#include "analyzer/compare/steps_sample.h"

#include "base/order.h"
#include "base/random.h"

#include <stdlib.h>

enum { BLOCK = 10, DRAWS = 5000 };

struct sample {
    int64_t *ns;
    int64_t *draw; /* scratch */
    size_t n;
    bool pace; /* of the mean, with slow steps; else of the median */
};

static int load(struct sample *s, const struct advice *a, bool pace)
{
    *s = (struct sample){malloc((a->facts->steps.count + 1) * sizeof *s->ns),
                         malloc((a->facts->steps.count + BLOCK) * sizeof *s->draw), 0, pace};
    if (!s->ns || !s->draw)
        return -1;
    for (size_t i = 0; i < a->facts->steps.count; i++)
        if ((a->facts->steps.at[i].used || (pace && a->facts->steps.at[i].slow)) &&
            a->facts->steps.at[i].length_ns)
            s->ns[s->n++] = a->facts->steps.at[i].length_ns;
    return 0;
}

static void release(struct sample *s)
{
    free(s->ns);
    free(s->draw);
}

/* Returns the k-th smallest of v by Hoare's selection, which reorders v. */
static int64_t select_kth(int64_t *v, size_t n, size_t k)
{
    size_t lo = 0, hi = n - 1;
    while (lo < hi) {
        int64_t pivot = v[lo + (hi - lo) / 2];
        size_t i = lo, j = hi;
        for (;;) {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i >= j)
                break;
            int64_t t = v[i];
            v[i++] = v[j];
            v[j--] = t;
        }
        if (k <= j)
            hi = j;
        else
            lo = j + 1;
    }
    return v[k];
}

static double mean(const int64_t *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)v[i];
    return sum / (double)n;
}

/* Returns the median or mean of a sample that is composed of blocks drawn with replacement. */
static double draw_middle(struct sample *s, uint64_t *state)
{
    size_t block = s->n / 4 < BLOCK ? (s->n / 4 ? s->n / 4 : 1) : BLOCK; /* at least four blocks */
    for (size_t filled = 0; filled < s->n;) {
        size_t at = (size_t)(random_next(state) % s->n);
        for (size_t i = 0; i < block && filled < s->n; i++)
            s->draw[filled++] = s->ns[(at + i) % s->n];
    }
    return s->pace ? mean(s->draw, s->n) : (double)select_kth(s->draw, s->n, s->n / 2);
}

/* Returns the 95 % percentile interval of the ratio now / base over DRAWS draws; with now NULL, of
 * base alone. */
static int interval(struct sample *base, struct sample *now, double *low, double *high)
{
    double *v = malloc(DRAWS * sizeof *v);
    uint64_t state = 20240229;
    if (!v)
        return -1;
    for (int i = 0; i < DRAWS; i++) {
        double b = draw_middle(base, &state);
        v[i] = now ? draw_middle(now, &state) / (b > 0 ? b : 1) : b;
    }
    qsort(v, DRAWS, sizeof *v, order_double);
    *low = v[DRAWS * 25 / 1000];
    *high = v[DRAWS * 975 / 1000];
    free(v);
    return 0;
}

static int ratio(const struct advice *base, const struct advice *now, bool pace, double *low,
                 double *high)
{
    struct sample a = {0}, b = {0};
    int rc = load(&a, base, pace) < 0 || load(&b, now, pace) < 0 ? -1 : 0;
    if (rc == 0 && a.n && b.n)
        rc = interval(&a, &b, low, high);
    release(&a);
    release(&b);
    return rc;
}

int sample_ratio(const struct advice *base, const struct advice *now, double *low, double *high)
{
    return ratio(base, now, false, low, high);
}

int sample_pace_ratio(const struct advice *base, const struct advice *now, double *low,
                      double *high)
{
    return ratio(base, now, true, low, high);
}

int sample_median(const struct advice *a, double *low, double *high)
{
    struct sample s = {0};
    int rc = load(&s, a, analysis_by_mean(a->facts));
    *low = *high = (double)a->facts->step_ns;
    if (rc == 0 && s.n > 3) {
        rc = interval(&s, NULL, low, high);
    }
    release(&s);
    return rc;
}
