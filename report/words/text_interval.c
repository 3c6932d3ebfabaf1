/* What the interval of a prediction is made of, in one line. */
#include "report/words/text.h"

const char *text_interval(struct text *b, const struct advice *a, const struct outcome *x)
{
    size_t steps = a->whatif.steps;
    if (x->upper_bound || !x->edit.kind || x->edit.best_case)
        return NULL;
    snprintf(b->s, sizeof b->s,
             "interval: %zu recorded step%s replayed%s, on hosts of other paces%s%s", steps,
             steps == 1 ? "" : "s",
             x->edit.kind->certain ? "" : ", what nobody knows of the change drawn from its range",
             a->whatif.wider ? "; wider for what is missing (\"Wider intervals\")" : "",
             x->widened_ns > 0 ? ", and by past trials" : "");
    return b->s;
}
