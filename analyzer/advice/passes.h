/* The passes of the advice. Private to advice/ (not to its rules). */
#ifndef GPUPROF_ADVICE_PASSES_H
#define GPUPROF_ADVICE_PASSES_H

#include "analyzer/advice/advice.h"
#include "analyzer/advice/limits.h"
#include "analyzer/whatif/engine.h"

/* The stages, as advice.c walks them. */
int rules_ask(struct advice *a, struct err *e); /* rank.c: an outcome for each rule */
int predict_each(struct advice *a, struct engine *x, const struct past_trials *past,
                 struct err *e);      /* predict.c: opens x, which the caller closes */
void findings_rank(struct advice *a); /* rank.c */
void predict_together(struct advice *a, struct engine *x); /* predict.c, where w is trusted */
void advice_speak(struct advice *a);                       /* speak.c: findings in words */
void verdict_write(struct advice *a);                      /* verdict.c */

/* predict.c: a finding, also one that saves nothing alone, with a change that can be replayed; what
 * n findings save together, with an interval. */
bool predict_open_to(const struct outcome *o);
struct span_ns predict_span(const struct advice *a, struct engine *x,
                            const struct outcome *const *o, size_t n);
int64_t predict_saved(struct engine *x, const struct outcome *const *o, size_t n);
/* predict_stack.c: fills a->stack. predict_waits.c: adds to a finding about waits what the best
 * single one of them saves. */
void predict_stack(struct advice *a, struct engine *x);
void predict_waits(struct advice *a, struct engine *x, struct outcome *o);

/* where.c: what the change is made to; where it does not say, the kernels of its longest example's
 * name. */
bool outcome_is_about(const struct facts *f, const struct outcome *o, uint32_t op);
/* where.c: names the line that most of a finding's GPU work comes from, in its summary. */
void outcome_say_where(const struct facts *f, struct arena *arena, struct outcome *o);

#endif
