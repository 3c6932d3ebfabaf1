/* The stages of the advice. Private to advice/, and not for its rules. */
#ifndef GPUPROF_ADVICE_PASSES_H
#define GPUPROF_ADVICE_PASSES_H

#include "analyzer/advice/advice.h"
#include "analyzer/advice/limits.h"
#include "analyzer/whatif/engine.h"

/* The stages in the order in which advice.c runs them. */
int rules_ask(struct advice *a, struct err *e); /* rank.c: one outcome for each rule */
int predict_each(struct advice *a, struct engine *x, const struct past_trials *past,
                 struct err *e);      /* predict.c: opens x; the caller closes it */
void findings_rank(struct advice *a); /* rank.c */
void predict_together(struct advice *a, struct engine *x); /* predict.c: only if w is trusted */
void advice_speak(struct advice *a);                       /* speak.c: remedies in words */
void verdict_write(struct advice *a);                      /* verdict.c */

/* predict.c. predict_open_to: true for a finding whose change can be replayed, also if it saves
 * nothing alone. predict_span: what n findings save together, with an interval. predict_saved: only
 * the middle. */
bool predict_open_to(const struct outcome *o);
struct span_ns predict_span(const struct advice *a, struct engine *x,
                            const struct outcome *const *o, size_t n);
int64_t predict_saved(struct engine *x, const struct outcome *const *o, size_t n);
/* The same ahead, in fewer passes. predict_ask_each: what predict_saved will say of the n chosen
 * findings with each of `count` others behind them. predict_span_in_turn: what predict_span will say
 * of the first two of n findings, the first three, ... */
void predict_ask_each(struct engine *x, const struct outcome *const *chosen, size_t n,
                      const struct outcome *const *last, size_t count);
void predict_span_in_turn(const struct advice *a, struct engine *x, const struct outcome *const *o,
                          size_t n);
/* predict.c: true if so much is next to nothing of a step. */
bool predict_negligible(const struct advice *a, int64_t ns);
/* predict.c: widens the predicted interval of a finding by what the ledger of real cards shows. */
struct span_ns predict_calibrated(const struct advice *a, struct engine *x, const struct outcome *o,
                                  struct span_ns s);
/* predict_one.c. predict_one: replaces the finding's bound by the interval of what its change saves. predict_bound: sets the
 * bound to what all of the change saves. predict_raise_bound: raises the bound to `most` ns, with evidence, where
 * the finding measured less. */
void predict_one(struct advice *a, struct engine *x, struct outcome *o);
void predict_bound(const struct advice *a, struct engine *x, struct outcome *o);
void predict_raise_bound(struct outcome *o, int64_t most);
/* predict_lesser.c: `lesser` is the same finding, predicted for kind->lesser. Turns `o` into the
 * one that saves more, and adds to its summary what the other saves. */
void predict_lesser(struct advice *a, struct engine *x, struct outcome *o,
                    const struct outcome *lesser);
/* predict_stack.c: fills a->stack. predict_waits.c: adds to a finding about waits what its best
 * single wait saves. */
void predict_stack(struct advice *a, struct engine *x);
void predict_waits(struct advice *a, struct engine *x, struct outcome *o);

/* where.c: true if the change is made to operation `op`. If the edit names no operations: if `op`
 * has the name of the finding's first example. */
bool outcome_is_about(const struct facts *f, const struct outcome *o, uint32_t op);
/* where.c: adds to the summary the line from which most of a finding's GPU work comes. */
void outcome_say_where(const struct facts *f, struct arena *arena, struct outcome *o);

#endif
