/* Makes the interval of a prediction from the draws under each assumption, from other runs, and from
 * the engine's own errors. See engine.h. */
#include "analyzer/whatif/engine_asked.h"
#include "analyzer/whatif/limits.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>

/* Returns the middle and the inner 80 % of the draws under one assumption. */
static struct span_ns span_under(struct engine *x, int assumption, const struct edit *const *edits,
                                 size_t n, int draws)
{
    int number[DRAWS] = {0};
    int64_t saved[DRAWS];
    for (int i = 0; i < draws; i++)
        number[i] = i;
    asked_saved(x, assumption, edits, n, number, (size_t)draws, false, saved);
    for (int i = 0; i < draws; i++)
        saved[i] = engine_to_median(x, saved[i]);
    qsort(saved, (size_t)draws, sizeof *saved, order_int64);
    return (struct span_ns){.low_ns = saved[draws / 10],
                            .mid_ns = saved[draws / 2],
                            .high_ns = saved[draws - 1 - draws / 10]};
}

/* For large graphs, in place of many draws: the middle, and all parameters near their good and near
 * their bad end. */
static struct span_ns span_of_corners(struct engine *x, const struct edit *const *edits, size_t n)
{
    static const int number[1 + CORNERS] = {0, DRAWS, DRAWS + 1};
    int64_t saved[1 + CORNERS];
    asked_saved(x, 0, edits, n, number, 1 + CORNERS, false, saved);
    for (int i = 0; i <= CORNERS; i++)
        saved[i] = engine_to_median(x, saved[i]);
    int64_t mid = saved[0];
    qsort(saved, 1 + CORNERS, sizeof *saved, order_int64);
    return (struct span_ns){.low_ns = saved[0], .mid_ns = mid, .high_ns = saved[CORNERS]};
}

/* Fills number[] with the draws that an interval of uncertain edits takes under the assumption, and
 * returns how many they are. */
static size_t draws_under(const struct engine *x, int assumption, bool large, int *number)
{
    size_t n = 0;
    int from = large ? 1 : DRAWS; /* the corners follow the draws */
    for (int i = 0; i < from; i++)
        number[n++] = i;
    if (assumption > 0)
        return n;
    for (int i = DRAWS; large && i < FIRST_RUN; i++)
        number[n++] = i;
    for (int i = FIRST_RUN; i < (x->stacked ? USUALLY : UNSTACKED); i++)
        number[n++] = i;
    return n;
}

static bool is_large(const struct engine *x, const struct whatif *w)
{
    return w->wider && x->g->count > WHATIF_LARGE;
}

void engine_span_in_turn(struct engine *x, const struct whatif *w, const struct edit *const *edits,
                         size_t n)
{
    size_t sure = 0; /* such a list is replayed at the middle alone */
    while (sure < n && edits[sure]->kind->certain)
        sure++;
    for (int i = 0; i < x->assumptions; i++) {
        int number[ALL_DRAWS];
        size_t count = draws_under(x, i, is_large(x, w), number);
        asked_in_turn(x, i, edits, sure > 1 ? sure : 1, n, number, count);
    }
}

/* Extends the interval to the results under the other assumptions. In a large graph these get only
 * one draw, the middle, and the first assumption's width on either side. */
static struct span_ns span_with_others(struct engine *x, const struct edit *const *edits, size_t n,
                                       int draws, bool large)
{
    struct span_ns s =
        large && draws > 1 ? span_of_corners(x, edits, n) : span_under(x, 0, edits, n, draws);
    const struct span_ns first = s;
    for (int i = 1; i < x->assumptions; i++) {
        struct span_ns other = span_under(x, i, edits, n, large ? 1 : draws);
        if (large) {
            other.low_ns = other.mid_ns - (first.mid_ns - first.low_ns);
            other.high_ns = other.mid_ns + (first.high_ns - first.mid_ns);
        }
        s.low_ns = other.low_ns < s.low_ns ? other.low_ns : s.low_ns;
        s.high_ns = other.high_ns > s.high_ns ? other.high_ns : s.high_ns;
    }
    return s;
}

/* Extends the interval by what the edits save in other runs, as a share of that run's step; the
 * difference can be large if host and GPU take equally long. The pace of a run's host, and what
 * recording stacks costs it, are independent of each other and of the other parameters, so the
 * widths add as squares, and the middle does not move. */
static struct span_ns span_of_runs(struct engine *x, struct span_ns s,
                                   const struct edit *const *edits, size_t n)
{
    static const int runs[][2] = {{FIRST_RUN, UNSTACKED}, {UNSTACKED, USUALLY}};
    int64_t usual = engine_to_median(x, engine_saved_by(x, edits, n, 0));
    for (int k = 0; k < (x->stacked ? 2 : 1); k++) {
        int64_t less = 0, more = 0;
        int number[RUNS];
        int64_t saved[RUNS];
        size_t count = (size_t)(runs[k][1] - runs[k][0]);
        for (size_t i = 0; i < count; i++)
            number[i] = runs[k][0] + (int)i;
        asked_saved(x, 0, edits, n, number, count, false, saved);
        for (size_t i = 0; i < count; i++) {
            int64_t away = engine_to_median(x, saved[i]) - usual;
            less = -away > less ? -away : less;
            more = away > more ? away : more;
        }
        s.low_ns = s.mid_ns - (int64_t)hypot((double)(s.mid_ns - s.low_ns), (double)less);
        s.high_ns = s.mid_ns + (int64_t)hypot((double)(s.high_ns - s.mid_ns), (double)more);
    }
    return s;
}

/* With only one to three recorded steps, returns by how much other steps may differ, in ns. It does
 * not cover steps that scatter by tens of percent: docs/accuracy.md, "Few steps". */
static int64_t few_steps_ns(const struct whatif *w, int64_t step, int64_t mid)
{
    if (w->steps == 0 || w->steps >= GRAPH_STEPS_ENOUGH)
        return 0;
    return (int64_t)(WHATIF_FEW_OF_STEP * (double)step +
                     WHATIF_FEW_OF_SAVING * (double)(mid > 0 ? mid : 0));
}

/* Widens the interval on either side by `wide`, which is independent of what the interval holds
 * already, so the widths add as squares, and limits it to `limit`. If the replay predicts more than
 * the limit, its lower end is as wrong as its middle, so the interval keeps its width below the
 * limit. */
static struct span_ns limit_span(struct span_ns s, int64_t wide, int64_t limit)
{
    int64_t half = (int64_t)hypot((double)(s.mid_ns - s.low_ns), (double)wide);
    int64_t more = (int64_t)hypot((double)(s.high_ns - s.mid_ns), (double)wide);
    int64_t mid = engine_within(s.mid_ns, limit), low = engine_within(s.mid_ns - half, limit);
    low = low < limit - half ? low : engine_within(limit - half, limit);
    return (struct span_ns){low, mid, engine_within(s.mid_ns + more, limit), low};
}

/* Returns the interval for the recorded host, extended to the hosts of other runs; neither exceeds
 * what the recorded step allows. */
static struct span_ns within_runs(struct engine *x, struct span_ns s, int64_t wide, int64_t limit,
                                  const struct edit *const *edits, size_t n)
{
    struct span_ns recorded = limit_span(s, wide, limit);
    struct span_ns any = limit_span(span_of_runs(x, s, edits, n), wide, limit);
    recorded.low_ns = any.low_ns < recorded.low_ns ? any.low_ns : recorded.low_ns;
    recorded.high_ns = any.high_ns > recorded.high_ns ? any.high_ns : recorded.high_ns;
    return recorded;
}

struct span_ns engine_span(struct engine *x, const struct whatif *w,
                           const struct edit *const *edits, size_t n)
{
    int64_t step = x->f->step_ns;
    int draws = 1;
    for (size_t i = 0; i < n; i++)
        draws = edits[i]->kind->certain ? draws : DRAWS;
    bool large = is_large(x, w);
    struct span_ns s = span_with_others(x, edits, n, draws, large);
    int64_t most = x->no_wait && n == 1 ? engine_most(x, edits[0]) : 0;
    s.high_ns = most > s.high_ns ? most : s.high_ns;
    s.high_ns += engine_of_host(edits, n) ? x->first_ns : 0;
    double doubt = w->unexplained_pct + (w->holdout_error_pct > 0 ? w->holdout_error_pct : 0) +
                   w->class_error_pct + w->scatter_pct;
    int64_t wide = (int64_t)((double)step * doubt / 200);
    if (wide * WHATIF_AGREE < step)
        wide = step / WHATIF_AGREE; /* no two runs agree better than that */
    /* Errors that the replays with and without the edits share cancel, so the widening is at most
     * half of the saving. */
    if (wide > s.mid_ns / 2 && s.mid_ns > 0)
        wide = s.mid_ns / 2;
    wide += few_steps_ns(w, step, s.mid_ns);
    int64_t limit = step - engine_floor_ns(x, edits, n);
    /* Even the low end exceeds the limit: the replay says nothing about where below it the saving
     * lies. */
    if (n == 1 && edits[0]->kind->least_ns && s.low_ns - wide > limit)
        return (struct span_ns){0, limit / 2, limit, 0};
    return within_runs(x, s, wide, limit, edits, n);
}
