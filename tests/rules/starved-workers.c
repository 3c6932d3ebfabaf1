/* When starved-workers fires, when it stays silent or is refused, when it cannot tell. */
#include "tests/rules/cores.h"
#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"

START_TEST(cannot_tell)
{
    case_cannot_tell(fill_waits, "kernels,api", "starved-workers");
}
END_TEST

Suite *rule_starved_workers_suite(void)
{
    Suite *s = suite_create("starved-workers");
    TCase *t = tcase_create("starved-workers");
    tcase_add_test(t, cannot_tell);
    suite_add_tcase(s, t);
    return s;
}
