/* Compares runs of a program without (A) and with (B) a change with each other and with the
 * prediction. The effect is the mean over runs of the logarithm of the pace, B minus A. The pace is
 * the time of all steady steps divided by their number: a loader's workers deliver batches in
 * bursts, so most steps may be short and a few long, and a median would show only one kind. The 95
 * % interval comes from a two-level bootstrap that draws runs, and in each run blocks of 10 steps;
 * 5,000 draws with a fixed seed, so the same runs give the same answer.
 *
 * Cost: 5,000 means per run. It does not look for trends within a run: give it steady steps. */
#ifndef GPUPROF_COMPARE_AB_H
#define GPUPROF_COMPARE_AB_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Runs per arm: the most, and the least for a verdict. */
enum { AB_RUNS = 32, AB_LEAST = 3 };

struct ab_run {
    int64_t *ns; /* lengths of the steady steps; ab_release frees it */
    size_t count;
    int64_t pace_ns; /* set by ab_judge and ab_spread */
};

struct ab_arm {
    struct ab_run run[AB_RUNS];
    size_t count;
};

enum ab_verdict { AB_CONFIRMED, AB_SMALLER, AB_LARGER, AB_REFUTED, AB_UNDERPOWERED, AB_MEASURED };
extern const char *const ab_verdict_text[];

/* Predicted saving, as shares of the step: 0.2 = 20 %. */
struct ab_prediction {
    bool known;
    double low, mid, high;
    /* The change was advised with only an upper bound for its saving; 0: it was not. */
    double at_most;
};

struct ab_result {
    int64_t a_ns, b_ns;      /* geometric mean of the runs' paces */
    double saved, low, high; /* share of the step, with its 95 % interval */
    enum ab_verdict verdict;
    const char *why; /* one sentence */
};

/* Judges the change. REFUTED: the 95 % interval excludes the prediction and lies at or below 0 or
 * reaches 0; or an advised change makes the step longer; or it saves more than its bound.
 * UNDERPOWERED: the interval contains 0 and a part of the prediction; or the runs without the
 * change drifted by more than half of what it saves or should save; or an arm has fewer than
 * AB_LEAST runs. With fewer than two runs nothing is measured. Returns -1 without memory. */
int ab_judge(struct ab_arm *a, struct ab_arm *b, const struct ab_prediction *p, struct ab_result *r,
             struct err *e);

/* Returns the pooled standard deviation of the runs' log paces within the arms; 0 with fewer than
 * two runs. */
double ab_spread(struct ab_arm *a, struct ab_arm *b);
void ab_release(struct ab_arm *arm);

#endif
