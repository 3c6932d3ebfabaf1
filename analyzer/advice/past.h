/* What trials have taught about predictions: how far measured savings lay outside their interval,
 * for each kind of change. Trials on a virtual GPU count for virtual GPUs alone. */
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

#endif
