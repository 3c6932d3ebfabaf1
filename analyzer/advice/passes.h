/* The passes of the advice. Private to advice/ (not to its rules). */
#ifndef GPUPROF_ADVICE_PASSES_H
#define GPUPROF_ADVICE_PASSES_H

#include "analyzer/advice/advice.h"
#include "analyzer/whatif/engine.h"

int rules_run(struct advice *a, struct err *e); /* outcomes and ranking, rank.c */
void rules_rank(struct advice *a);              /* the findings, best first */
void advice_speak(struct advice *a);            /* speak.c: findings in words */
void verdict_write(struct advice *a);           /* verdict.c */

/* predict.c: a finding that fires, with a change that can be replayed; what n findings save
 * together, with an interval. */
bool predict_open_to(const struct outcome *o);
struct span_ns predict_span(const struct advice *a, struct engine *x,
                            const struct outcome *const *o, size_t n);
int64_t predict_saved(struct engine *x, const struct outcome *const *o, size_t n);
/* predict_stack.c: fills a->stack. predict_waits.c: adds to a finding about waits what the best
 * single one of them saves. */
void predict_stack(struct advice *a, struct engine *x);
void predict_waits(struct advice *a, struct engine *x, struct outcome *o);

#endif
