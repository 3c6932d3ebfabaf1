/* The what-if engine: draws the graph of the facts, replays it with edits, and doubts itself
 * (engine_check.c). engine_open, then any number of questions, then engine_close. */
#ifndef GPUPROF_WHATIF_ENGINE_H
#define GPUPROF_WHATIF_ENGINE_H

#include "analyzer/whatif/edits/edits.h"
#include "analyzer/whatif/whatif.h"
#include "analyzer/whatif/host_pace.h"
#include "analyzer/whatif/room.h"

enum {
    DRAWS = 24,
    CORNERS = 2, /* behind the draws: all unknowns near their good, and near their bad end */
    RUNS = 4,    /* the middle, where the host is faster or slower than when recorded */
    FIRST_RUN = DRAWS + CORNERS,
    ALL_DRAWS = FIRST_RUN + RUNS,
    ASSUMPTIONS_MOST = 5
};

struct engine {
    const struct facts *f;
    struct arena *arena; /* of the texts */
    struct graph *g;
    struct plan plan;
    struct replay now, then;
    unsigned assume[ASSUMPTIONS_MOST]; /* the first one is the likeliest: none of enum assumption */
    int assumptions;
    struct host_pace host;
    const float *stacked; /* host_pace_stacked */
    struct room room;
    int64_t work_ns; /* per step as reported, of the fullest stream or of kernels that fill the GPU:
                        no host's edit goes below */
    bool no_wait;    /* how far the host runs ahead was not recorded */
    int64_t base_ns[ASSUMPTIONS_MOST]
                   [ALL_DRAWS]; /* pace of the recorded steps; 0 = not replayed yet */
};

/* Draws the graph and fills the first figures of w. `arena` owns every text that the engine makes.
 * -1 with *e set; engine_close releases what there is, also after a failure. */
int engine_open(struct engine *x, const struct facts *f, struct arena *arena, struct whatif *w,
                struct err *e);
void engine_close(struct engine *x);

/* Replays the steps as recorded and fills w; w->trusted says whether predictions hold. -1: out of
 * memory. */
int engine_check(struct engine *x, struct whatif *w);
/* Why nothing is predicted; NULL when the checks passed. */
const char *engine_distrust(struct engine *x, const struct whatif *w);
/* Takes the profiler's own measured cost out of the calls that it was added to, so that what is
 * saved is a share of the program's step and not of the profiler's. After engine_check. */
void engine_take_cost_out(struct engine *x, struct whatif *w);

/* Every edit asked about has a kind. What n of them save together by that draw: of the recorded
 * pace; and that on the scale of the median step. */
int64_t engine_saved_by(struct engine *x, const struct edit *const *edits, size_t n, int draw);
int64_t engine_to_median(const struct engine *x, int64_t ns);
/* What all of the host's time costs a step whose stacks PyTorch's profiler does not record. */
int64_t engine_host_unstacked(struct engine *x);
/* The most that the change can save of the median step, whatever speaks against the replay: with
 * good luck, and with the cause gone wherever it acts. */
int64_t engine_most(struct engine *x, const struct edit *edit);
/* The same with an interval, which holds what comes out under each assumption about what was not
 * recorded, and is widened by the engine's doubts about itself. */
struct span_ns engine_span(struct engine *x, const struct whatif *w,
                           const struct edit *const *edits, size_t n);

/* How long a step stays at least with all of these changes, whatever the replay says. */
int64_t engine_floor_ns(struct engine *x, const struct edit *const *edits, size_t n);

static inline int64_t engine_within(int64_t v, int64_t high)
{
    return v < 0 ? 0 : v > high ? high : v;
}

#endif
