/* Asks every rule, then ranks what fires. Findings that save less than 1 % of the step at best are
 * not worth anybody's time and fall silent. */
#include "analyzer/analyze/passes.h"
#include "analyzer/rules/rule.h"

#include <stdlib.h>
#include <string.h>

/* What the rule needs and the profile lacks, in words. In the order of enum have. */
static const char *missing_text(struct analysis *a, uint32_t missing)
{
    static const char *const what[] = {"kernels",
                                       "copies",
                                       "the kinds of memory copied from and to",
                                       "CUDA calls",
                                       "synchronisations",
                                       "events",
                                       "NVTX ranges",
                                       "library calls",
                                       "data loading",
                                       "steps",
                                       "the GPU's properties",
                                       "memsets",
                                       "collectives",
                                       "all ranks",
                                       "samples of the host",
                                       "memory use"};
    char *text = arena_alloc(&a->arena, 512);
    if (!text)
        return "data is missing";
    strcpy(text, "not recorded: ");
    for (size_t i = 0, n = 0; i < sizeof what / sizeof *what; i++)
        if (missing >> i & 1) {
            strcat(text, n++ ? ", " : "");
            strcat(text, what[i]);
        }
    return text;
}

static uint32_t have_of(const struct analysis *a)
{
    uint32_t have = a->tl->have & ~(uint32_t)HAVE_STEPS;
    return a->steps.source == STEPS_NONE ? have : have | HAVE_STEPS;
}

static void ask(struct analysis *a, struct outcome *o)
{
    uint32_t missing = o->rule->needs & ~have_of(a);
    if (missing) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = missing_text(a, missing);
        return;
    }
    o->rule->check(a, o);
    if (o->verdict != RULE_FIRES)
        return;
    if (o->saves_high_ns * 100 < a->steps.median_ns) {
        o->verdict = RULE_SILENT;
        o->why = arena_printf(&a->arena, "would save at most %.3f ms, under 1 %% of the step",
                              (double)o->saves_high_ns / 1e6);
    }
}

/* Predictions compete by what they save at least. Upper bounds compete by their middle: all of it
 * where the time is idle or exposed (structural), half where kernels would only become faster by an
 * unknown amount. */
static int64_t worth(const struct outcome *o)
{
    return o->upper_bound ? o->saves_mid_ns : o->saves_low_ns;
}

static int by_worth(const void *a, const void *b)
{
    const struct outcome *x = *(const struct outcome *const *)a;
    const struct outcome *y = *(const struct outcome *const *)b;
    if (worth(x) != worth(y))
        return worth(x) < worth(y) ? 1 : -1;
    return strcmp(x->rule->id, y->rule->id);
}

int rules_run(struct analysis *a, struct err *e)
{
    a->outcomes = arena_array(&a->arena, rule_count, sizeof *a->outcomes);
    a->ranked = arena_array(&a->arena, rule_count, sizeof *a->ranked);
    if (!a->outcomes || !a->ranked)
        return no_memory(e);
    a->outcome_count = rule_count;
    for (size_t i = 0; i < rule_count; i++) {
        a->outcomes[i].rule = rules[i];
        ask(a, &a->outcomes[i]);
    }
    if (whatif_run(a, e) < 0)
        return -1;
    for (size_t i = 0; i < rule_count; i++)
        if (a->outcomes[i].verdict == RULE_FIRES)
            a->ranked[a->ranked_count++] = &a->outcomes[i];
    if (a->ranked_count)
        qsort(a->ranked, a->ranked_count, sizeof *a->ranked, by_worth);
    return 0;
}
