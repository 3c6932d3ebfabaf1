/* What the interval of a prediction is made from, in one line. */
#include "report/words/text.h"

const char *text_interval(struct text *b, const struct advice *a, const struct outcome *x)
{
    size_t steps = a->whatif.steps;
    struct text low, high;
    if (x->upper_bound || !x->edit.kind || x->edit.best_case)
        return NULL;
    int n = snprintf(b->s, sizeof b->s,
                     "interval: %zu recorded %s%s replayed%s, on hosts of other paces%s%s", steps,
                     a->whatif.once ? "window" : "step", steps == 1 ? "" : "s",
                     x->edit.kind->certain ? "" : ", unknowns drawn",
                     a->whatif.wider ? "; wider for what is missing" : "",
                     x->widened_ns > 0 ? ", and by past trials" : "");
    if (x->ledger_low_ns > 0 || x->ledger_high_ns > 0)
        snprintf(b->s + n, sizeof b->s - (size_t)n,
                 "; %.20s lower, %.20s higher after misses on real cards",
                 text_ms(&low, x->ledger_low_ns), text_ms(&high, x->ledger_high_ns));
    return b->s;
}
