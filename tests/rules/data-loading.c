/* Cases of the rule data-loading: when it fires, when it is silent or suppressed, and when it
 * cannot tell. No trainer plants it: it is for programs without GPU work. */
#include "tests/rules/feed.h"
#include "tests/rules/loading.h"
#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"

static const struct outcome *data_loading(struct builder *b, enum verdict v)
{
    const struct advice *a = b->a ? b->a : build_analyze(b);
    return case_verdict(a, "data-loading", v);
}

TEST(a_cheap_batch_wants_no_worker)
{
    struct program p = usual;
    p.wait_ms = p.fetch_ms = p.cpu_ms = 0.07;
    p.rest_ms = 0.28;
    struct builder b = feed_loop(&p);
    ck_assert_ptr_nonnull(strstr(data_loading(&b, RULE_SUPPRESSED)->why, "handing one over"));
    p.workers = 2; /* it has some */
    p.wait_ms = 1.8;
    b = feed_loop(&p);
    ck_assert_str_eq(data_loading(&b, RULE_FIRES)->setting, "num_workers=0");
}

TEST(workers_in_line_want_to_be_fewer)
{
    struct program p = usual; /* nine, each with a core for a ninth of the time */
    p.workers = 9;
    p.cores = "2";
    p.wait_ms = 10;
    p.rest_ms = 6;
    p.fetch_ms = 90;
    p.cpu_ms = 8;
    p.cpu = 0.1;
    p.line = 0.8;
    p.trains = 0.4;
    struct builder b = feed_loop(&p);
    const struct outcome *o = case_outcome(build_analyze(&b), "data-loading");
    ck_assert(!o->setting || strcmp(o->setting, "num_workers=1;persistent_workers=1") == 0 ||
              strcmp(o->setting, "num_workers=0") == 0);
    ck_assert(o->verdict == RULE_SUPPRESSED || o->setting);
    p.cores = "32"; /* asleep for most of the time: more are of use */
    p.cpu = 0.1;
    p.line = 0.01;
    b = feed_loop(&p);
    o = data_loading(&b, RULE_FIRES);
    ck_assert_int_gt(atoi(o->setting + strlen("num_workers=")), 9);
}

/* Another rank, which makes no batches, stands in line: that says nothing of the workers' time. */
static int64_t saved_beside(bool other_rank)
{
    struct program p = usual;
    p.workers = 2;
    p.fetch_ms = 16;
    p.cpu_ms = 3;
    p.cpu = 0.2;
    p.line = 0.01;
    p.cores = "64";
    struct builder b = feed_loop(&p);
    if (other_rank) {
        struct row_process r = {
            .id = 3, .pid = 44, .rank = -1, .local_rank = -1, .world_size = -1, .sealed = 1};
        r.end_ns = MS(10000);
        build_put(&b, ROW_PROCESS, &r);
        struct row_thread t = {
            .id = 10, .process = 3, .tid = 901, .name = build_text(&b, "python")};
        build_put(&b, ROW_THREAD, &t);
        samples(&b, 3, 10, 500, 0.2, 0.8);
    }
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "data-loading", RULE_FIRES);
    int64_t ns = case_outcome(a, "data-loading")->saves_mid_ns;
    return ns;
}

TEST(who_makes_no_batches_is_no_worker)
{
    ck_assert_int_eq(saved_beside(true), saved_beside(false));
}

TEST(cores_of_the_program_itself)
{
    struct program p = usual;
    p.trains = 1;
    struct builder b = feed_loop(&p);
    struct row_meta own = {.id = ++b.next_id, .process = 1, .key = build_text(&b, "process_cores")};
    own.value = build_text(&b, "1"); /* taskset, inside the command */
    build_put(&b, ROW_META, &own);
    const struct outcome *o = data_loading(&b, RULE_SUPPRESSED);
    ck_assert_int_eq(b.a->facts->host.usable_cores, 1);
    ck_assert_ptr_nonnull(strstr(o->why, "leaves no core for a worker"));
    p.cores = "2";
    p.idle_cores = 0.05; /* another program has the other one */
    b = feed_loop(&p);
    data_loading(&b, RULE_SUPPRESSED);
    p.idle_cores = 1;
    b = feed_loop(&p);
    data_loading(&b, RULE_FIRES);
}

TEST(a_training_that_wants_all_cores)
{
    struct program p = usual;
    p.cores = "2";
    p.rest_ms = 20;
    p.trains = 1.9;
    struct builder b = feed_loop(&p);
    data_loading(&b, RULE_SUPPRESSED);
    p.trains = 1;
    b = feed_loop(&p);
    ck_assert_str_eq(data_loading(&b, RULE_FIRES)->setting, "num_workers=1;persistent_workers=1");
}

TEST(an_iterable_dataset_is_divided_first)
{
    for (int shards = 0; shards < 2; shards++) {
        struct builder b = feed_loop(&usual);
        build_meta(&b, "torch.loader.1", "DataLoader(num_workers=0)");
        build_meta(&b, "torch.loader.1.iterable", shards ? "shards" : "does not shard");
        const struct outcome *o = data_loading(&b, RULE_FIRES);
        ck_assert_ptr_null(o->setting);
        case_does(o, ACTION_SHARD_DATASET);
        ck_assert_int_eq(o->remedy.conditions[CONDITION_SHARDS_ITSELF], shards);
    }
}

/* One line iterates both; the second one is waited for. */
TEST(the_loader_that_is_waited_for)
{
    struct program p = usual;
    p.loader = 2;
    struct builder b = feed_loop(&p);
    span_of(&b, SPOOL_LOADER_WAIT, 1, -1, 1, 150.001, 0.5, -1);
    build_meta(&b, "torch.loader", "DataLoader(num_workers=7)");
    build_meta(&b, "torch.loader.made", "val.py:1");
    build_meta(&b, "torch.loader.1", "DataLoader(num_workers=7)");
    build_meta(&b, "torch.loader.1.made", "val.py:1");
    build_meta(&b, "torch.loader.2", "Own(num_workers=0)");
    build_meta(&b, "torch.loader.2.made", "train.py:1");
    build_meta(&b, "torch.loader.2.where", "run.py:5");
    build_meta(&b, "torch.loader.2.start", "spawn");
    build_meta(&b, "torch.loader.2.dataset", "Slow.__getitem__ slow.py:9");
    const struct outcome *o = data_loading(&b, RULE_FIRES);
    ck_assert_str_eq(o->remedy.object.place, "train.py:1");
    ck_assert_str_eq(o->remedy.now, "Own(num_workers=0)");
    ck_assert_str_eq(o->remedy.params[PARAM_START_METHOD].text, "spawn");
    ck_assert_ptr_nonnull(strstr(o->summary, "run.py:5"));
    ck_assert_ptr_nonnull(strstr(o->summary, "Slow.__getitem__ slow.py:9"));
    ck_assert_str_eq(o->setting, "num_workers=3;persistent_workers=1;loader=train.py:1");
}

/* Its loader gets what TrainingArguments say. */
TEST(the_loader_of_a_trainer)
{
    struct builder b = feed_loop(&usual);
    build_meta(&b, "torch.loader.1", "DataLoader(num_workers=0)");
    build_meta(&b, "torch.loader.1.made", "sft.py:15");
    build_meta(&b, "torch.loader.1.by", "transformers");
    const struct outcome *o = data_loading(&b, RULE_FIRES);
    case_workers(o, 3);
    ck_assert_str_eq(o->remedy.object.place, "sft.py:15");
    ck_assert_str_eq(o->remedy.object.made_by, "transformers");
}

TEST(the_function_that_collates)
{
    struct builder b = feed_loop(&usual);
    for (int i = 0; i < STEPS; i++)
        span_of(&b, SPOOL_LOADER_COLLATE, 1, -1, 1, 101 + 10 * i, 6, -1);
    build_meta(&b, "torch.loader.1.collate", "join train.py:3");
    const struct outcome *o = data_loading(&b, RULE_FIRES);
    case_measures(o, "of that, in the collate function, join train.py:3", 6, 0.01);
}

/* A thread of the program reads ahead; the training thread sleeps until it is handed a batch. */
TEST(behind_a_thread_that_reads_ahead)
{
    for (int behind = 0; behind < 2; behind++) {
        struct builder b = build_start();
        build_thread(&b, 2, "reader");
        build_meta(&b, "usable_cores", "4");
        for (int i = 0; i < STEPS; i++) {
            double at = 100 + 10 * i;
            span_of(&b, SPOOL_LOADER_FETCH, 2, -1, 1, at, behind ? 9.8 : 2, 1);
            span_of(&b, SPOOL_LOADER_WAIT, 2, -1, 1, at, behind ? 9.9 : 2, -1);
            build_range_at(&b, "gpuprof.step", 0, MS(at), MS(at + 10));
        }
        samples(&b, 1, 1, 500, 0.4, 0);
        const struct outcome *o = data_loading(&b, behind ? RULE_FIRES : RULE_SILENT);
        if (behind)
            ck_assert_double_eq_tol(case_value(o, "average time of waiting for data"), 6, 0.1);
        ck_assert(!behind || strstr(o->summary, "of a thread that reads ahead"));
    }
}

/* Bursts: nine steps of ten wait for nothing, the tenth for ten batches. */
TEST(means_where_batches_come_in_bursts)
{
    struct builder b = build_start();
    build_meta(&b, "usable_cores", "4");
    double at = 100;
    for (int i = 0; i < 60; i++) {
        double wait = i % 10 == 9 ? 40 : 0.01;
        span_of(&b, SPOOL_LOADER_FETCH, 1, -1, 1, at, wait, wait);
        span_of(&b, SPOOL_LOADER_WAIT, 1, -1, 1, at, wait, -1);
        build_range_at(&b, "gpuprof.step", 0, MS(at), MS(at + wait + 4));
        at += wait + 4;
    }
    const struct outcome *o = data_loading(&b, RULE_FIRES);
    ck_assert_double_eq_tol(case_value(o, "average time of waiting for data"), 4.1, 0.1);
    ck_assert_int_lt(b.a->facts->steps.median_ns, MS(4.1));
    ck_assert_int_eq(b.a->facts->step_ns, b.a->facts->steps.pace_ns);
    ck_assert_int_le(o->saves_high_ns, MS(4.4)); /* half of the mean step */
}

TEST(waiting_without_gpu)
{
    struct builder b = loading_loop(-1, MS(8), MS(8), MS(8));
    struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "data-loading", MS(8));
    /* 8 ms a batch beside 2 ms of the rest: four would keep up, but the loop wants a core, too */
    ck_assert_str_eq(o->setting, "num_workers=3;persistent_workers=1");
    ck_assert(!o->upper_bound && o->saves_low_ns > MS(2) && o->saves_mid_ns < MS(7.5));
    ck_assert_ptr_nonnull(strstr(o->summary, "train.py:42"));
    ck_assert_str_eq(o->remedy.now, "DataLoader(num_workers=0)");
    ck_assert_str_eq(a->verdict_class, "input");
    ck_assert(a->facts->on_cpu);
    ck_assert_ptr_null(strstr(a->why, ".item()")); /* which costs nothing here */
    case_verdict(a, "num-workers", RULE_CANNOT_TELL);
}

TEST(no_more_workers_than_cores)
{
    struct builder b = loading_loop(3, MS(8), MS(40), MS(38));
    case_verdict(build_analyze(&b), "data-loading", RULE_SUPPRESSED);
    b = loading_loop(3, MS(8), MS(40), MS(2)); /* asleep, or in line for a core? */
    const struct outcome *o = case_first(build_analyze(&b), "data-loading", MS(8));
    ck_assert_ptr_null(o->setting);
    case_does(o, ACTION_TRY_WORKERS);
}

TEST(handing_over_is_not_making)
{
    struct builder b = loading_loop(0, MS(4), US(200), US(200));
    const struct outcome *o = case_outcome(build_analyze(&b), "data-loading");
    case_verdict(b.a, "data-loading", RULE_FIRES);
    ck_assert_str_eq(o->setting, "num_workers=0");
    case_measures(o, "transfer from a worker to the loop, at most", 2, 0.01);
    b = loading_loop(1, MS(2), MS(4), MS(4)); /* two workers, each with time to spare */
    o = case_first(build_analyze(&b), "data-loading", MS(2));
    ck_assert_ptr_null(o->setting);
    case_does(o, ACTION_HAND_OVER_LESS);
}

TEST(line_that_makes_the_loader)
{
    struct builder b = loading_loop(-1, MS(8), MS(8), MS(8));
    build_meta(&b, "torch.loader.made", "data.py:7");
    const struct outcome *o = case_first(build_analyze(&b), "data-loading", MS(8));
    case_workers(o, 3);
    ck_assert_str_eq(o->remedy.object.place, "data.py:7");
}

/* A setting is advised where the program's runtime obeys it, or said nothing of what it obeys. */
TEST(settings_that_are_obeyed)
{
    static const struct {
        const char *list, *settings;
        bool obeyed;
    } of[] = {{NULL, "sync_every=100", true},
              {"num_workers precision=bf16", "num_workers=4", true},
              {"num_workers precision=bf16", "num_workers=4;precision=bf16", true},
              {"num_workers precision=bf16", "num_workers=4;precision=fp16", false},
              {"num_workers_more precision=bf16", "num_workers=4", false},
              {"num_workers", "sync_every=100", false},
              {"num_workers", "precision", false}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct builder b = loading_loop(-1, MS(8), MS(8), MS(8));
        if (of[i].list)
            build_meta(&b, "torch.settings", of[i].list);
        const struct advice *a = build_analyze(&b);
        ck_assert_msg(outcome_obeyed(a->facts, of[i].settings) == of[i].obeyed, "case %zu", i);
    }
    struct builder b = loading_loop(-1, MS(8), MS(8), MS(8));
    build_meta(&b, "torch.settings", "pin_memory");
    ck_assert_ptr_null(case_first(build_analyze(&b), "data-loading", MS(8))->setting);
    b = loading_loop(-1, MS(8), MS(8), MS(8));
    build_meta(&b, "torch.settings", "num_workers");
    ck_assert_ptr_null(case_first(build_analyze(&b), "data-loading", MS(8))->setting);
    b = loading_loop(-1, MS(8), MS(8), MS(8));
    build_meta(&b, "torch.settings", "num_workers persistent_workers");
    ck_assert_str_eq(case_first(build_analyze(&b), "data-loading", MS(8))->setting,
                     "num_workers=3;persistent_workers=1");
}

TEST(no_waiting)
{
    struct builder b = loading_loop(0, US(100), MS(2), MS(2));
    struct advice *a = build_analyze(&b);
    case_verdict(a, "data-loading", RULE_SILENT);
    ck_assert_str_eq(a->verdict_class, "cpu");
    ck_assert_ptr_nonnull(strstr(a->verdict, "on the CPU"));
}

TEST(no_steps_to_measure_the_wait_against)
{
    struct builder b = build_start();
    loader(&b, SPOOL_LOADER_WAIT, -1, MS(100), MS(8), -1);
    loader(&b, SPOOL_LOADER_FETCH, -1, MS(100), MS(8), MS(8));
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "data-loading", RULE_CANNOT_TELL);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "data-loading")->why, "steps"));
}

TEST(left_to_num_workers_on_a_gpu)
{
    struct builder b = loading_loop(-1, MS(8), MS(8), MS(8));
    for (int i = 0; i < CASE_STEPS; i++)
        build_kernel(&b, "gemm", MS(108) + MS(10) * i, MS(108) + MS(10) * i + US(9), MS(1));
    case_verdict(build_analyze(&b), "data-loading", RULE_SILENT);
}
