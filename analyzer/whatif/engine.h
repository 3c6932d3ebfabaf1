/* Between the files of the what-if engine: whatif.c draws and replays, whatif_check.c doubts,
 * whatif_stack.c puts changes one on the other, whatif_waits.c looks at waits one by one. */
#ifndef GPUPROF_ANALYZE_ENGINE_H
#define GPUPROF_ANALYZE_ENGINE_H

#include "analyzer/whatif/edits.h"

enum { DRAWS = 24 };

struct engine {
    struct analysis *a;
    struct graph *g;
    struct plan plan;
    struct replay now, then;
    int64_t base_ns[DRAWS]; /* pace of the recorded steps, by draw; 0 = not replayed yet */
};

/* Replays the steps as recorded and fills w, its stack apart. -1: out of memory. */
int engine_check(struct engine *x, struct whatif *w);
/* Why nothing is predicted; NULL when the checks passed. */
const char *engine_distrust(struct analysis *a, const struct whatif *w);

/* What n findings' changes save together by that draw: of the recorded pace; and that on the scale
 * of the median step. */
int64_t engine_saved_by(struct engine *x, const struct outcome *const *o, size_t n, int draw);
int64_t engine_to_median(const struct engine *x, int64_t ns);
/* The same with an interval. */
struct span_ns engine_span(struct engine *x, const struct outcome *const *o, size_t n);

void engine_stack(struct engine *x, struct whatif *w);
/* Adds to a finding about waits what the best single one of them saves. */
void engine_waits(struct engine *x, struct outcome *o);

static inline int64_t engine_within(int64_t v, int64_t high)
{
    return v < 0 ? 0 : v > high ? high : v;
}
bool engine_open_to(const struct outcome *o); /* fires, with a change that can be replayed */

#endif
