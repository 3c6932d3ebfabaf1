/* Cases for rules: a loop of equal steps that a function fills, and the outcome of each rule on
 * it. */
#ifndef GPUPROF_TESTS_RULE_CASE_H
#define GPUPROF_TESTS_RULE_CASE_H

#include "tests/unit/test.h"
#include "analyzer/advice/advice.h"
#include "tests/unit/build_timeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CASE_STEPS = 12 };

typedef void case_fill(struct builder *b, int64_t start);

/* CASE_STEPS steps of 10 ms, marked by ranges. */
static inline void case_loop(struct builder *b, case_fill *fill)
{
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100) + MS(10) * i;
        fill(b, at);
        build_range(b, "step", at, at + MS(10));
    }
}

/* Analyses that loop, with `value` recorded under `key`; key NULL: with nothing recorded. */
static inline const struct advice *case_advice_with(case_fill *fill, const char *key,
                                                    const char *value)
{
    struct builder b = build_start();
    if (key)
        build_meta(&b, key, value);
    case_loop(&b, fill);
    return build_analyze(&b);
}

static inline const struct advice *case_advice(case_fill *fill)
{
    return case_advice_with(fill, NULL, NULL);
}

static inline const struct outcome *case_outcome(const struct advice *a, const char *id)
{
    for (size_t i = 0; i < a->outcome_count; i++)
        if (strcmp(a->outcomes[i].rule->id, id) == 0)
            return &a->outcomes[i];
    ck_abort_msg("no rule %s", id);
    return NULL;
}

/* The interval as it was replayed, before misses on real cards widened it. */
static inline struct span_ns case_replayed(const struct outcome *o)
{
    return (struct span_ns){.low_ns = o->saves_low_ns + o->ledger_low_ns,
                            .mid_ns = o->saves_mid_ns,
                            .high_ns = o->saves_high_ns - o->ledger_high_ns};
}

/* rule_cases.sh counts which verdicts of which rule have a case. */
static inline void case_note(const char *test, const char *id, const char *verdict)
{
    const char *path = getenv("GPUPROF_RULE_CASES");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (f) {
        fprintf(f, "%s\t%s\t%s\n", id, verdict, test);
        fclose(f);
    }
}

#define case_verdict(a, id, v)        case_verdict_of(__func__, a, id, v)
#define case_first(a, id, ns)         case_first_of(__func__, a, id, ns)
#define case_cannot_tell(fill, h, id) case_cannot_tell_of(__func__, fill, h, id)

static inline const struct outcome *case_verdict_of(const char *test, const struct advice *a,
                                                    const char *id, enum verdict v)
{
    static const char *const names[] = {"silent", "fires", "suppressed", "cannot tell"};
    const struct outcome *o = case_outcome(a, id);
    ck_assert_msg(o->verdict == v, "%s: %s, not %s (%s; %s)", id, names[o->verdict], names[v],
                  o->why ? o->why : "-", o->summary ? o->summary : "-");
    ck_assert_msg(v == RULE_FIRES || (o->why && o->why[0]), "%s does not say why", id);
    case_note(test, id, names[v]);
    if (v != RULE_FIRES)
        return o;
    ck_assert_msg(o->summary && o->summary[0] && o->evidence_count > 0, "%s: no evidence", id);
    ck_assert(o->words[FRAMEWORK_PYTORCH] && o->words[FRAMEWORK_XLA] && o->words[FRAMEWORK_CUDA]);
    ck_assert(o->saves_low_ns <= o->saves_mid_ns && o->saves_mid_ns <= o->saves_high_ns);
    ck_assert_int_le(o->saves_high_ns, outcome_of_ns(a->facts, o));
    return o;
}

static inline void case_does(const struct outcome *o, enum action action)
{
    ck_assert_str_eq(action_id(o->remedy.action), action_id(action));
}

static inline void case_said(const struct outcome *o, enum condition which, bool so)
{
    ck_assert_msg(o->remedy.conditions[which] == so, "%s", condition_id(which));
}

/* Checks a text parameter of the remedy; NULL: it must not be set. */
static inline void case_text(const struct outcome *o, enum param key, const char *text)
{
    ck_assert_pstr_eq(o->remedy.params[key].text, text);
}

/* Checks that the remedy sets n workers. */
static inline void case_workers(const struct outcome *o, int64_t n)
{
    case_does(o, ACTION_SET_WORKERS);
    ck_assert_int_eq(o->remedy.params[PARAM_WORKERS].number, n);
}

/* The value of the evidence with this text. */
static inline double case_value(const struct outcome *o, const char *text)
{
    for (size_t i = 0; i < o->evidence_count; i++)
        if (strcmp(o->evidence[i].text, text) == 0)
            return o->evidence[i].value;
    ck_abort_msg("%s has no evidence '%s'", o->rule->id, text);
    return -1;
}

/* Checks that value within `tolerance`. */
static inline void case_measures(const struct outcome *o, const char *text, double value,
                                 double tolerance)
{
    double told = case_value(o, text);
    ck_assert_msg(fabs(told - value) <= tolerance, "%s: %g, not %g", text, told, value);
}

/* Checks that the rule fires, comes first in its group (lost time, or cheaper computing) apart from
 * rules that only stand in, and promises a saving of up to `ns` (within 5 %). */
static inline const struct outcome *case_first_of(const char *test, const struct advice *a,
                                                  const char *id, int64_t ns)
{
    const struct outcome *o = case_verdict_of(test, a, id, RULE_FIRES);
    size_t i = 0;
    while (i < a->ranked_count && (a->ranked[i]->rule->cheaper != o->rule->cheaper ||
                                   (a->ranked[i]->rule->stands_in && a->ranked[i] != o)))
        i++;
    ck_assert_uint_lt(i, a->ranked_count);
    ck_assert_msg(a->ranked[i] == o, "%s is first of its group, not %s", a->ranked[i]->rule->id,
                  id);
    ck_assert_msg(llabs(o->saves_high_ns - ns) * 20 <= ns, "%s: up to %lld ns, not %lld", id,
                  (long long)o->saves_high_ns, (long long)ns);
    return o;
}

/* Checks that none of the rules `ids` (NULL-terminated) fires: one bottleneck must not be found
 * twice. */
static inline void case_quiet(const struct advice *a, const char *const *ids)
{
    for (; *ids; ids++)
        ck_assert_msg(case_outcome(a, *ids)->verdict != RULE_FIRES, "%s fires, too: %s", *ids,
                      case_outcome(a, *ids)->summary);
}

/* Checks that a rule that lacks data cannot tell, and says which data is missing. */
static inline void case_cannot_tell_of(const char *test, case_fill *fill, const char *have,
                                       const char *id)
{
    case_verdict_of(test, case_advice_with(fill, "have", have), id, RULE_CANNOT_TELL);
}

/* A kernel on tensor cores to which no rule objects. */
static const char case_gemm[] = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_tn";

/* A step in which such a kernel takes 97 %, queued ahead. */
static inline void case_busy(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + US(10), at + US(100), US(9850));
}

#endif
