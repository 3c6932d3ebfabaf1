#include "analyzer/advice/rule.h"

#include <string.h>

const struct rule *rule_find(const char *id)
{
    for (size_t i = 0; i < rule_count; i++)
        if (strcmp(rules[i]->id, id) == 0)
            return rules[i];
    return NULL;
}

void outcome_evidence(struct outcome *o, const char *text, double value, const char *unit,
                      const char *sql)
{
    if (o->evidence_count < sizeof o->evidence / sizeof *o->evidence)
        o->evidence[o->evidence_count++] = (struct evidence){text, value, unit, sql};
}

void outcome_example(struct outcome *o, int64_t start_ns, int64_t end_ns, const char *text,
                     uint32_t op)
{
    if (o->example_count < sizeof o->examples / sizeof *o->examples)
        o->examples[o->example_count++] = (struct example){start_ns, end_ns, text, op};
}

void outcome_example_op(struct outcome *o, const struct timeline *t, uint32_t op, const char *text)
{
    if (op != TL_NONE)
        outcome_example(o, t->ops[op].start_ns, t->ops[op].end_ns, text, op);
}

void outcome_example_call(struct outcome *o, const struct timeline *t, uint32_t api,
                          const char *text)
{
    if (api != TL_NONE)
        outcome_example(o, t->apis[api].start_ns, t->apis[api].end_ns, text, TL_NONE);
}

void outcome_fires(struct outcome *o, int64_t exclusive_ns, const char *summary)
{
    o->verdict = RULE_FIRES;
    o->summary = summary;
    o->saves_low_ns = 0;
    o->saves_mid_ns = o->error_class == ERROR_STRUCTURAL ? exclusive_ns : exclusive_ns / 2;
    o->saves_high_ns = exclusive_ns;
    o->upper_bound = true;
    if (!o->remedy.pytorch)
        o->remedy = o->rule->remedy;
}
