/* Recommendations as changes of a plan (see whatif.h). Private to analyze/. */
#ifndef GPUPROF_ANALYZE_EDITS_H
#define GPUPROF_ANALYZE_EDITS_H

#include "analyzer/analyze/replay.h"
#include "analyzer/analyze/whatif.h"

enum { DRAW_DIMENSIONS = 3 };

struct draw { /* where in its range each unknown lies: 0 good luck, 1 bad luck */
    double u[DRAW_DIMENSIONS];
};

void edit_apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d);
bool edit_certain(enum edit_kind kind); /* has no unknowns */

#endif
