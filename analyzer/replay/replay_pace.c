/* Computes the step time of a replay from the ends of its steps; see replay_pace.h. */
#include "analyzer/replay/replay_pace.h"
#include "analyzer/replay/limits.h"

#include "base/order.h"

#include <stdlib.h>

/* Returns true if this step took longer than the others when it was recorded: for example it wrote
 * a log, saved a model, or lost the core. */
static bool was_long(const struct graph *g, size_t s)
{
    const struct steps *all = &g->a->steps;
    return all->at[g->first + s % g->recorded_steps].length_ns * 100 >
           all->median_ns * (100 + REPLAY_LONG_PCT);
}

/* Fills r->row with the mean step time of every row of `row` consecutive steps, and returns their
 * number. Workers deliver in bursts, so a loop that waits for them needs rows of four. `leave_out`
 * skips rows with a long step. If long steps were so frequent that most rows held one, a change
 * that hides them would seem to save their time in every step. */
static size_t rows_of(struct replay *r, const struct graph *g, size_t skip, bool leave_out,
                      size_t row)
{
    size_t n = 0, clean = 0;
    for (size_t s = skip + 1; s < g->steps; s++) {
        clean = leave_out && was_long(g, s) ? 0 : clean + 1;
        if (clean >= row)
            r->row[n++] =
                (r->step_end[replay_at(r, s)] - r->step_end[replay_at(r, s - row)]) / (int64_t)row;
    }
    return n;
}

static int64_t pace_of(struct replay *r, const struct graph *g, size_t skip)
{
    if (g->a->steps.recurs) /* long steps recur: the mean step includes them */
        return r->step_ns;
    bool bursts = g->a->breakdown_ns[PART_IDLE_INPUT] * 100 > g->a->step_ns * REPLAY_BURSTS_PCT;
    size_t lengthy = 0, n = 0;
    for (size_t s = skip + 1; s < g->steps; s++)
        lengthy += was_long(g, s);
    if (lengthy * REPLAY_RARE <= g->steps)
        n = rows_of(r, g, skip, true, REPLAY_ROW);
    else if (!bursts && lengthy * REPLAY_LESS_RARE <= g->steps - 1 - skip)
        n = rows_of(r, g, skip, true, REPLAY_SHORT_ROW);
    if (n < REPLAY_ROW)
        n = rows_of(r, g, skip, false, REPLAY_ROW);
    if (n < REPLAY_ROW)
        return r->step_ns;
    qsort(r->row, n, sizeof *r->row, order_int64);
    return n % 2 ? r->row[n / 2] : (r->row[n / 2 - 1] + r->row[n / 2]) / 2;
}

void replay_pace(struct replay *r, const struct graph *g)
{
    size_t skip = g->skip;
    for (size_t s = 1; s < g->steps; s++)
        if (r->step_end[replay_at(r, s)] < r->step_end[replay_at(r, s - 1)])
            r->step_end[replay_at(r, s)] = r->step_end[replay_at(r, s - 1)];
    r->length_ns = r->step_end[replay_at(r, g->steps - 1)];
    if (g->once) {
        r->step_ns = r->pace_ns = r->length_ns;
        return;
    }
    r->step_ns = (r->length_ns - r->step_end[replay_at(r, skip)]) / (int64_t)(g->steps - 1 - skip);
    r->pace_ns = g->steps > g->recorded_steps ? r->step_ns : pace_of(r, g, skip);
}
