/* Private to gate*.c: the checks of a gate. */
#ifndef GPUPROF_COMPARE_GATE_CHECKS_H
#define GPUPROF_COMPARE_GATE_CHECKS_H

#include "analyzer/compare/compare.h"

enum { LEAST_STEPS = 8 };

/* NULL: there are too many. Its interval is the measured value until somebody sets one. */
struct gate_check *gate_add(struct gate *g, const char *name, const char *unit, double measured,
                            double allowed);
/* `why` NULL: out of memory, which takes the reason alone. */
void gate_judge(struct gate *g, struct gate_check *c, enum gate_verdict v, const char *why);
/* What explains most of a slowdown, as the end of a sentence; "" where nothing does. */
const char *gate_blame(struct gate *g);
/* gate_history.c. 0, or -1 out of memory. */
int gate_check_history(struct gate *g, const struct advice *now, const struct gate_wish *wish);

#endif
