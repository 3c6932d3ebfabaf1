/* Steps from repetition, without any marks. Rare operations (optimizer, loss, first convolution)
 * occur once in a step; the number of steps K is what most distinct operations agree on.
 *
 *   tokens in launch order -> occurrence counts -> H[K] + H[K+1] votes -> for each K the operation
 *   that cuts best (coverage, regularity, host gap before it) -> accept, steady state
 *
 * Cost: O(n log n) plus a bounded number of passes over the tokens. Memory: 40 bytes a token. */
#include "analyzer/facts/passes.h"
#include "analyzer/measure/sequence.h"
#include "base/vec.h"

#include <math.h>
#include <string.h>

enum { CANDIDATES = 15, VOTES_MIN = 3, FEW = 16 };

struct cut {
    uint32_t token;
    size_t votes, k;
    double coverage, similarity, regularity;
};

/* ---- how well a token cuts ---- */

struct scratch {
    int64_t *v;             /* n + 1 */
    uint32_t *seen, *count; /* by token */
};

/* Median absolute deviation of the time between occurrences, over its median. */
static double regularity_of(const struct sequence *s, uint32_t x, int64_t *v)
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

static int64_t gap_before(const struct sequence *s, uint32_t x, int64_t *v)
{
    size_t n = count_of(s, x);
    const uint32_t *p = s->position + s->first[x];
    for (size_t i = 0; i < n; i++)
        v[i] = p[i] ? s->time[p[i]] - s->time[p[i] - 1] : 0;
    return median_ns(v, n);
}

/* Median share of the common tokens (at least k occurrences) that a segment holds. */
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

/* Dice coefficient of the token multisets of [a, b) and [c, d). */
static double dice(const struct sequence *s, uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                   struct scratch *w)
{
    size_t shared = 0, both = (size_t)(b - a) + (d - c);
    for (uint32_t i = a; i < b; i++)
        w->count[s->token[i]]++;
    for (uint32_t i = c; i < d; i++)
        if (w->count[s->token[i]]) {
            w->count[s->token[i]]--;
            shared++;
        }
    for (uint32_t i = a; i < b; i++)
        w->count[s->token[i]] = 0;
    return both ? 2.0 * (double)shared / (double)both : 0;
}

static bool alike(const struct sequence *s, uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                  struct scratch *w)
{
    uint32_t m = b - a, n = d - c;
    if ((m < n ? m : n) < (m < n ? n : m) * 0.7) /* sizes alone rule it out */
        return false;
    return dice(s, a, b, c, d, w) >= 0.85;
}

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median similarity of neighbouring segments; each one's in `each` (n - 1 values) when wanted. */
static double similarity_of(const struct sequence *s, uint32_t x, double *each, struct scratch *w)
{
    size_t n = count_of(s, x) - 1;
    const uint32_t *p = s->position + s->first[x];
    if (n < 2)
        return 0;
    double *sorted = malloc(n * sizeof *sorted), median = 0;
    for (size_t g = 0; sorted && g + 1 < n; g++) {
        sorted[g] = dice(s, p[g], p[g + 1], p[g + 1], p[g + 2], w);
        if (each)
            each[g] = sorted[g];
    }
    if (sorted) {
        qsort(sorted, n - 1, sizeof *sorted, compare_double);
        median = sorted[(n - 1) / 2];
    }
    free(sorted);
    return median;
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

/* Tokens with k or k + 1 occurrences, most regular first; the `tries` best are looked at closely,
 * and as many with the longest host gap before them. */
static int best_cut(struct cut *best, const struct sequence *s, size_t k, size_t tries,
                    struct scratch *w)
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
        *r = (struct ranked_token){x, regularity_of(s, x, w->v), gap_before(s, x, w->v)};
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
        best->similarity = similarity_of(s, best->token, NULL, w);
    return any;
}

/* ---- candidates ---- */

/* The K with most votes, best first. Returns how many. */
static size_t candidates(const struct sequence *s, size_t out_k[CANDIDATES],
                         size_t out_votes[CANDIDATES])
{
    uint32_t *h = calloc(s->n + 3, sizeof *h);
    size_t n = 0;
    if (!h)
        return 0;
    for (uint32_t x = 0; x < s->tokens; x++)
        h[count_of(s, x)]++;
    for (size_t k = 2; k <= s->n; k++) {
        size_t votes = (size_t)h[k] + h[k + 1];
        if (votes < VOTES_MIN || (n == CANDIDATES && votes <= out_votes[n - 1]))
            continue;
        size_t i = n < CANDIDATES ? n++ : n - 1;
        for (; i > 0 && out_votes[i - 1] < votes; i--) {
            out_votes[i] = out_votes[i - 1];
            out_k[i] = out_k[i - 1];
        }
        out_votes[i] = votes;
        out_k[i] = k;
    }
    free(h);
    return n;
}

/* A few repeats that fill little of the recording are layers of a model that ran once, not steps.
 */
static bool fills_recording(const struct sequence *s, uint32_t x, int64_t *v)
{
    size_t n = count_of(s, x);
    const uint32_t *p = s->position + s->first[x];
    for (size_t i = 0; i + 1 < n; i++)
        v[i] = s->time[p[i + 1]] - s->time[p[i]];
    double inside = (double)median_ns(v, n - 1) * (double)(n - 1);
    return n > FEW || inside >= 0.3 * (double)(s->time[s->n - 1] - s->time[0]);
}

/* What one call launched lies within a step: the layers of a model that a graph holds. */
static bool cuts_calls(const struct sequence *s, uint32_t x)
{
    size_t n = count_of(s, x), same = 0;
    const uint32_t *p = s->position + s->first[x];
    for (size_t i = 0; i + 1 < n; i++)
        same += s->time[p[i]] == s->time[p[i + 1]];
    return same * 10 > n;
}

static int choose_cut(struct cut *chosen, const struct sequence *s, struct scratch *w)
{
    size_t k[CANDIDATES], votes[CANDIDATES], n = candidates(s, k, votes);
    size_t tries = 50000000 / (CANDIDATES * (s->n + 1));
    tries = tries < 3 ? 3 : tries > 64 ? 64 : tries;
    int found = 0;
    for (size_t i = 0; i < n; i++) {
        struct cut c = {.votes = votes[i], .k = k[i]};
        int rc = best_cut(&c, s, k[i], tries, w);
        if (rc < 0)
            return -1;
        if (!rc || c.coverage < 0.9 || c.similarity < 0.85 || cuts_calls(s, c.token) ||
            !fills_recording(s, c.token, w->v))
            continue;
        if (found && (c.votes < chosen->votes ||
                      (c.votes == chosen->votes && c.coverage <= chosen->coverage)))
            continue;
        *chosen = c;
        found = 1;
    }
    return found;
}

/* ---- steady state ---- */

/* Steady: the longest run of segments that each resemble the one before, and all others that
 * resemble that run's first. */
static void mark_steady(struct detected *d, const struct sequence *s, const struct cut *c,
                        const double *each, struct scratch *w)
{
    size_t best = 0, best_n = 1, start = 0;
    for (size_t i = 1; i <= d->count; i++)
        if (i == d->count || each[i - 1] < 0.85) {
            if (i - start > best_n) {
                best_n = i - start;
                best = start;
            }
            start = i;
        }
    const uint32_t *p = s->position + s->first[c->token];
    for (size_t i = 0; i < d->count; i++)
        d->steady[i] =
            (i >= best && i < best + best_n) || alike(s, p[best], p[best + 1], p[i], p[i + 1], w);
}

static int fill(struct detected *d, const struct sequence *s, const struct cut *c,
                struct arena *arena, struct scratch *w)
{
    d->count = count_of(s, c->token) - 1;
    d->at = arena_array(arena, d->count, sizeof *d->at);
    d->steady = arena_array(arena, d->count, sizeof *d->steady);
    double *each = malloc((d->count + 1) * sizeof *each);
    if (!d->at || !d->steady || !each) {
        free(each);
        return -1;
    }
    const uint32_t *p = s->position + s->first[c->token];
    for (size_t i = 0; i < d->count; i++)
        d->at[i] = (struct span){s->time[p[i]], s->time[p[i + 1]]};
    similarity_of(s, c->token, each, w);
    mark_steady(d, s, c, each, w);
    free(each);
    d->votes = c->votes;
    d->confidence = fmax(0, fmin(fmin(c->coverage, c->similarity), 1 - c->regularity));
    d->text = arena_printf(arena, "detected: %zu operations that occur once in each of %zu steps",
                           c->votes, d->count);
    return d->text ? 0 : -1;
}

static int detect(struct detected *d, const struct timeline *t, uint32_t process, bool names_only,
                  struct arena *arena)
{
    struct sequence s;
    struct scratch w = {0};
    struct cut c = {0};
    int rc = sequence_build(&s, t, process, names_only);
    if (rc == 0) {
        w.v = malloc((s.n + 2) * sizeof *w.v);
        w.seen = malloc(((size_t)s.tokens + 1) * sizeof *w.seen);
        w.count = calloc((size_t)s.tokens + 1, sizeof *w.count);
        rc = w.v && w.seen && w.count ? 0 : -1;
    }
    if (rc == 0 && s.n >= 2)
        rc = choose_cut(&c, &s, &w);
    if (rc == 1)
        rc = fill(d, &s, &c, arena, &w);
    free(w.v);
    free(w.seen);
    free(w.count);
    sequence_release(&s);
    return rc;
}

int steps_detect(struct detected *d, const struct timeline *t, uint32_t process,
                 struct arena *arena, struct err *e)
{
    *d = (struct detected){0};
    if (detect(d, t, process, false, arena) < 0)
        return err_no_memory(e);
    if (!d->text && detect(d, t, process, true, arena) < 0) /* shapes vary: names alone */
        return err_no_memory(e);
    return 0;
}
