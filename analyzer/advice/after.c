/* Replays single changes and returns a step after each, event by event, for pictures. */
#include "analyzer/advice/advice.h"
#include "analyzer/advice/limits.h"

#include "analyzer/whatif/engine.h"

/* Returns true if the picture saves about what the finding says, within ADVICE_PICTURE_PCT of the
 * step. Otherwise the two would contradict each other. */
static bool agrees(const struct advice *a, const struct outcome *o, const struct replayed_step *r)
{
    int64_t step = a->facts->step_ns, slack = step * ADVICE_PICTURE_PCT / 100;
    double share = r->recorded_pace_ns > 0 ? (double)r->pace_ns / (double)r->recorded_pace_ns : 1;
    int64_t saved = step - (int64_t)(share * (double)step);
    return saved >= o->saves_low_ns - slack && saved <= o->saves_high_ns + slack;
}

static bool predicted(const struct outcome *o)
{
    return o->verdict == RULE_FIRES && o->edit.kind && !o->upper_bound && !o->edit.best_case;
}

int advice_after(const struct advice *a, const struct outcome *const *o, size_t n,
                 struct after *out, struct err *e)
{
    struct engine x;
    struct whatif w;
    struct arena texts = {0};
    int found = 0, rc = 0;
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any |= predicted(o[i]);
    if (!any || !a->whatif.trusted)
        return 0;
    rc = engine_open(&x, a->facts, &texts, &w, e) < 0 ? -1 : 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct after *one = &out[found];
        if (!predicted(o[i]))
            continue;
        one->outcome = o[i];
        int done = engine_replayed(&x, &o[i]->edit, &one->step);
        if (done == 1 && agrees(a, o[i], &one->step)) {
            found++;
            continue;
        }
        replayed_release(&one->step);
        rc = done < 0 ? err_no_memory(e) : 0;
    }
    engine_close(&x);
    arena_release(&texts);
    if (rc < 0)
        advice_after_release(out, (size_t)found);
    return rc < 0 ? -1 : found;
}

void advice_after_release(struct after *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        replayed_release(&all[i].step);
}
