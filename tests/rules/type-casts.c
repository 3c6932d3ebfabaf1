/* Cases of the rule type-casts: when it fires, when it is silent or suppressed, and when it cannot
 * tell. */
#include "tests/rules/phase.h"
#include "tests/unit/rule_case.h"

static void fill_few_casts(struct builder *b, int64_t at)
{
    many(b, cast, at, 3, US(100));
}

/* Weights of many values, unpacked into the wrong type. */
static void fill_long_casts(struct builder *b, int64_t at)
{
    many(b, cast, at, 3, US(500));
}

static int64_t cast_ns, other_ns; /* of 40 casts each */

static void fill_two_kinds(struct builder *b, int64_t at)
{
    many(b, cast, at, 40, cast_ns);
    many(b, cast, at + 40 * cast_ns, 40, other_ns);
}

/* The remedy says what most of the time goes to. */
TEST(test_remedies)
{
    static const struct {
        int64_t one, other;
        bool weights_first;
    } c[] = {{US(4), US(10), true}, {US(40), US(60), false}, {US(15), US(21), false}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        cast_ns = c[i].one, other_ns = c[i].other;
        const struct advice *a = case_advice(fill_two_kinds);
        case_said(case_outcome(a, "type-casts"), CONDITION_OF_WEIGHTS, c[i].weights_first);
    }
}

TEST(test_casts)
{
    case_first(case_advice(fill_casts), "type-casts", US(500));
    case_verdict(case_advice(fill_few_casts), "type-casts", RULE_SILENT);
    case_first(case_advice(fill_long_casts), "type-casts", US(1500));
    case_cannot_tell(fill_casts, "copies,api,ranges", "type-casts");
}
