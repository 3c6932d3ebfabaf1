/* Chooses between a change and its lesser form: 16-bit numbers, or TF32 alone, which is one line
 * and keeps the program's types. The finding predicts the one that saves more, and names the other
 * beside it. */
#include "analyzer/advice/passes.h"
#include "analyzer/queries/query.h"

static const char *saving(struct advice *a, struct engine *x, const struct outcome *o)
{
    struct span_ns s = {o->saves_low_ns, o->saves_mid_ns, o->saves_high_ns, o->least_ns};
    s = o->upper_bound ? s : predict_calibrated(a, x, o, s);
    const char *mid =
        predict_negligible(a, s.mid_ns) ? "next to nothing" : time_text(&a->arena, s.mid_ns);
    const char *high = time_text(&a->arena, s.high_ns);
    return s.low_ns > 0
               ? arena_printf(&a->arena, "%s (%s to %s)", mid, time_text(&a->arena, s.low_ns), high)
               : arena_printf(&a->arena, "%s (at most %s)", mid, high);
}

void predict_lesser(struct advice *a, struct engine *x, struct outcome *o,
                    const struct outcome *tf32)
{
    if (tf32->upper_bound || predict_negligible(a, tf32->saves_mid_ns))
        return;
    struct outcome whole = *o;
    bool more = query_of_pytorch(a->facts) &&
                !predict_negligible(a, tf32->saves_mid_ns - whole.saves_mid_ns);
    if (more)
        *o = *tf32;
    o->summary = more ? arena_printf(&a->arena,
                                     "%s. TF32 alone, which changes no types, saves more than 16 "
                                     "bits, whose casts take time: these save %s",
                                     whole.summary, saving(a, x, &whole))
                      : arena_printf(&a->arena, "%s. TF32 alone, which changes no types, saves %s",
                                     whole.summary, saving(a, x, tf32));
    remedy_text(&o->remedy, PARAM_TF32_SAVES, time_text(&a->arena, tf32->saves_mid_ns));
    o->remedy.conditions[CONDITION_TF32_FIRST] = more && !o->remedy.conditions[CONDITION_HAS_TF32];
    outcome_evidence_per(o, more ? "saved by 16 bits," : "saved by TF32 alone,",
                         (double)(more ? whole : *tf32).saves_mid_ns / 1e6, "ms", NULL);
}
