/* The what-if engine: builds the dependency graph from the facts, replays it with edits, and checks
 * its own errors (engine_check.c). Call engine_open, ask any number of questions, then call
 * engine_close. */
#ifndef GPUPROF_WHATIF_ENGINE_H
#define GPUPROF_WHATIF_ENGINE_H

#include "analyzer/whatif/edits/edits.h"
#include "analyzer/whatif/whatif.h"
#include "analyzer/whatif/host_pace.h"
#include "analyzer/whatif/room.h"
#include "base/vec.h"

enum {
    DRAWS = 24,
    /* Two draws behind the others: all unknown parameters near their good end, and near their bad
     * end. */
    CORNERS = 2,
    /* The middle of all parameters, in other runs whose host is faster or slower than the recorded
     * one. */
    RUNS = 4,
    FIRST_RUN = DRAWS + CORNERS,
    /* The middle of all parameters, in a run whose stacks of Python nobody records: where that cost
     * much, and where it cost as usual. */
    UNSTACKED = FIRST_RUN + RUNS,
    USUALLY,
    ALL_DRAWS,
    ASSUMPTIONS_MOST = 5
};

/* An answer that the engine gave. Rankings, intervals and the order of changes ask for the same ones
 * again: about half of all replays. */
struct answer {
    uint64_t question;
    int64_t ns;
};

struct engine {
    const struct facts *f;
    struct arena *arena; /* owns the texts */
    struct graph *g;
    struct plan plan;
    struct replay now, then;
    struct plan beside[REPLAY_WIDE - 1]; /* of the draws that are replayed in one pass */
    struct replay_wide draws;
    unsigned assume[ASSUMPTIONS_MOST]; /* sets of enum assumption bits, the likeliest set first */
    int assumptions;
    struct host_pace host;
    const float *stacked; /* calls of Python per task, from host_pace_stacked(); NULL: no stacks */
    struct room room;
    /* Per reported step: the work of the busiest stream, or of kernels that fill the GPU. No change
     * of the host makes a step shorter. */
    int64_t work_ns;
    bool no_wait; /* the recording does not show how far the host runs ahead */
    /* Per reported step: how long the GPU idles during one-time work, if one to three steps were
     * recorded; else 0. */
    int64_t first_ns;
    /* By assumption and draw: the pace of the unchanged steps in ns; 0 = not replayed yet. */
    int64_t base_ns[ASSUMPTIONS_MOST][ALL_DRAWS];
    struct answers VEC(struct answer) answers;
};

/* Builds the graph and fills the first figures of w. `arena` owns every text that the engine makes.
 * Returns -1 with *e set. The caller calls engine_close also after a failure. */
int engine_open(struct engine *x, const struct facts *f, struct arena *arena, struct whatif *w,
                struct err *e);
void engine_close(struct engine *x);

/* Replays the unchanged steps and fills w; w->trusted says whether predictions are allowed. Returns
 * -1 without memory. */
int engine_check(struct engine *x, struct whatif *w);
/* Returns why the engine predicts nothing, or NULL if its checks passed. */
const char *engine_distrust(struct engine *x, const struct whatif *w);
/* Subtracts the profiler's own measured cost from the calls that it was added to, so that savings
 * are shares of the program's step without the profiler. Call it after engine_check. */
void engine_take_cost_out(struct engine *x, struct whatif *w);

/* Forgets the answers. An edit is told from others by its value, so call this after changing an array
 * that an edit names. */
void engine_forget(struct engine *x);

/* engine_saved_by returns what n edits save together under that draw, in ns of the recorded pace;
 * engine_to_median converts this to the scale of the median step. Every edit must have a kind. */
int64_t engine_saved_by(struct engine *x, const struct edit *const *edits, size_t n, int draw);
int64_t engine_to_median(const struct engine *x, int64_t ns);
/* Replays ahead what engine_saved_by() will say at draw 0 of each of `count` lists of n edits. Costs
 * a fourth of asking one by one. */
void engine_ask_each(struct engine *x, const struct edit *const *const *lists, size_t n,
                     size_t count);
/* Fills w->unstacked and its neighbours. Call it after engine_take_cost_out. */
void engine_unstack(struct engine *x, struct whatif *w);
/* Returns how much more the edit saves where nobody records stacks of Python; negative: less. */
int64_t engine_usually_saved(struct engine *x, const struct edit *edit);
/* Returns the most that the edit can save of the median step, in ns: with the best parameters, and
 * with the cause removed wherever it acts. */
int64_t engine_most(struct engine *x, const struct edit *edit);
/* Returns what the edits save, with an interval: it holds the results under each assumption about
 * what was not recorded, and is widened by the engine's own errors (engine_span.c). */
struct span_ns engine_span(struct engine *x, const struct whatif *w,
                           const struct edit *const *edits, size_t n);

/* Replays ahead what engine_span() will ask of the first two of these edits, the first three, ... all
 * n. */
void engine_span_in_turn(struct engine *x, const struct whatif *w, const struct edit *const *edits,
                         size_t n);

/* Returns true if each edit changes only what the host does. */
bool engine_of_host(const struct edit *const *edits, size_t n);
/* Returns the least that a step takes with all of these edits, in ns, whatever the replay says. */
int64_t engine_floor_ns(struct engine *x, const struct edit *const *edits, size_t n);

/* Limits v to 0 .. high. */
static inline int64_t engine_within(int64_t v, int64_t high)
{
    return v < 0 ? 0 : v > high ? high : v;
}

#endif
