/* What trials have taught about predictions: how far measured savings lay outside their interval,
 * for each kind of change. Trials on a virtual GPU count for virtual GPUs alone, real ones for real
 * ones. */
#ifndef GPUPROF_ADVICE_PAST_H
#define GPUPROF_ADVICE_PAST_H

#include "analyzer/advice/advice.h"
#include "analyzer/profile/history.h"
#include "analyzer/profile/trials.h"

/* Keeps the trials in a->past; rules have been asked already. 0, or -1 with *e set. */
int past_learn(struct advice *a, const struct past_trials *past, struct err *e);

/* By how much of the step an interval for this kind of change is to be widened, and *trials that
 * say so. From ADVICE_PAST_TRIALS on the quantile that makes it hold in ADVICE_PAST_PCT of new cases (split
 * conformal prediction), with fewer the worst miss seen. */
double past_miss(const struct advice *a, const struct edit_kind *kind, size_t *trials);

/* The same of the real changes that gpuprof's own ledger lists (docs/ledger.tsv), of the kinds of
 * change that n findings are: ns of the step, where they save mid_ns. It grows with the saving, but
 * slower: small ones miss by more of themselves. 0 on a virtual GPU, where the intervals
 * hold without (docs/accuracy.md). */
int64_t past_ledger_ns(const struct advice *a, const struct outcome *const *o, size_t n,
                       int64_t mid_ns);
enum ledger_kind past_kind(const struct advice *a, const struct edit_kind *kind);

/* An interval of n findings as wide as trials say; and then as the ledger says, no more than
 * most_ns. The order of predictions (least_ns) stays as it is. */
struct span_ns widen_by_trials(const struct advice *a, struct span_ns s,
                               const struct outcome *const *o, size_t n);
struct span_ns widen_by_ledger(const struct advice *a, struct span_ns s,
                               const struct outcome *const *o, size_t n, int64_t most_ns);

#endif
