/* Cases of the rule slow-first-batch: when it fires, when it is silent, and when it cannot tell. No trainer
 * plants it: it only occurs with an IterableDataset of PyTorch. */
#include "tests/rules/feed.h"
#include "tests/unit/rule_case.h"

/* Loops of 8 steps of 10 ms. Starting the worker takes 5 ms, and the first batch 80 ms, of which others
 * take 8. */
static const struct advice *loops(const char *iterable, const char *persistent, double first_fetch)
{
    struct program p = usual;
    p.workers = 1;
    p.wait_ms = 1;
    p.rest_ms = 9;
    p.feed_loop = 8;
    p.begin_ms = 5;
    p.first_ms = 84;
    p.first_fetch_ms = first_fetch;
    struct builder b = feed_loop(&p);
    build_meta(&b, "torch.loader.1", persistent);
    build_meta(&b, "torch.loader.1.where", "train.py:41");
    build_meta(&b, "torch.loader.1.dataset", "Stream.__iter__ train.py:18");
    if (iterable)
        build_meta(&b, "torch.loader.1.iterable", iterable);
    return build_analyze(&b);
}

static const char one[] = "DataLoader(num_workers=1, persistent_workers=False)",
                  kept[] = "DataLoader(num_workers=1, persistent_workers=True)";

TEST(a_buffer_that_is_filled_anew)
{
    const struct advice *a = loops("shards", one, 80);
    const struct outcome *o = case_verdict(a, "slow-first-batch", RULE_FIRES);
    case_does(o, ACTION_OPEN_DATA_ONCE);
    ck_assert_ptr_nonnull(strstr(o->summary, "waits 72 ms more"));
    ck_assert_ptr_nonnull(strstr(o->summary, "Stream.__iter__ train.py:18 does that anew"));
    double share = (double)o->saves_high_ns / (double)a->facts->step_ns;
    ck_assert(o->upper_bound && share > 0.36 && share < 0.45); /* 72 of 168 ms */
    /* Keeping the worker saves its start alone: 9 ms. */
    o = case_outcome(a, "worker-startup");
    ck_assert(o->verdict == RULE_FIRES &&
              (double)o->saves_high_ns < 0.06 * (double)a->facts->step_ns);
}

TEST(kept_workers_fill_it_anew_as_well)
{
    case_verdict(loops("", kept, 80), "slow-first-batch", RULE_FIRES);
}

/* Here starting takes long, not the batch. */
TEST(a_slow_start)
{
    const struct advice *a = loops("shards", one, 8);
    case_verdict(a, "slow-first-batch", RULE_SILENT);
    const struct outcome *o = case_verdict(a, "worker-startup", RULE_FIRES);
    ck_assert((double)o->saves_high_ns > 0.3 * (double)a->facts->step_ns);
}

/* Of other data sets kept workers may keep what was opened. */
TEST(a_data_set_with_an_index)
{
    case_verdict(loops(NULL, one, 80), "slow-first-batch", RULE_SILENT);
    case_verdict(case_advice_with(case_busy, "have", "kernels,api"), "slow-first-batch",
                 RULE_CANNOT_TELL);
}
