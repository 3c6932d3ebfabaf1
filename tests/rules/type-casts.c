/* When type-casts fires, when it stays silent or is refused, when it cannot tell. */
#include "tests/rules/phase.h"
#include "tests/unit/rule_case.h"

static void fill_few_casts(struct builder *b, int64_t at)
{
    many(b, cast, at, 3, US(100));
}

START_TEST(test_casts)
{
    struct builder b = build_start();
    case_loop(&b, fill_casts);
    case_first(build_analyze(&b), "type-casts", US(500));
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_few_casts);
    case_verdict(build_analyze(&b), "type-casts", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(fill_casts, "copies,api,ranges", "type-casts");
}
END_TEST

Suite *rule_type_casts_suite(void)
{
    Suite *s = suite_create("type-casts");
    TCase *t = tcase_create("type-casts");
    tcase_add_test(t, test_casts);
    suite_add_tcase(s, t);
    return s;
}
