/* Draws the unknown parameters of edits, replays the steps with and without them, and remembers the
 * answers. See engine_asked.h. */
#include "analyzer/whatif/engine_asked.h"

#include "analyzer/whatif/limits.h"
#include "base/str.h"

#include <math.h>

uint64_t asked_question(enum asked what, int assumption, int draw, const struct edit *const *edits,
                        size_t n)
{
    int about[] = {what, assumption, draw};
    uint64_t q = str_hash((const char *)about, sizeof about);
    for (size_t i = 0; i < n; i++)
        q = (q ^ str_hash((const char *)edits[i], sizeof *edits[i])) * 0x9e3779b97f4a7c15u;
    return q;
}

bool asked_before(const struct engine *x, uint64_t question, int64_t *ns)
{
    for (size_t i = x->answers.n; i-- > 0;)
        if (x->answers.at[i].question == question) {
            *ns = x->answers.at[i].ns;
            return true;
        }
    return false;
}

/* Without memory it only remembers nothing. */
int64_t asked_keep(struct engine *x, uint64_t question, int64_t ns)
{
    struct answer *a = vec_push(&x->answers);
    if (a)
        *a = (struct answer){question, ns};
    return ns;
}

void engine_forget(struct engine *x)
{
    x->answers.n = 0;
}

/* Returns draw n of the unknown parameters, each from 0 to 1. Multiples of irrational numbers
 * spread evenly over this range. Draw 0 is the middle of all parameters. */
static struct draw draw_of(int n)
{
    static const double by[DRAW_DIMENSIONS] = {0.6180339887498949, 0.7548776662466927,
                                               0.8191725133961645};
    struct draw d;
    n = n < FIRST_RUN ? n : 0;
    for (int k = 0; k < DRAW_DIMENSIONS; k++)
        d.u[k] = n == DRAWS ? 0.1 : n > DRAWS ? 0.9 : fmod(0.5 + by[k] * n, 1.0);
    return d;
}

/* Shortens each call by recording cost that the profiler's own figures do not
 * show. A rerun without profiler has no such cost. In a share WHATIF_STAYS of the draws the rerun
 * is assumed to be recorded too, and keeps all of it. */
void asked_plan(struct engine *x, struct plan *p, int draw, unsigned assume)
{
    double u = fmod(0.5 + 0.4142135623730951 * (draw < FIRST_RUN ? draw : 0), 1.0);
    int64_t each = (int64_t)(WHATIF_RECORD_NS * fmax(0, u - WHATIF_STAYS) / (1 - WHATIF_STAYS));
    plan_reset(p, x->g);
    p->assume = assume;
    p->dated = &x->now;
    for (size_t i = 0; each && i < x->g->count; i++)
        if (x->g->classes[i].kind == TASK_HOST_API)
            p->dur[i] -= each < p->dur[i] ? each : p->dur[i];
}

/* Changes the host's pace in the plan. The steps with and without the edits are replayed at the
 * same pace, so this matters only if the host limits the step in one of the two. */
static void vary_host(const struct engine *x, struct plan *p, int draw)
{
    /* quantiles: 80 % of the runs lie between the outer two */
    static const double of_run[RUNS] = {0.1, 0.3, 0.7, 0.9};
    if (draw >= UNSTACKED) {
        host_pace_unstack(x->stacked, x->g, p, draw == USUALLY ? 0.5 : of_run[RUNS - 1]);
        return;
    }
    if (draw >= FIRST_RUN) {
        host_pace_of_run(x->g, p, of_run[draw - FIRST_RUN]);
        return;
    }
    double u = draw == DRAWS  ? 0.1
               : draw > DRAWS ? 0.9
                              : fmod(0.5 + 0.7320508075688772 * draw, 1.0);
    host_pace_apply(&x->host, x->g, p, u);
}

/* What is to be replayed: edits at a draw. */
struct ask {
    const struct edit *const *edits;
    size_t n;
    int draw;
    uint64_t question;
    int64_t *ns; /* what the edits save; NULL: to be remembered only */
};

/* Makes n plans of the unchanged steps at these draws, up to REPLAY_WIDE, and replays them where that
 * was not done before. The first plan is x->plan. */
static void begin(struct engine *x, int assumption, const struct ask *ask, size_t n,
                  struct plan **plans)
{
    int64_t *base_ns = x->base_ns[assumption];
    bool known = true;
    for (size_t k = 0; k < n; k++) {
        plans[k] = k ? &x->beside[k - 1] : &x->plan;
        asked_plan(x, plans[k], ask[k].draw, x->assume[assumption]);
        vary_host(x, plans[k], ask[k].draw);
        known &= base_ns[ask[k].draw] != 0;
    }
    if (known)
        return;
    replay_wide_run(&x->draws, x->g, plans, n);
    for (size_t k = 0; k < n; k++) {
        int64_t ns = x->draws.lane[k].pace_ns;
        base_ns[ask[k].draw] = ns > 0 ? ns : 1;
    }
}

/* Replays the plans as they are now, and remembers what was asked. */
static void finish(struct engine *x, int assumption, const struct ask *ask, size_t n,
                   struct plan *const *plans)
{
    replay_wide_settle(&x->draws, x->g, plans, n);
    for (size_t k = 0; k < n; k++) {
        double share = 1 - (double)x->draws.lane[k].pace_ns / plans[k]->work /
                               (double)x->base_ns[assumption][ask[k].draw];
        int64_t ns = asked_keep(x, ask[k].question, (int64_t)(share * (double)x->now.pace_ns));
        if (ask[k].ns)
            *ask[k].ns = ns;
    }
}

static void replay_asked(struct engine *x, int assumption, const struct ask *ask, size_t n,
                         bool most)
{
    struct plan *plans[REPLAY_WIDE];
    begin(x, assumption, ask, n, plans);
    for (size_t k = 0; k < n; k++) {
        struct draw d = most ? (struct draw){{0, 0, 0}} : draw_of(ask[k].draw);
        plans[k]->most = most;
        for (size_t i = 0; i < ask[k].n; i++)
            edit_apply(ask[k].edits[i], x->g, plans[k], &d);
    }
    finish(x, assumption, ask, n, plans);
}

void asked_saved(struct engine *x, int assumption, const struct edit *const *edits, size_t n,
                 const int *draws, size_t count, bool most, int64_t *saved)
{
    struct ask ask[REPLAY_WIDE];
    size_t asked = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t q = asked_question(most ? ASKED_SAVED_AT_MOST : ASKED_SAVED, assumption, draws[i],
                                    edits, n);
        if (!asked_before(x, q, &saved[i]))
            ask[asked++] = (struct ask){edits, n, draws[i], q, &saved[i]};
        if (asked == REPLAY_WIDE || (asked && i + 1 == count)) {
            replay_asked(x, assumption, ask, asked, most);
            asked = 0;
        }
    }
}

int64_t engine_saved_by(struct engine *x, const struct edit *const *edits, size_t n, int draw)
{
    int64_t ns;
    asked_saved(x, 0, edits, n, &draw, 1, false, &ns);
    return ns;
}

void engine_ask_each(struct engine *x, const struct edit *const *const *lists, size_t n,
                     size_t count)
{
    struct ask ask[REPLAY_WIDE];
    size_t asked = 0;
    int64_t known;
    for (size_t i = 0; i < count; i++) {
        uint64_t q = asked_question(ASKED_SAVED, 0, 0, lists[i], n);
        if (!asked_before(x, q, &known))
            ask[asked++] = (struct ask){lists[i], n, 0, q, NULL};
        if (asked == REPLAY_WIDE || (asked && i + 1 == count)) {
            replay_asked(x, 0, ask, asked, false);
            asked = 0;
        }
    }
}

/* Asks up to REPLAY_WIDE draws about the first n edits. Returns true if an answer is not known. */
static bool unknown(const struct engine *x, int assumption, const struct edit *const *edits,
                    size_t n, struct ask *ask, size_t count)
{
    bool open = false;
    int64_t known;
    for (size_t k = 0; k < count; k++) {
        ask[k].question = asked_question(ASKED_SAVED, assumption, ask[k].draw, edits, n);
        open |= !asked_before(x, ask[k].question, &known);
    }
    return open;
}

static void in_turn(struct engine *x, int assumption, const struct edit *const *edits, size_t from,
                    size_t n, struct ask *ask, size_t count)
{
    struct plan *plans[REPLAY_WIDE];
    while (n > from && !unknown(x, assumption, edits, n, ask, count))
        n--; /* nothing is asked of the edits behind the last unknown answer */
    if (n <= from)
        return;
    begin(x, assumption, ask, count, plans);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < count; k++) {
            struct draw d = draw_of(ask[k].draw);
            edit_apply(edits[i], x->g, plans[k], &d);
        }
        if (i >= from && unknown(x, assumption, edits, i + 1, ask, count))
            finish(x, assumption, ask, count, plans);
    }
}

void asked_in_turn(struct engine *x, int assumption, const struct edit *const *edits, size_t from,
                   size_t n, const int *draws, size_t count)
{
    for (size_t at = 0; at < count; at += REPLAY_WIDE) {
        struct ask ask[REPLAY_WIDE] = {{NULL, 0, 0, 0, NULL}};
        size_t wide = count - at < REPLAY_WIDE ? count - at : REPLAY_WIDE;
        for (size_t k = 0; k < wide; k++)
            ask[k].draw = draws[at + k];
        in_turn(x, assumption, edits, from, n, ask, wide);
    }
}
