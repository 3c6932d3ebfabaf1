/* What trials teach about predictions: how far measured savings lay outside the predicted interval,
 * for each kind of change. Trials on a virtual GPU count only for virtual GPUs, and those on real
 * GPUs only for real ones. */
#ifndef GPUPROF_ADVICE_PAST_H
#define GPUPROF_ADVICE_PAST_H

#include "analyzer/advice/advice.h"
#include "analyzer/profile/history.h"
#include "analyzer/profile/trials.h"

/* Collects the trials in a->past. Call it after the rules were asked. Returns 0, or -1 with *e
 * set. */
int past_learn(struct advice *a, const struct past_trials *past, struct err *e);

/* Returns by which share of the step to widen an interval for this kind of change, and *trials, the
 * number of trials behind it. From ADVICE_PAST_TRIALS trials on it is the quantile that makes the
 * interval hold in ADVICE_PAST_PCT of new cases (split conformal prediction); with fewer it is the
 * worst miss seen. */
double past_miss(const struct advice *a, const struct edit_kind *kind, size_t *trials);

/* Returns how far predictions of such changes missed on real cards, by gpuprof's own ledger
 * (docs/ledger.tsv): the largest value of the n findings' kinds of change, as a logarithm of the
 * odds of saved to left. 0 on a virtual GPU, whose intervals hold without it (docs/accuracy.md). */
double past_ledger_miss(const struct advice *a, const struct outcome *const *o, size_t n);
/* Returns ns moved by the factor exp(by) of the odds, ns saved to ns left of the step. Both get one
 * part in WHATIF_AGREE of the step added, so that 0 stays 0 and the whole step stays the whole. */
int64_t past_by_odds(int64_t ns, int64_t step_ns, double by);
enum ledger_kind past_kind(const struct advice *a, const struct edit_kind *kind);

/* Widen the interval of n findings: by what trials of such changes missed, and then by what the
 * ledger adds to that, up to most_ns. The second leaves least_ns, by which predictions rank,
 * unchanged. */
struct span_ns widen_by_trials(const struct advice *a, struct span_ns s,
                               const struct outcome *const *o, size_t n);
struct span_ns widen_by_ledger(const struct advice *a, struct span_ns s,
                               const struct outcome *const *o, size_t n, int64_t most_ns);

#endif
