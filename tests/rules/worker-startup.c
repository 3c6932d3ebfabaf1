/* When worker-startup fires, when it stays silent or is refused, when it cannot tell. */
#include "tests/rules/feed.h"
#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"

START_TEST(workers_started_in_each_loop)
{
    struct program p = usual;
    p.workers = 2;
    p.wait_ms = 0.5;
    p.rest_ms = 9;
    p.feed_loop = 8;
    p.begin_ms = 40;
    p.first_ms = 60;
    p.end_ms = 10;
    struct builder b = feed_loop(&p);
    build_meta(&b, "torch.loader.1", "DataLoader(num_workers=2, persistent_workers=False)");
    build_meta(&b, "torch.loader.1.start", "spawn");
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "worker-startup", RULE_FIRES);
    const struct outcome *o = case_outcome(a, "worker-startup");
    ck_assert_str_eq(o->setting, "persistent_workers=1");
    ck_assert_ptr_nonnull(strstr(o->remedy.pytorch, "\"fork\""));
    double share = (double)o->saves_mid_ns / (double)a->facts->step_ns; /* 102 of 173 ms a loop */
    ck_assert(share > 0.4 && share < 0.62 && !o->upper_bound);
    case_verdict(a, "data-loading", RULE_SUPPRESSED);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "data-loading")->why, "worker-startup"));
    build_end(&b);

    b = feed_loop(&p);
    build_meta(&b, "torch.loader.1", "DataLoader(num_workers=2, persistent_workers=True)");
    case_verdict(build_analyze(&b), "worker-startup", RULE_SILENT);
    build_end(&b);

    b = feed_loop(&p);
    build_meta(&b, "torch.loader.1", "DataLoader(num_workers=2, persistent_workers=False)");
    build_meta(&b, "torch.loader.1.anew", "made anew for each loop");
    o = case_outcome(build_analyze(&b), "worker-startup");
    ck_assert(o->verdict == RULE_FIRES && !o->setting && strstr(o->remedy.pytorch, "once"));
    build_end(&b);

    b = build_start();
    build_meta(&b, "have", "kernels,api");
    case_loop(&b, case_busy);
    case_verdict(build_analyze(&b), "worker-startup", RULE_CANNOT_TELL);
    build_end(&b);
}
END_TEST

Suite *rule_worker_startup_suite(void)
{
    Suite *s = suite_create("worker-startup");
    TCase *t = tcase_create("worker-startup");
    tcase_add_test(t, workers_started_in_each_loop);
    suite_add_tcase(s, t);
    return s;
}
