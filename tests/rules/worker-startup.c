/* Cases of the rule worker-startup: when it fires, when it is silent or suppressed, and when it
 * cannot tell. No trainer plants it: it only occurs in Python programs (tests/python). */
#include "tests/rules/feed.h"
#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"

TEST(workers_started_in_each_loop)
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
    const struct outcome *o = case_verdict(a, "worker-startup", RULE_FIRES);
    ck_assert_str_eq(o->setting, "persistent_workers=1");
    case_does(o, ACTION_KEEP_WORKERS);
    case_text(o, PARAM_START_METHOD, "spawn");
    double share = (double)o->saves_mid_ns / (double)a->facts->step_ns; /* 102 of 173 ms a loop */
    ck_assert(share > 0.4 && share < 0.62 && !o->upper_bound);
    case_verdict(a, "data-loading", RULE_SUPPRESSED);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "data-loading")->why, "worker-startup"));

    b = feed_loop(&p);
    build_meta(&b, "torch.loader.1", "DataLoader(num_workers=2, persistent_workers=True)");
    case_verdict(build_analyze(&b), "worker-startup", RULE_SILENT);

    b = feed_loop(&p);
    build_meta(&b, "torch.loader.1", "DataLoader(num_workers=2, persistent_workers=False)");
    build_meta(&b, "torch.loader.1.anew", "made anew for each loop");
    o = case_outcome(build_analyze(&b), "worker-startup");
    ck_assert(o->verdict == RULE_FIRES && !o->setting);
    case_does(o, ACTION_CREATE_LOADER_ONCE);

    case_verdict(case_advice_with(case_busy, "have", "kernels,api"), "worker-startup",
                 RULE_CANNOT_TELL);
}

/* fastai hands PyTorch a loader of its own for each loop: nothing keeps its workers. */
TEST(a_class_of_a_library)
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
    build_meta(&b, "torch.loader.1", "Fake(num_workers=2, persistent_workers=False)");
    build_meta(&b, "torch.loader.made", "other.py:1"); /* of another loader */
    build_meta(&b, "torch.loader.1.by", "fastai");
    build_meta(&b, "torch.loader.1.foreign", "handed to PyTorch's iterators");
    const struct outcome *o = case_outcome(build_analyze(&b), "worker-startup");
    ck_assert(o->verdict == RULE_FIRES && !o->setting && o->upper_bound);
    case_does(o, ACTION_USE_FEWER_WORKERS);
    ck_assert(o->remedy.object.fixed && !o->remedy.object.place);
    ck_assert_str_eq(o->remedy.object.made_by, "fastai");
}

static void made_by(const char *by, bool foreign)
{
    struct builder b = feed_loop(&usual);
    build_meta(&b, foreign ? "torch.loader.made" : "torch.loader.1.made", "a.py:1");
    build_meta(&b, "torch.loader.1.by", by);
    if (foreign)
        build_meta(&b, "torch.loader.1.foreign", "handed to PyTorch's iterators");
    const struct outcome *o = case_outcome(build_analyze(&b), "data-loading");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    case_workers(o, 3);
    ck_assert_str_eq(o->remedy.object.made_by, by);
    ck_assert_pstr_eq(o->remedy.object.place, foreign ? NULL : "a.py:1");
    ck_assert_int_eq(o->setting == NULL, foreign);
}

TEST(a_loader_that_a_library_makes)
{
    made_by("sentence_transformers transformers", false);
    made_by("fastai", true);
    struct builder b = feed_loop(&usual);
    build_meta(&b, "torch.loader.1.by", "ultralytics");
    const struct outcome *o = case_outcome(build_analyze(&b), "data-loading");
    ck_assert(o->verdict == RULE_SUPPRESSED && strstr(o->why, "ultralytics starts no workers"));
}
