/* Turns the bounds of findings into predictions by replay, and widens them by what trials and the
 * ledger of real changes show. */
#include "analyzer/advice/passes.h"
#include "analyzer/advice/past.h"
#include "analyzer/queries/query.h"

#include <string.h>

enum { EDITS_MOST = 64 }; /* most findings that are replayed together */

/* Fills `edits` with the edits of n findings and returns their number. */
static size_t edits_of(const struct outcome *const *o, size_t n, const struct edit **edits)
{
    n = n < EDITS_MOST ? n : EDITS_MOST;
    for (size_t i = 0; i < n; i++)
        edits[i] = &o[i]->edit;
    return n;
}

bool predict_negligible(const struct advice *a, int64_t ns)
{
    return ns * QUERY_WORTH < a->facts->step_ns;
}

int64_t predict_saved(struct engine *x, const struct outcome *const *o, size_t n)
{
    const struct edit *edits[EDITS_MOST] = {NULL};
    n = edits_of(o, n, edits);
    int64_t ns = engine_to_median(x, engine_saved_by(x, edits, n, 0));
    int64_t most = x->f->step_ns - engine_floor_ns(x, edits, n);
    return ns < most ? ns : most;
}

void predict_ask_each(struct engine *x, const struct outcome *const *chosen, size_t n,
                      const struct outcome *const *last, size_t count)
{
    const struct edit *edits[REPLAY_WIDE][EDITS_MOST] = {{NULL}};
    for (size_t at = 0; n < EDITS_MOST && at < count; at += REPLAY_WIDE) {
        const struct edit *const *lists[REPLAY_WIDE];
        size_t wide = count - at < REPLAY_WIDE ? count - at : REPLAY_WIDE;
        for (size_t k = 0; k < wide; k++) {
            edits_of(chosen, n, edits[k]);
            edits[k][n] = &last[at + k]->edit;
            lists[k] = edits[k];
        }
        engine_ask_each(x, lists, n + 1, wide);
    }
}

void predict_span_in_turn(const struct advice *a, struct engine *x, const struct outcome *const *o,
                          size_t n)
{
    const struct edit *edits[EDITS_MOST] = {NULL};
    engine_span_in_turn(x, &a->whatif, edits, edits_of(o, n, edits));
}

struct span_ns predict_span(const struct advice *a, struct engine *x,
                            const struct outcome *const *o, size_t n)
{
    const struct edit *edits[EDITS_MOST] = {NULL};
    n = edits_of(o, n, edits);
    struct span_ns s = widen_by_trials(a, engine_span(x, &a->whatif, edits, n), o, n);
    return widen_by_ledger(a, s, o, n, a->facts->step_ns - engine_floor_ns(x, edits, n));
}

bool predict_open_to(const struct outcome *o)
{
    return (o->verdict == RULE_FIRES || o->put_off) && o->edit.kind && !o->edit.best_case;
}

/* Returns, by call, the waits that a change of waits keeps: those that it keeps anyway, and those
 * inside calls that another finding removes (of clipping, of loss scaling), because they belong to
 * that finding. */
static const bool *spared_by(struct advice *a, const struct outcome *waits)
{
    size_t n = a->facts->tl->api_count;
    bool *marks = NULL;
    for (size_t i = 0; i < a->outcome_count; i++) {
        const struct outcome *o = &a->outcomes[i];
        const bool *own = o->edit.at.call_marks;
        if (o->verdict != RULE_FIRES || !o->edit.kind || !o->edit.kind->owns_calls || !own)
            continue;
        marks = marks ? marks : arena_array(&a->arena, n + 1, sizeof *marks);
        for (size_t k = 0; marks && k < n; k++)
            marks[k] |= own[k] || (waits->edit.spared && waits->edit.spared[k]);
    }
    return marks ? marks : waits->edit.spared;
}

/* True if the training thread has no core of its own. It is then slow in everything, and the saving
 * of a change of host work is mostly this slowness. */
static bool lacks_core(const struct advice *a)
{
    for (size_t i = 0; i < a->outcome_count; i++)
        if (a->outcomes[i].rule->no_core && a->outcomes[i].verdict == RULE_FIRES)
            return true;
    return false;
}

static void keep_as_bound(struct outcome *o)
{
    o->upper_bound = true;
    o->saves_low_ns = o->least_ns = 0;
}

/* For findings about other host work: the GPU's wait for the host bounds them, and recording stacks
 * prolongs that wait. Lowers the middle to half of what the host costs without stacks, or
 * suppresses the finding if that is next to nothing. */
static void bound_unstacked(const struct advice *a, struct outcome *o)
{
    int64_t most = a->whatif.unstacked_host_ns;
    o->saves_mid_ns = o->saves_mid_ns < most / 2 ? o->saves_mid_ns : most / 2;
    if (!predict_negligible(a, most))
        return;
    o->verdict = RULE_SUPPRESSED;
    o->why = "PyTorch's profiler recorded stacks (with_stack=True), which slows the host: without "
             "them the GPU hardly waits for it";
}

/* Predicts a change and its lesser form, if the device has it. */
static void predict_either(struct advice *a, struct engine *x, struct outcome *o)
{
    struct outcome lesser = *o;
    bool both = o->edit.kind->lesser(&o->edit, a->facts, &lesser.edit);
    predict_one(a, x, o);
    if (!both)
        return;
    predict_one(a, x, &lesser);
    predict_lesser(a, x, o, &lesser);
}

/* Replays each finding's change: most become predictions, best_case changes get bounds. */
static void predict_all(struct advice *a, struct engine *x)
{
    bool crowded = lacks_core(a);
    for (size_t i = 0; i < a->outcome_count; i++) {
        struct outcome *o = &a->outcomes[i];
        const struct edit_kind *kind = o->edit.kind;
        if (x->stacked && o->rule->host_pace && o->verdict == RULE_FIRES)
            bound_unstacked(a, o);
        if (!kind || (kind->needs_events && a->whatif.events_guessed))
            continue;
        if (kind->wait_by_wait)
            o->edit.spared = spared_by(a, o);
        if (predict_open_to(o)) {
            if (kind->lesser)
                predict_either(a, x, o);
            else
                predict_one(a, x, o);
            if (crowded && kind->of_host && !o->rule->no_core)
                keep_as_bound(o);
        } else if (o->verdict == RULE_FIRES && o->edit.best_case)
            predict_bound(a, x, o);
    }
}

static const struct stacked *stacked_as(const struct advice *a, const struct outcome *o)
{
    for (size_t i = 0; i < a->stack_count; i++)
        if (a->stack[i].outcome == o)
            return &a->stack[i];
    return NULL;
}

/* Adds evidence where a change saves more after others than alone: the others hid a part of it. */
static void explain_stack(struct advice *a)
{
    for (size_t i = 0; i < a->outcome_count; i++) {
        struct outcome *o = &a->outcomes[i];
        const struct stacked *s = stacked_as(a, o);
        if (s && s != a->stack && s->saves_ns > o->saves_high_ns)
            outcome_evidence(o, "saved after the changes before it, which hide a part of it now",
                             (double)s->saves_ns / 1e6, "ms", NULL);
    }
}

/* For changes that save nothing now but do after other changes: says so as the reason. */
static void suppress_later(struct advice *a)
{
    for (size_t i = 0; i < a->outcome_count; i++) {
        struct outcome *o = &a->outcomes[i];
        const struct stacked *then = o->later ? stacked_as(a, o) : NULL;
        if (!then)
            continue;
        o->verdict = RULE_SUPPRESSED;
        o->why =
            arena_printf(&a->arena, "of no use now (%s); it saves %s after the changes before it",
                         o->why, time_text(&a->arena, then->saves_ns));
    }
}

static const char *why_not_now(struct advice *a, const struct outcome *o)
{
    const char *most = time_text(&a->arena, o->saves_high_ns);
    const struct stacked *then = stacked_as(a, o);
    const char *alone =
        predict_negligible(a, o->saves_high_ns)
            ? arena_printf(&a->arena,
                           "present, but fixing it alone saves at most %s: another bottleneck "
                           "takes over",
                           most)
            : arena_printf(&a->arena,
                           "present, but fixing it alone most likely saves next to nothing; "
                           "%s at most",
                           most);
    return then ? arena_printf(&a->arena, "%s; it saves %s after the changes ranked before it",
                               alone, time_text(&a->arena, then->saves_ns))
                : alone;
}

/* Suppresses findings whose change alone saves next to nothing. If the high end of the interval is
 * larger, the finding stays. */
static void put_off(struct advice *a)
{
    for (size_t i = 0; i < a->outcome_count; i++) {
        struct outcome *o = &a->outcomes[i];
        int64_t most_ns = o->edit.best_case ? o->saves_high_ns : o->saves_mid_ns;
        if (o->verdict != RULE_FIRES || !o->edit.kind || !predict_negligible(a, most_ns) ||
            o->saves_high_ns * 100 > a->facts->step_ns * ADVICE_NOTHING_PCT)
            continue;
        o->verdict = RULE_SUPPRESSED;
        o->put_off = true;
    }
}

static void explain_put_off(struct advice *a)
{
    for (size_t i = 0; i < a->outcome_count; i++)
        if (a->outcomes[i].put_off)
            a->outcomes[i].why = why_not_now(a, &a->outcomes[i]);
}

/* For recordings without predictions. The visible cost of a finding's cause is no upper bound for
 * the saving, because other work moves up. The replay with all of the cause removed gives one. */
static void raise_bounds(struct advice *a, struct engine *x)
{
    for (size_t i = 0; x->g->count && i < a->outcome_count; i++) {
        struct outcome *o = &a->outcomes[i];
        if (o->verdict != RULE_FIRES || !o->edit.kind)
            continue;
        predict_raise_bound(o, engine_most(x, &o->edit));
    }
}

struct span_ns predict_calibrated(const struct advice *a, struct engine *x, const struct outcome *o,
                                  struct span_ns s)
{
    return widen_by_ledger(a, s, &o, 1, engine_within(engine_most(x, &o->edit), o->limit_ns));
}

/* Widens the predictions of findings by what the ledger of real cards shows. */
static void calibrate(const struct advice *a, struct engine *x)
{
    for (size_t i = 0; i < a->outcome_count; i++) {
        struct outcome *o = &a->outcomes[i];
        if (o->verdict != RULE_FIRES || !o->edit.kind || o->upper_bound || o->edit.best_case)
            continue;
        struct span_ns s = {o->saves_low_ns, o->saves_mid_ns, o->saves_high_ns, o->least_ns};
        struct span_ns wide = predict_calibrated(a, x, o, s);
        o->ledger_low_ns = s.low_ns - wide.low_ns;
        o->ledger_high_ns = wide.high_ns - s.high_ns;
        o->saves_low_ns = wide.low_ns;
        o->saves_high_ns = wide.high_ns;
    }
}

int predict_each(struct advice *a, struct engine *x, const struct past_trials *past, struct err *e)
{
    if ((past && past_learn(a, past, e) < 0) ||
        engine_open(x, a->facts, &a->arena, &a->whatif, e) < 0)
        return -1;
    if (engine_check(x, &a->whatif) < 0)
        return err_no_memory(e);
    for (size_t i = 0; i < a->outcome_count; i++)
        if (a->outcomes[i].verdict == RULE_FIRES || a->outcomes[i].later)
            edit_find(&a->outcomes[i].edit, x->g, &a->arena);
    if (!a->whatif.trusted) {
        raise_bounds(a, x);
        return 0;
    }
    engine_take_cost_out(x, &a->whatif);
    engine_unstack(x, &a->whatif);
    predict_all(a, x);
    put_off(a);
    calibrate(a, x);
    return 0;
}

void predict_together(struct advice *a, struct engine *x)
{
    if (!a->whatif.trusted)
        return;
    predict_stack(a, x);
    explain_stack(a);
    suppress_later(a);
    explain_put_off(a);
}

int advice_together(struct advice *a, const struct outcome *const *o, size_t n,
                    struct span_ns *saved, struct err *e)
{
    bool known = a->whatif.trusted && n > 0;
    for (size_t i = 0; i < n; i++)
        known = known && o[i]->edit.kind && !o[i]->upper_bound;
    if (!known)
        return 0;
    struct engine x;
    struct whatif w;
    int rc = engine_open(&x, a->facts, &a->arena, &w, e);
    if (rc == 0) {
        engine_take_cost_out(&x, &a->whatif);
        *saved = predict_span(a, &x, o, n);
    }
    engine_close(&x);
    return rc < 0 ? -1 : 1;
}
