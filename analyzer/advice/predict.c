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

/* Raises the finding's bound from what it measured to `most`, but not above its limit. It adds
 * evidence that explains this, because a bound above the finding's own evidence looks like a
 * contradiction. Kinds with bounded_by_cause explain it themselves. */
static void raise_bound(struct outcome *o, int64_t most)
{
    enum { SHOWS = 200 }; /* a difference of one part in 200 shows in the third digit */
    int64_t more = engine_within(most, o->limit_ns) - o->saves_high_ns;
    if (more <= 0)
        return;
    if (more * SHOWS > most && !o->edit.kind->bounded_by_cause)
        outcome_evidence_per(o, "more at most, because other work moves up,", (double)more / 1e6,
                             "ms", NULL);
    o->saves_high_ns += more;
}

/* It is not known how much of the change is possible. Sets the bound to what all of it saves, which
 * may exceed the visible cost of the cause, because other work moves up. */
static void bound_by(const struct advice *a, struct engine *x, struct outcome *o)
{
    const struct outcome *one = o;
    const struct edit *edit = &o->edit;
    struct span_ns s = widen_by_trials(a, engine_span(x, &a->whatif, &edit, 1), &one, 1);
    int64_t most = engine_most(x, &o->edit);
    most = most > s.high_ns ? most : s.high_ns;
    raise_bound(o, most);
    if (o->edit.kind->bounded_by_cause)
        return;
    o->saves_high_ns = o->saves_high_ns < most ? o->saves_high_ns : most;
    o->saves_mid_ns = o->saves_mid_ns < most ? o->saves_mid_ns : most; /* it ranks by its cause */
}

/* The finding stays a bound. The engine's doubts about the steps do not make its cause larger, so
 * the bound grows only to what the best replay saves. */
static void bound_more(struct engine *x, struct outcome *o, int64_t high)
{
    int64_t most = engine_most(x, &o->edit);
    raise_bound(o, most < high ? most : high);
}

/* Returns the high end for a prediction whose interval reaches beyond what the finding measured:
 * without the widening by the engine's doubts, but at least its middle and what the finding
 * measured. */
static int64_t high_within_replay(struct engine *x, const struct outcome *o, struct span_ns s)
{
    int64_t most = engine_most(x, &o->edit);
    most = most > o->saves_high_ns ? most : o->saves_high_ns;
    most = most > s.mid_ns ? most : s.mid_ns;
    return most < s.high_ns ? most : s.high_ns;
}

/* Copies can hide only behind the work beside them, and the rule has measured how much that is.
 * Limits the interval to it. */
static struct span_ns within_measured(const struct outcome *o, struct span_ns s)
{
    int64_t most = o->saves_high_ns;
    if (!o->edit.kind->within_measured || s.high_ns <= most)
        return s;
    s.low_ns = engine_within(s.low_ns, most);
    s.least_ns = engine_within(s.least_ns, most);
    int64_t middle = (s.least_ns + most) / 2;
    return (struct span_ns){s.low_ns, s.mid_ns < middle ? s.mid_ns : middle, most, s.least_ns};
}

/* Explains a saving above what the finding measured, which looks like a contradiction. Findings
 * about waits explain it themselves (predict_waits.c). */
static void explain_above(struct outcome *o, int64_t measured_ns)
{
    if (o->edit.kind->wait_by_wait || measured_ns <= 0 ||
        o->saves_mid_ns * 100 <= measured_ns * (100 + ADVICE_MORE_PCT))
        return;
    outcome_evidence(o, "of the saving, because launches and other work move up",
                     (double)(o->saves_mid_ns - measured_ns) / 1e6, "ms", NULL);
}

/* Limits the low end to the idle time of kind->sure_parts, which is sure to go. */
static struct span_ns within_sure(const struct facts *f, const struct edit_kind *kind,
                                  struct span_ns s)
{
    int64_t sure_ns = 0;
    for (int part = 0; part < PART_COUNT; part++)
        sure_ns += kind->sure_parts >> part & 1 ? f->breakdown_ns[part] : 0;
    if (kind->sure_parts && s.low_ns > sure_ns)
        s.low_ns = sure_ns;
    if (kind->sure_parts && s.least_ns > sure_ns)
        s.least_ns = sure_ns;
    return s;
}

/* Predicts what a finding's change saves, and replaces the finding's bound by the interval. If the
 * interval shows no more than the bound, the finding stays a bound. */
static void predict(struct advice *a, struct engine *x, struct outcome *o)
{
    const struct outcome *one = o;
    int64_t measured_ns = o->saves_high_ns;
    const struct edit *edit = &o->edit;
    struct span_ns own = within_sure(a->facts, edit->kind, engine_span(x, &a->whatif, &edit, 1));
    struct span_ns s = within_measured(o, widen_by_trials(a, own, &one, 1));
    /* If no wait of the host was recorded, the replay launches at the recorded times, as if the
     * host did not follow the GPU. If events are guessed, it may delay the host too much. In both
     * cases all of the measured waiting may go. */
    bool peer = edit->kind->measured_from_peer && (x->no_wait || a->whatif.events_guessed);
    if (peer && o->saves_high_ns > s.high_ns) {
        s.high_ns = o->saves_high_ns;
        s.mid_ns = (s.low_ns + s.high_ns) / 2;
    }
    if (a->whatif.wider && s.high_ns >= o->saves_high_ns && !peer) {
        if (s.low_ns == 0 && predict_negligible(a, s.mid_ns)) {
            bound_more(x, o, s.high_ns);
            return;
        }
        s.high_ns = high_within_replay(x, o, s);
    }
    o->own_low_ns = own.low_ns;
    o->own_high_ns = own.high_ns;
    o->saves_low_ns = s.low_ns;
    o->least_ns = s.least_ns;
    o->saves_mid_ns = s.mid_ns;
    o->saves_high_ns = s.high_ns;
    o->upper_bound = false;
    o->change = past_kind(a, edit->kind);
    o->limit_ns = edit->kind->within_measured ? measured_ns : o->limit_ns;
    o->widened_ns =
        (int64_t)(past_miss(a, o->edit.kind, &o->widened_after) * (double)a->facts->step_ns);
    if (edit->kind->wait_by_wait && !predict_negligible(a, o->saves_mid_ns))
        predict_waits(a, x, o);
    explain_above(o, measured_ns);
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
static void bound_unstacked(const struct advice *a, struct engine *x, struct outcome *o)
{
    int64_t most = engine_host_unstacked(x);
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
    predict(a, x, o);
    if (!both)
        return;
    predict(a, x, &lesser);
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
            bound_unstacked(a, x, o);
        if (!kind || (kind->needs_events && a->whatif.events_guessed))
            continue;
        if (kind->wait_by_wait)
            o->edit.spared = spared_by(a, o);
        if (predict_open_to(o)) {
            if (kind->lesser)
                predict_either(a, x, o);
            else
                predict(a, x, o);
            if (crowded && kind->of_host && !o->rule->no_core)
                keep_as_bound(o);
        } else if (o->verdict == RULE_FIRES && o->edit.best_case)
            bound_by(a, x, o);
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
        raise_bound(o, engine_most(x, &o->edit));
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
