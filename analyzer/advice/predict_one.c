/* Predicts what one finding's change saves: its interval, or what bounds it. */
#include "analyzer/advice/passes.h"
#include "analyzer/advice/past.h"

/* Raises the finding's bound from what it measured to `most`, but not above its limit. It adds
 * evidence that explains this, because a bound above the finding's own evidence looks like a
 * contradiction. Kinds with bounded_by_cause explain it themselves. */
void predict_raise_bound(struct outcome *o, int64_t most)
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
void predict_bound(const struct advice *a, struct engine *x, struct outcome *o)
{
    const struct outcome *one = o;
    const struct edit *edit = &o->edit;
    struct span_ns s = widen_by_trials(a, engine_span(x, &a->whatif, &edit, 1), &one, 1);
    int64_t most = engine_most(x, &o->edit);
    most = most > s.high_ns ? most : s.high_ns;
    predict_raise_bound(o, most);
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
    predict_raise_bound(o, most < high ? most : high);
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
void predict_one(struct advice *a, struct engine *x, struct outcome *o)
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
    o->usual_known = x->stacked != NULL;
    if (o->usual_known) {
        int64_t more = engine_usually_saved(x, edit);
        o->usual_mid_ns = engine_within(s.mid_ns + more, a->facts->step_ns);
        /* what is not known of a saving grows and shrinks with it */
        double as_much = s.mid_ns > 0 ? (double)o->usual_mid_ns / (double)s.mid_ns : 0;
        o->usual_least_ns = engine_within((int64_t)((double)s.least_ns * as_much), o->usual_mid_ns);
    }
    o->change = past_kind(a, edit->kind);
    o->limit_ns = edit->kind->within_measured ? measured_ns : o->limit_ns;
    o->widened_ns =
        (int64_t)(past_miss(a, o->edit.kind, &o->widened_after) * (double)a->facts->step_ns);
    if (edit->kind->wait_by_wait && !predict_negligible(a, o->saves_mid_ns))
        predict_waits(a, x, o);
    explain_above(o, measured_ns);
}
