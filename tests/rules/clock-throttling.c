/* Cases of the rule clock-throttling: when it fires, when it is silent or suppressed, and when it
 * cannot tell. No trainer plants it: a slow clock is an option of the virtual GPU. */
#include "tests/rules/gauges.h"
#include "tests/unit/rule_case.h"

TEST(test_clock)
{
    static const struct {
        int64_t mhz, reasons;
        enum verdict verdict;
    } cases[] = {{1128, 0x40, RULE_FIRES},      /* heat: 1128 of 1410 MHz */
                 {1128, 0x4, RULE_FIRES},       /* power */
                 {1128, 0x1, RULE_SILENT},      /* idle */
                 {1128, 0x2, RULE_SILENT},      /* the user's own choice */
                 {1400, 0x4, RULE_SILENT},      /* at the limit, and nearly at full clock */
                 {0, 0, RULE_CANNOT_TELL},      /* no samples */
                 {1128, -1, RULE_CANNOT_TELL}}; /* no reasons */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct builder b;
        const struct advice *a =
            gauged(&b, case_busy, cases[i].mhz, cases[i].reasons, (int64_t)70 << 30);
        case_verdict(a, "clock-throttling", cases[i].verdict);
        if (i == 0) {
            const struct outcome *o = case_outcome(a, "clock-throttling");
            ck_assert_int_le(llabs(o->saves_high_ns - US(9850 / 5)), US(20));
            ck_assert_ptr_nonnull(strstr(o->summary, "heat"));
        }
    }
}
