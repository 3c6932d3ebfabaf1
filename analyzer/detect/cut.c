/* Measures how well the occurrences of one operation cut a sequence of operations into steps; see
 * cut.h. */
#include "analyzer/detect/cut.h"

#include "analyzer/detect/limits.h"
#include "analyzer/measure/median.h"
#include "base/order.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double cut_regularity(const struct sequence *s, uint32_t x, int64_t *v)
{
    size_t n = count_of(s, x) - 1;
    const uint32_t *p = s->position + s->first[x];
    for (size_t i = 0; i < n; i++)
        v[i] = s->time[p[i + 1]] - s->time[p[i]];
    int64_t median = median_ns(v, n);
    for (size_t i = 0; i < n; i++)
        v[i] = llabs(v[i] - median);
    return median > 0 ? (double)median_ns(v, n) / (double)median : 1;
}

/* Returns the median pause of the host before an occurrence of x, in ns. */
static int64_t gap_before(const struct sequence *s, uint32_t x, int64_t *v)
{
    size_t n = count_of(s, x);
    const uint32_t *p = s->position + s->first[x];
    for (size_t i = 0; i < n; i++)
        v[i] = p[i] ? s->time[p[i]] - s->time[p[i] - 1] : 0;
    return median_ns(v, n);
}

/* Returns the median share of the common tokens (at least k occurrences) that a segment
 * contains. */
static double coverage_of(const struct sequence *s, uint32_t x, size_t k, size_t common,
                          struct scratch *w)
{
    size_t n = count_of(s, x) - 1;
    const uint32_t *p = s->position + s->first[x];
    memset(w->seen, 0, s->tokens * sizeof *w->seen);
    for (size_t g = 0; g < n; g++) {
        int64_t distinct = 0;
        for (uint32_t i = p[g]; i < p[g + 1]; i++) {
            uint32_t token = s->token[i];
            if (count_of(s, token) >= k && w->seen[token] != g + 1) {
                w->seen[token] = (uint32_t)g + 1;
                distinct++;
            }
        }
        w->v[g] = distinct;
    }
    return common ? (double)median_ns(w->v, n) / (double)common : 0;
}

/* Returns how many operations [a, b) and [c, d) share, counted as multisets. */
static size_t shared(const struct sequence *s, uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                     struct scratch *w)
{
    size_t n = 0;
    for (uint32_t i = a; i < b; i++)
        w->count[s->token[i]]++;
    for (uint32_t i = c; i < d; i++)
        if (w->count[s->token[i]]) {
            w->count[s->token[i]]--;
            n++;
        }
    for (uint32_t i = a; i < b; i++)
        w->count[s->token[i]] = 0;
    return n;
}

/* Returns the Dice coefficient of the two: 1 if they hold the same operations, 0 if they share
 * none. */
static double dice(const struct sequence *s, uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                   struct scratch *w)
{
    size_t both = (size_t)(b - a) + (d - c);
    return both ? 2.0 * (double)shared(s, a, b, c, d, w) / (double)both : 0;
}

/* Returns the share of the shorter one's operations that the longer one contains. */
static double contained_share(const struct sequence *s, uint32_t a, uint32_t b, uint32_t c,
                              uint32_t d, struct scratch *w)
{
    uint32_t least = b - a < d - c ? b - a : d - c;
    return least ? (double)shared(s, a, b, c, d, w) / (double)least : 0;
}

static bool alike(const struct sequence *s, uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                  struct scratch *w)
{
    uint32_t m = b - a, n = d - c, most = 2 * (m < n ? m : n);
    if (most < (m + n) * DETECT_ALIKE) /* their lengths alone exclude it */
        return false;
    return dice(s, a, b, c, d, w) >= DETECT_ALIKE;
}

typedef double comparison(const struct sequence *s, uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                          struct scratch *w);

/* Compares each segment with the one `lag` further on by `by`, and returns the median. If `each` is
 * not NULL, it gets the value of each pair (segments - lag of them). Returns 0 without memory. */
static double similarity_of(const struct sequence *s, uint32_t x, comparison *by, size_t lag,
                            double *each, struct scratch *w)
{
    size_t n = count_of(s, x) - 1;
    const uint32_t *p = s->position + s->first[x];
    if (n <= lag)
        return 0;
    double *sorted = malloc(n * sizeof *sorted), median = 0;
    for (size_t g = 0; sorted && g + lag < n; g++) {
        sorted[g] = by(s, p[g], p[g + 1], p[g + lag], p[g + lag + 1], w);
        if (each)
            each[g] = sorted[g];
    }
    if (sorted) {
        qsort(sorted, n - lag, sizeof *sorted, order_double);
        median = sorted[(n - lag - 1) / 2];
    }
    free(sorted);
    return median;
}

/* Returns how alike neighbouring segments are. If they are not alike, every other segment may be,
 * with a neighbour that is the same plus something: an evaluation after every other step. The two
 * halves of a step that trains two models do not pass this test. */
static double likeness(const struct sequence *s, uint32_t x, struct scratch *w)
{
    double next = similarity_of(s, x, dice, 1, NULL, w);
    if (next >= DETECT_ALIKE)
        return next;
    return fmax(next, fmin(similarity_of(s, x, dice, 2, NULL, w),
                           similarity_of(s, x, contained_share, 1, NULL, w)));
}

/* ---- the best cut for one K ---- */

struct ranked_token {
    uint32_t token;
    double regularity;
    int64_t gap_ns;
};

static int by_regularity(const void *a, const void *b)
{
    const struct ranked_token *x = a, *y = b;
    if (x->regularity != y->regularity)
        return x->regularity < y->regularity ? -1 : 1;
    if (x->gap_ns != y->gap_ns)
        return x->gap_ns > y->gap_ns ? -1 : 1;
    return (x->token > y->token) - (x->token < y->token);
}

/* Returns true if a cuts better than b: by coverage (rounded to 1 %), then regularity, then the
 * pause before it. */
static bool better_cut(double coverage, const struct ranked_token *a, const struct cut *b,
                       int64_t b_gap)
{
    double ca = round(coverage * 100), cb = round(b->coverage * 100);
    if (ca != cb)
        return ca > cb;
    if (a->regularity != b->regularity)
        return a->regularity < b->regularity;
    return a->gap_ns > b_gap;
}

void cut_by(struct cut *c, const struct sequence *s, uint32_t x, struct scratch *w)
{
    size_t common = 0;
    for (uint32_t i = 0; i < s->tokens; i++)
        common += count_of(s, i) >= c->k;
    c->token = x;
    c->coverage = coverage_of(s, x, c->k, common, w);
    c->regularity = cut_regularity(s, x, w->v);
    c->similarity = likeness(s, x, w);
}

int cut_best(struct cut *best, const struct sequence *s, size_t k, size_t tries, struct scratch *w)
{
    struct VEC(struct ranked_token) list = {0};
    size_t common = 0;
    for (uint32_t x = 0; x < s->tokens; x++) {
        common += count_of(s, x) >= k;
        if (count_of(s, x) != k && count_of(s, x) != k + 1)
            continue;
        struct ranked_token *r = vec_push(&list);
        if (!r)
            return -1;
        *r = (struct ranked_token){x, cut_regularity(s, x, w->v), gap_before(s, x, w->v)};
    }
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_regularity);
    size_t longest = 0;
    for (size_t i = 1; i < list.n; i++)
        if (list.at[i].gap_ns > list.at[longest].gap_ns)
            longest = i;
    int64_t best_gap = 0;
    bool any = false;
    for (size_t i = 0; i < list.n; i++) {
        if (i >= tries && i != longest)
            continue;
        double coverage = coverage_of(s, list.at[i].token, k, common, w);
        if (any && !better_cut(coverage, &list.at[i], best, best_gap))
            continue;
        any = true;
        best_gap = list.at[i].gap_ns;
        best->token = list.at[i].token;
        best->coverage = coverage;
        best->regularity = list.at[i].regularity;
    }
    vec_release(&list);
    if (any)
        best->similarity = likeness(s, best->token, w);
    return any;
}

bool cut_fills_recording(const struct sequence *s, uint32_t x, int64_t *v)
{
    size_t n = count_of(s, x);
    const uint32_t *p = s->position + s->first[x];
    for (size_t i = 0; i + 1 < n; i++)
        v[i] = s->time[p[i + 1]] - s->time[p[i]];
    double inside = (double)median_ns(v, n - 1) * (double)(n - 1);
    return n > DETECT_LAYERS_MOST ||
           inside >= DETECT_FILLS * (double)(s->time[s->n - 1] - s->time[0]);
}

bool cut_splits_calls(const struct sequence *s, uint32_t x)
{
    size_t n = count_of(s, x), same = 0;
    const uint32_t *p = s->position + s->first[x];
    for (size_t i = 0; i + 1 < n; i++)
        same += s->time[p[i]] == s->time[p[i + 1]];
    return same * DETECT_RARE > n;
}

/* Marks segment `r` and the segments that are alike it. Returns how many. */
static size_t mark_alike(bool *steady, const struct sequence *s, uint32_t x, size_t r,
                         struct scratch *w)
{
    size_t count = count_of(s, x) - 1, n = 0;
    const uint32_t *p = s->position + s->first[x];
    for (size_t i = 0; i < count; i++) {
        steady[i] = i == r || alike(s, p[r], p[r + 1], p[i], p[i + 1], w);
        n += steady[i];
    }
    return n;
}

/* Marks the longest run of segments that each resemble the one before, and all others that resemble
 * the first of that run. Returns false if fewer than half of all segments are marked. */
static bool mark_steady(bool *steady, const struct sequence *s, uint32_t x, const double *each,
                        struct scratch *w)
{
    size_t count = count_of(s, x) - 1, best = 0, best_n = 1, start = 0, n = 0;
    for (size_t i = 1; i <= count; i++)
        if (i == count || each[i - 1] < DETECT_ALIKE) {
            if (i - start > best_n) {
                best_n = i - start;
                best = start;
            }
            start = i;
        }
    mark_alike(steady, s, x, best, w);
    for (size_t i = 0; i < count; i++) {
        steady[i] |= i >= best && i < best + best_n;
        n += steady[i];
    }
    return n * 2 >= count;
}

/* For segments of several kinds in turn, such as an evaluation after every other step: marks the
 * most frequent kind; of two equally frequent kinds, the shorter. It examines only the last
 * DETECT_KINDS segments as examples. */
static void mark_most(bool *steady, const struct sequence *s, uint32_t x, struct scratch *w)
{
    size_t count = count_of(s, x) - 1, best = 0, best_n = 0;
    const uint32_t *p = s->position + s->first[x];
    for (size_t i = 0; i < DETECT_KINDS && i < count; i++) {
        size_t r = count - 1 - i, n = mark_alike(steady, s, x, r, w);
        if (n > best_n || (n == best_n && p[r + 1] - p[r] < p[best + 1] - p[best])) {
            best_n = n;
            best = r;
        }
    }
    mark_alike(steady, s, x, best, w);
}

int cut_steady(bool *steady, const struct sequence *s, uint32_t x, struct scratch *w)
{
    double *each = malloc((count_of(s, x) + 1) * sizeof *each);
    if (!each)
        return -1;
    similarity_of(s, x, dice, 1, each, w);
    if (!mark_steady(steady, s, x, each, w))
        mark_most(steady, s, x, w);
    free(each);
    return 0;
}

/* Returns the GPU time of operations a to b in ns, or their number if no GPU time was recorded. */
static double work_of(const struct sequence *s, uint32_t a, uint32_t b, bool timed)
{
    int64_t ns = 0;
    for (uint32_t i = a; timed && i < b; i++)
        ns += s->gpu_ns[i];
    return timed ? (double)ns : b - a;
}

int cut_judge(struct cut *c, const struct sequence *s, struct scratch *w)
{
    size_t n = count_of(s, c->token) - 1, updated = 0, copied = 0, alike = 0, layers = 0,
           computing = 0;
    const uint32_t *p = s->position + s->first[c->token];
    bool *steady = malloc((n + 1) * sizeof *steady);
    if (!steady || cut_steady(steady, s, c->token, w) < 0) {
        free(steady);
        return -1;
    }
    bool timed = work_of(s, c->from, (uint32_t)s->n, true) > 0;
    double all = work_of(s, c->from, (uint32_t)s->n, timed), left = 0, left_within = 0,
           in_steady = 0;
    for (uint32_t i = c->from; i < s->n; i++)
        if ((double)count_of(s, s->token[i]) < DETECT_NEARLY_ALL * (double)c->k) {
            left += work_of(s, i, i + 1, timed);
            left_within += i >= p[0] && i < p[n] ? work_of(s, i, i + 1, timed) : 0;
        }
    for (size_t g = 0; g < n; g++) {
        size_t role[ROLE_UPDATE + 1] = {0};
        for (uint32_t i = p[g]; i < p[g + 1]; i++)
            role[s->role[s->token[i]]]++;
        updated += role[ROLE_UPDATE] > 0;
        copied += role[ROLE_COPY] > 0;
        computing += p[g + 1] - p[g] > role[ROLE_COPY] + role[ROLE_MOVE];
        layers += role[ROLE_PRODUCT] > 1 && role[ROLE_NORM] > 0;
        alike += steady[g];
        in_steady += steady[g] ? work_of(s, p[g], p[g + 1], timed) : 0;
    }
    free(steady);
    c->steady = all > 0 ? in_steady / all : 0;
    c->whole = in_steady + left > 0 ? in_steady / (in_steady + left) : 0;
    c->within = in_steady + left_within > 0 ? in_steady / (in_steady + left_within) : 0;
    c->alike = n ? (double)alike / (double)n : 0;
    c->updates = n ? (double)updated / (double)n : 0;
    c->copies = n ? (double)copied / (double)n : 0;
    c->computing = n ? (double)computing / (double)n : 0;
    c->layers = n ? (double)layers / (double)n : 0;
    return 0;
}

enum hint cut_hint(const struct cut *c)
{
    if (c->updates >= DETECT_MOST)
        return HINT_UPDATES;
    return c->copies >= DETECT_MOST ? HINT_COPIES : HINT_NONE;
}
