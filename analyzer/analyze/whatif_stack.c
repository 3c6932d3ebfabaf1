/* The order in which the findings' changes are made, and what is saved by each on top of those
 * before it. */
#include "analyzer/analyze/engine.h"

#include "analyzer/rules/rule.h"

/* First the one that saves most, then the one that saves most on top of it, and so on. */
void engine_stack(struct engine *x, struct whatif *w)
{
    const struct outcome *chosen[16];
    int64_t sum = 0;
    while (w->stack_count < 16) {
        const struct outcome *best = NULL;
        int64_t most = INT64_MIN;
        for (size_t i = 0; i < x->a->outcome_count; i++) {
            const struct outcome *o = &x->a->outcomes[i];
            bool taken = !engine_open_to(o);
            for (size_t k = 0; k < w->stack_count; k++)
                taken |= chosen[k] == o;
            if (taken)
                continue;
            chosen[w->stack_count] = o;
            int64_t saves = engine_to_median(x, engine_saved_by(x, chosen, w->stack_count + 1, 0));
            if (saves > most) {
                most = saves;
                best = o;
            }
        }
        if (!best || (most - sum) * 100 < x->a->steps.median_ns)
            return;
        chosen[w->stack_count] = best;
        int64_t step = x->a->steps.median_ns;
        struct span_ns s = w->stack_count ? engine_span(x, chosen, w->stack_count + 1)
                                          : (struct span_ns){best->saves_low_ns, best->saves_mid_ns,
                                                             best->saves_high_ns};
        w->stack[w->stack_count++] = (struct stacked){.outcome = best,
                                                      .step_ns = step - engine_within(most, step),
                                                      .step_low_ns = step - s.high_ns,
                                                      .step_high_ns = step - s.low_ns,
                                                      .saves_ns = most - sum};
        sum = most;
    }
}
