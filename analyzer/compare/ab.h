/* Runs of a program with (B) and without (A) a change, against each other and against what was
 * predicted. Effect: mean over runs of the logarithm of the pace, B less A. The pace is the time of
 * all steady steps over their number: workers of a data loader hand batches over in bursts, so that
 * most steps may be short and a few long, and a median would tell only of one kind. The 95 %
 * interval is a two-level bootstrap: runs are drawn, then blocks of 10 steps in each of them; 5,000
 * draws, fixed seed, so the same runs give the same answer.
 *
 * Cost: 5,000 means per run. It does not look for trends inside a run: give it steady steps. */
#ifndef GPUPROF_COMPARE_AB_H
#define GPUPROF_COMPARE_AB_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AB_RUNS = 32, AB_LEAST = 3 }; /* per arm: at most; for a verdict */

struct ab_run {
    int64_t *ns; /* lengths of the steady steps */
    size_t count;
    int64_t pace_ns; /* set by ab_judge and ab_spread */
};

struct ab_arm {
    struct ab_run run[AB_RUNS];
    size_t count;
};

enum ab_verdict { AB_CONFIRMED, AB_SMALLER, AB_LARGER, AB_REFUTED, AB_UNDERPOWERED, AB_MEASURED };
extern const char *const ab_verdict_text[];

struct ab_prediction { /* shares of the step that are saved: 0.2 = 20 % */
    bool known;
    double low, mid, high;
    double at_most; /* advised, but only a bound of what it saves is known; 0: not that */
};

struct ab_result {
    int64_t a_ns, b_ns;      /* geometric mean of the runs' paces */
    double saved, low, high; /* share of the step, with its 95 % interval */
    enum ab_verdict verdict;
    const char *why; /* one sentence */
};

/* REFUTED: the 95 % interval excludes what was predicted and lies at or below 0, or reaches it; a
 * change that was advised makes the step longer; or it saves more than the bound of its advice.
 * UNDERPOWERED: the interval holds 0 and (some of) what was predicted; or the runs without the
 * change drifted by more than half of what it saves or should save. With fewer than AB_LEAST runs
 * an arm the verdict is AB_UNDERPOWERED; with fewer than two nothing is measured. -1: out of
 * memory. */
int ab_judge(struct ab_arm *a, struct ab_arm *b, const struct ab_prediction *p, struct ab_result *r,
             struct err *e);

/* Standard deviation of the runs' log paces inside the arms, pooled; 0 with fewer than two. */
double ab_spread(struct ab_arm *a, struct ab_arm *b);
void ab_release(struct ab_arm *arm);

#endif
