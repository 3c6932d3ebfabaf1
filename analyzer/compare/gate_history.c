/* gate against a history: is the new run slower than the last good runs of the same work?
 *
 * These runs differ from each other (clocks, neighbours, file systems). From that follows where
 * another equal run lies 19 times out of 20; the gate allows at least that much, also if the limit
 * is smaller. It uses the median, so that a few odd runs change neither the middle nor the spread.
 * If the history itself changed, the gate names the run and commit of the sharpest change. */
#include "analyzer/compare/gate_checks.h"
#include "analyzer/compare/steps_sample.h"
#include "analyzer/compare/work.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST_RUNS = 3, LEAST_FOR_MAD = 5, LEAST_BEFORE = 3 };

static double per_sample(const struct advice *a, bool wanted)
{
    int64_t batch = wanted ? work_batch(a) : 1;
    return batch > 0 ? (double)batch : 1;
}

int past_run_of(struct arena *arena, const struct advice *past, const struct advice *now,
                bool by_sample, struct past_run *run, const char **why)
{
    const struct timeline *t = past->facts->tl;
    const char *code = timeline_meta(t, "ended.status"), *commit = timeline_meta(t, "commit");
    const char *start = timeline_meta(t, "start_realtime_ns");
    bool mean = analysis_by_mean(now->facts);
    *run = (struct past_run){.started_ns = start ? atoll(start) : 0};
    *why = NULL;
    if (timeline_meta(t, "ended.signal") || (code && atoi(code) != 0))
        *why = "the program failed";
    else if (past->facts->steps.used < LEAST_STEPS && !analysis_of_window(past->facts))
        *why = "too few steady steps (8 needed)";
    else
        *why = runs_differ(arena, past, now, by_sample);
    if (*why)
        return 0;
    int64_t ns = mean ? past->facts->steps.pace_ns : past->facts->steps.median_ns;
    run->step_ns = (double)ns / per_sample(past, by_sample);
    run->commit = commit ? arena_strdup(arena, commit) : NULL;
    return commit && !run->commit ? -1 : 1;
}

/* Returns the median of v, and sorts v. */
static double middle(double *v, size_t n)
{
    qsort(v, n, sizeof *v, order_double);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Returns the 97.5 % quantile of Student's t distribution. */
static double student(size_t degrees)
{
    static const double t[] = {12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                               2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
                               2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
    size_t n = sizeof t / sizeof *t;
    return degrees <= n ? t[degrees - 1] : 1.96 + 2.5 / (double)degrees;
}

/* Returns how far above the middle another equal run may lie, as a share of the middle. v is
 * scratch. */
static double noise_bound(const struct past_run *past, size_t n, double mid, double *v)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        v[i] = fabs(past[i].step_ns / mid - 1);
        sum += v[i] * v[i];
    }
    double spread = n < LEAST_FOR_MAD ? sqrt(sum / (double)(n - 1)) : 1.4826 * middle(v, n);
    return student(n - 1) * spread * sqrt(1 + 1 / (double)n);
}

/* Finds the sharpest change of a series by least squares: returns the index of the first value
 * after it, and the means on both sides; 0 if there is none. */
static size_t change_point(const double *v, size_t n, double *before, double *after)
{
    double total = 0, sum = 0, best = -1;
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        total += v[i];
    for (size_t k = 1; k < n; k++) {
        sum += v[k - 1];
        double a = sum / (double)k, b = (total - sum) / (double)(n - k);
        double gain = (double)k * (double)(n - k) * (a - b) * (a - b);
        if (k < LEAST_BEFORE || gain <= best)
            continue;
        best = gain;
        at = k;
        *before = a;
        *after = b;
    }
    return at;
}

/* Returns where the runs became slower, as the end of a sentence, or "". */
static const char *slower_since(struct gate *g, const struct gate_wish *wish, double now_ns,
                                double allowed, bool slower, double *v)
{
    size_t n = wish->past_count, total = n + (slower ? 1 : 0);
    double before = 0, after = 0;
    for (size_t i = 0; i < n; i++)
        v[i] = wish->past[i].step_ns;
    v[n] = now_ns;
    size_t at = total > LEAST_BEFORE ? change_point(v, total, &before, &after) : 0;
    if (!at || after <= before * (1 + allowed / 100))
        return "";
    if (at == n)
        return "; this run is the first slow one";
    const struct past_run *r = &wish->past[at];
    return arena_printf(&g->arena, "; slower by %.1f %% since %s%s%.12s%s",
                        100 * (after / before - 1), r->name, r->commit ? " (commit " : "",
                        r->commit ? r->commit : "", r->commit ? ")" : "");
}

static const char *left_out(const struct gate_wish *wish)
{
    return wish->left_out ? wish->left_out : "";
}

/* Judges the new run: the limit is the larger of the allowed regression and the history's own
 * scatter. Returns -1 without memory. */
static int judge(struct gate *g, struct gate_check *c, const struct advice *now,
                 const struct gate_wish *wish, double mid, double *v)
{
    size_t n = wish->past_count;
    double low, high, samples = per_sample(now, wish->per_sample);
    double now_ns = (double)(analysis_by_mean(now->facts) ? now->facts->steps.pace_ns
                                                          : now->facts->steps.median_ns) /
                    samples;
    if (sample_median(now, &low, &high) < 0)
        return -1;
    double noise = 100 * noise_bound(wish->past, n, mid, v);
    c->allowed = noise > wish->max_regress_pct ? noise : wish->max_regress_pct;
    c->measured = 100 * (now_ns / mid - 1);
    c->low = 100 * (low / samples / mid - 1);
    c->high = 100 * (high / samples / mid - 1);
    enum gate_verdict verdict = c->low > c->allowed     ? GATE_SLOWER
                                : c->high <= c->allowed ? GATE_PASS
                                                        : GATE_INCONCLUSIVE;
    const char *wide = noise > wish->max_regress_pct
                           ? "; these differ among themselves, so more than the limit is allowed"
                           : "";
    const char *where = slower_since(g, wish, now_ns, c->allowed, verdict == GATE_SLOWER, v);
    gate_judge(g, c, verdict,
               arena_printf(&g->arena,
                            "%.3f ms; the median of the last %zu good runs is %.3f ms%s%s%s%s%s",
                            now_ns / 1e6, n, mid / 1e6, where ? where : "", wide,
                            verdict == GATE_SLOWER ? gate_blame(g) : "", wish->left_out ? ". " : "",
                            left_out(wish)));
    return 0;
}

int gate_check_history(struct gate *g, const struct advice *now, const struct gate_wish *wish)
{
    size_t n = wish->past_count;
    const char *name = wish->per_sample ? "time per sample vs history" : "step time vs history";
    struct gate_check *c = gate_add(g, name, "%", 0, wish->max_regress_pct);
    double *v = arena_array(&g->arena, n + 1, sizeof *v);
    if (!c || !v)
        return -1;
    if (n < LEAST_RUNS) {
        gate_judge(g, c, GATE_INCONCLUSIVE,
                   arena_printf(&g->arena,
                                "the history holds %zu good %s of the same work, and 3 are "
                                "needed%s%s",
                                n, n == 1 ? "run" : "runs", wish->left_out ? ". " : "",
                                left_out(wish)));
        return 0;
    }
    if (analysis_of_window(now->facts) || now->facts->steps.used < LEAST_STEPS) {
        gate_judge(g, c, GATE_INCONCLUSIVE,
                   "the new run has too few steady steps (8 needed): record more");
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        v[i] = wish->past[i].step_ns;
    return judge(g, c, now, wish, middle(v, n), v);
}
