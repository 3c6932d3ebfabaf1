/* Long steps: the same work in much more time. A few of them (a pause, a log line, a hiccup) leave
 * the median step as it is. If they recur, as with a loader whose workers deliver in bursts, the
 * median is not the pace of the loop, and the reports show the mean. Cost: O(n log n). */
#include "analyzer/facts/steps/steps.h"

#include "analyzer/facts/limits.h"
#include "analyzer/timeline/sort.h"

#include <stdlib.h>

/* Divides `v`, sorted, into two kinds at the best place (least squares). Returns the shortest
 * length of the long kind; 0: one kind only. Long steps take on average half as much again as the
 * others, and are at most half of all. */
static int64_t border(const int64_t *v, size_t n)
{
    double all = 0, low = 0, best = 0;
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        all += (double)v[i];
    for (size_t i = 1; i < n; i++) {
        low += (double)v[i - 1];
        double apart = (all - low) / (double)(n - i) - low / (double)i;
        double score = apart * apart * (double)i * (double)(n - i);
        if (v[i] > v[i - 1] && score > best) {
            best = score;
            at = i;
        }
    }
    if (at == 0 || (n - at) * 2 > n)
        return 0;
    low = 0;
    for (size_t i = 0; i < at; i++)
        low += (double)v[i];
    return 2 * (all - low) / (double)(n - at) > 3 * low / (double)at ? v[at] : 0;
}

static bool same_work(const struct step *s)
{
    return (s->used || s->slow) && s->length_ns;
}

/* Sets drift_from_ns and drift_to_ns if the length rises or falls with the step's number, as where
 * a matrix is eliminated row by row: then the medians of eight parts of the loop go in one
 * direction. `v` is scratch space. */
static void find_drift(struct steps *s, int64_t *v)
{
    enum { PARTS = 8 };
    int64_t median[PARTS];
    size_t n = 0, at = 0;
    bool falls = true, rises = true;
    s->drift_from_ns = s->drift_to_ns = 0;
    for (size_t i = 0; i < s->count; i++)
        n += same_work(&s->at[i]);
    if (n < (size_t)PARTS * FACTS_DRIFT_EACH)
        return;
    for (size_t k = 0, seen = 0; k < PARTS; k++) {
        size_t in = 0;
        for (; at < s->count && seen < n * (k + 1) / PARTS; at++)
            if (same_work(&s->at[at])) {
                v[in++] = s->at[at].length_ns;
                seen++;
            }
        median[k] = median_ns(v, in);
        falls &= k == 0 || median[k] * 100 <= median[k - 1] * (100 + FACTS_DRIFT_PCT);
        rises &= k == 0 || median[k] * (100 + FACTS_DRIFT_PCT) >= median[k - 1] * 100;
    }
    int64_t from = median[0], to = median[PARTS - 1];
    if ((falls && from * 2 > to * 3) || (rises && to * 2 > from * 3))
        s->drift_from_ns = from, s->drift_to_ns = to;
}

/* Marks steps as slow: those beyond the border between two kinds or, if lengths drift, the upper
 * half. `v` is scratch space. */
static void mark(struct steps *s, int64_t *v)
{
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++)
        if (same_work(&s->at[i]))
            v[n++] = s->at[i].length_ns;
    sort_ns(v, n);
    int64_t middle = s->drift_to_ns ? v[n / 2] : 0, from = border(v, n);
    /* one extremely long step hides the kind that recurs: look below it */
    if (from && from == v[n - 1] && v[n - 2] < from) {
        int64_t recurs_from = border(v, n - 1);
        from = recurs_from ? recurs_from : from;
    }
    from = from ? from : middle;
    for (size_t i = 0; from && i < s->count; i++)
        if (same_work(&s->at[i])) {
            s->at[i].slow = s->at[i].length_ns >= from;
            s->at[i].used = !s->at[i].slow;
        }
}

/* True if the long steps make the mean step longer than the short ones by
 * more than `pct` per cent. */
static bool longer_by(const struct steps *s, int pct)
{
    return s->pace_ns * 100 > s->short_ns * (100 + pct);
}

/* True if slow steps belong to the loop. Usually at least FACTS_LONG_STEPS, and one in
 * FACTS_LONG_RARE. Fewer are enough if they do not all lie in the first steps and take much of the
 * time: a recording of nine steps contains an event of every ninth step only once. With only two or
 * three steps, half of them must be slow. Without a GPU two slow steps are enough: validation, or
 * workers started for each epoch. */
static bool recurs(const struct steps *s, bool on_cpu)
{
    size_t n = s->used + s->slow, early = 0;
    for (size_t i = 0; i < s->count && i < FACTS_FIRST; i++)
        early += s->at[i].slow;
    if (on_cpu)
        return s->slow >= 2 && longer_by(s, FACTS_LONG_PCT);
    if (s->slow >= (size_t)FACTS_LONG_STEPS && s->slow * (size_t)FACTS_LONG_RARE >= n)
        return longer_by(s, FACTS_LONG_PCT);
    return s->slow > early && (n >= 4 || s->slow * 2 >= n) && longer_by(s, FACTS_LONG_FEW_PCT);
}

int steps_find_long(struct steps *s, bool on_cpu)
{
    int64_t *v = malloc((s->count + 1) * sizeof *v);
    double all = 0, slow = 0;
    size_t n = 0;
    if (!v)
        return -1;
    find_drift(s, v);
    mark(s, v);
    s->used = s->slow = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct step *x = &s->at[i];
        s->used += x->used;
        s->slow += x->slow;
        all += same_work(x) ? (double)x->length_ns : 0;
        slow += x->slow ? (double)x->length_ns : 0;
        n += same_work(x) && !x->slow;
    }
    s->short_ns = n ? (int64_t)((all - slow) / (double)n + 0.5) : 0;
    s->long_ns = s->slow ? (int64_t)(slow / (double)s->slow) : 0;
    s->pace_ns = n + s->slow ? (int64_t)(all / (double)(n + s->slow) + 0.5) : 0;
    s->recurs = recurs(s, on_cpu) || (s->alternate && s->slow == 0);
    for (size_t i = 0; s->recurs && i < s->count; i++)
        s->at[i].used |= s->at[i].slow;
    s->used += s->recurs ? s->slow : 0;
    free(v);
    return 0;
}

/* ---- what they have that the others lack ---- */

/* By how much more time of this part a slow step has than the others, on average. */
static int64_t extra_ns(const struct facts *f, int part)
{
    double slow = 0, others = 0;
    size_t n = 0, m = 0;
    for (size_t i = 0; i < f->steps.count; i++) {
        const struct step *s = &f->steps.at[i];
        if (s->estimated || !(s->used || s->slow))
            continue;
        *(s->slow ? &slow : &others) += (double)f->step_parts[i][part];
        *(s->slow ? &n : &m) += 1;
    }
    return n && m ? (int64_t)(slow / (double)n - others / (double)m) : 0;
}

/* True for the mark of the step itself: it covers 90 % of the step and explains nothing. */
static bool is_mark(const struct step *s, const struct range *r)
{
    return r->start_ns <= s->start_ns && ((double)r->end_ns - (double)r->start_ns) * 10 >=
                                             ((double)s->end_ns - (double)s->start_ns) * 9;
}

/* Name of the range that contains most of this idle time in slow steps; NULL:
 * none contains half of it. */
static const char *where(const struct facts *f, enum part part)
{
    int64_t *sum = calloc(f->tl->strings.n + 1, sizeof *sum), all = 0;
    uint32_t best = 0;
    for (size_t i = 0; sum && i < f->gap_count; i++) {
        const struct gap *g = &f->gaps[i];
        if (g->step == TL_NONE || !f->steps.at[g->step].slow)
            continue;
        int64_t ns = gap_ns(f, g, part);
        uint32_t name = g->range == TL_NONE ? 0 : f->tl->ranges[g->range].name;
        if (name && is_mark(&f->steps.at[g->step], &f->tl->ranges[g->range]))
            name = 0;
        all += ns;
        sum[name] += ns;
        best = name && (!best || sum[name] > sum[best]) ? name : best;
    }
    bool most = sum && best && 2 * sum[best] > all;
    free(sum);
    return most ? tl_text(f->tl, best) : NULL;
}

/* False if the slow steps hardly lengthen the mean. */
static bool worth_telling(const struct steps *s)
{
    return s->slow && s->short_ns > 0 && longer_by(s, FACTS_LONG_PCT);
}

static const char *drift_text(struct facts *f, const char *why)
{
    const struct steps *s = &f->steps;
    return arena_printf(
        &f->arena, "the %s become %s in the course of the loop: from %.4g ms to %.4g ms%s",
        scope_words(f)->units, s->drift_to_ns < s->drift_from_ns ? "shorter" : "longer",
        (double)s->drift_from_ns / 1e6, (double)s->drift_to_ns / 1e6, why);
}

void steps_explain_long(struct facts *f)
{
    const struct steps *s = &f->steps;
    int most = 0;
    if (!worth_telling(s))
        return;
    for (int p = 1; p < PART_COUNT; p++)
        if (extra_ns(f, p) > extra_ns(f, most))
            most = p;
    int64_t extra = extra_ns(f, most);
    if (2 * extra < s->long_ns - s->short_ns)
        return;
    const char *in = where(f, (enum part)most), *why = "";
    f->long_part = most;
    f->long_in = in;
    f->long_extra_ns = extra;
    if (f->on_cpu || f->totals.kernel_count) /* otherwise no GPU is known that could be idle */
        why = arena_printf(&f->arena, "; the long %s more time in '%s': %.4g ms%s%s%s",
                           s->slow == 1 ? "one spends" : "ones spend", analysis_part_title(f, most),
                           (double)extra / 1e6, in ? ", most of it in '" : "", in ? in : "",
                           in ? "'" : "");
    f->long_text =
        s->drift_to_ns
            ? drift_text(f, why)
            : arena_printf(&f->arena, "%zu of %zu %s take%s %.4g ms, the others %.4g ms%s", s->slow,
                           steps_like(s), scope_words(f)->units, s->slow == 1 ? "s" : "",
                           (double)s->long_ns / 1e6, (double)s->short_ns / 1e6, why);
}
