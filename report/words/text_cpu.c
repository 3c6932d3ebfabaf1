/* Words for runs without a GPU. */
#include "analyzer/advice/rule.h"
#include "analyzer/facts/memory.h"
#include "report/words/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool text_has_parts(const struct advice *a)
{
    return a->facts->steps.used > 0 && (a->facts->tl->op_count > 0 || a->facts->on_cpu);
}

const char *text_rate(struct text *b, const struct advice *a)
{
    struct text each, all;
    int64_t n = a->facts->steps.batches ? facts_batch_samples(a->facts) : 0;
    if (!a->facts->on_cpu || a->facts->step_ns <= 0)
        return NULL;
    double rate = 1e9 / (double)a->facts->step_ns;
    snprintf(b->s, sizeof b->s, "%.60s %s per second", text_value(&each, rate, ""),
             scope_words(a->facts)->units);
    size_t used = strlen(b->s);
    if (n > 0)
        snprintf(b->s + used, sizeof b->s - used, ", %.60s samples per second (batches of %lld)",
                 rate * (double)n < 1000 ? text_value(&all, rate * (double)n, "")
                                         : text_count(&all, llround(rate * (double)n)),
                 (long long)n);
    return b->s;
}

size_t count_about_gpu(const struct advice *a, const struct export_options *o)
{
    size_t n = 0;
    for (size_t i = 0; i < a->outcome_count; i++) {
        const struct outcome *x = shown_outcome(a, o, i, RULE_CANNOT_TELL);
        n += x && outcome_wants_gpu(a->facts, x);
    }
    return n;
}
