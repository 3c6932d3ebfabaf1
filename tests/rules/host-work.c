/* When host-work fires, when it stays silent or is refused, when it cannot tell. */
#include "tests/rules/cores.h"
#include "tests/rules/trace.h"
#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"

/* 4 ms of 10 in which the host does not launch; the queue is dry. */
static void fill_absence(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + MS(4), at + MS(4) + US(10), US(5980));
}

START_TEST(test_no_core_is_no_host_work)
{
    static const double shares[] = {0.01, 0.4};
    for (int i = 0; i < 2; i++) {
        struct builder b = build_start();
        case_loop(&b, fill_absence);
        starve(&b, shares[i]);
        const struct advice *a = build_analyze(&b);
        ck_assert_int_eq(a->facts->host.starved_ns, (int64_t)(shares[i] * (double)MS(10)));
        case_verdict(a, "host-work", i ? RULE_SUPPRESSED : RULE_FIRES);
        ck_assert(i == 0 || strstr(case_outcome(a, "host-work")->why, "core"));
        build_end(&b);
    }
}
END_TEST

static void fill_host_work(struct builder *b, int64_t at)
{
    build_range(b, "postprocess", at, at + MS(4));
    build_kernel(b, case_gemm, at + MS(4), at + MS(4) + US(10), US(5980));
}

START_TEST(test_host_work)
{
    struct builder b = build_start();
    case_loop(&b, fill_host_work);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "host-work", MS(4));
    ck_assert_ptr_nonnull(strstr(o->summary, "'postprocess'"));
    ck_assert_int_eq(o->error_class, ERROR_RERUN_DECIDES);
    QUIET(a, "num-workers", "sync-in-loop", "cuda-graphs", "warm-up");
    build_end(&b);
}
END_TEST

START_TEST(test_no_host_work)
{
    struct builder b = build_start();
    case_loop(&b, case_busy);
    case_verdict(build_analyze(&b), "host-work", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(case_busy, "kernels,ranges", "host-work");
}
END_TEST

Suite *rule_host_work_suite(void)
{
    Suite *s = suite_create("host-work");
    TCase *t = tcase_create("host-work");
    tcase_add_test(t, test_no_core_is_no_host_work);
    tcase_add_test(t, test_host_work);
    tcase_add_test(t, test_no_host_work);
    suite_add_tcase(s, t);
    return s;
}
