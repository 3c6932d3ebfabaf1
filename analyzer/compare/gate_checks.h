/* The checks of a gate. Private to gate*.c. */
#ifndef GPUPROF_COMPARE_GATE_CHECKS_H
#define GPUPROF_COMPARE_GATE_CHECKS_H

#include "analyzer/compare/compare.h"

enum { LEAST_STEPS = 8 };

/* Adds a check whose interval is the measured value until the caller sets one. Returns NULL if
 * there are too many. */
struct gate_check *gate_add(struct gate *g, const char *name, const char *unit, double measured,
                            double allowed);
/* Sets the verdict of a check. `why` may be NULL without memory; then only the reason is
 * missing. */
void gate_judge(struct gate *g, struct gate_check *c, enum gate_verdict v, const char *why);
/* Returns what explains most of a slowdown, as the end of a sentence, or "". */
const char *gate_blame(struct gate *g);
/* Compares with the history (gate_history.c). Returns 0, or -1 without memory. */
int gate_check_history(struct gate *g, const struct advice *now, const struct gate_wish *wish);

#endif
