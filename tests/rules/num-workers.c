/* Cases of the rule num-workers: when it fires, when it is silent or suppressed, and when it cannot
 * tell. */
#include "tests/rules/cores.h"
#include "tests/rules/feed.h"
#include "tests/rules/host.h"
#include "tests/rules/refuse.h"
#include "tests/rules/stacks.h"
#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"

#include <string.h>

/* On a GPU as well: num-workers names the loader that is waited for, and divides first. */
TEST(beside_a_gpu)
{
    static const char *const by[] = {"transformers", NULL, "ultralytics"};
    for (int kind = 0; kind < 3; kind++) {
        bool iterable = !by[kind];
        struct builder b = build_start();
        build_meta(&b, "usable_cores", "4");
        build_meta(&b, "torch.loader.made", "val.py:1");
        build_meta(&b, "torch.loader", "DataLoader(num_workers=7)");
        build_meta(&b, "torch.loader.2", "DataLoader(num_workers=0)");
        build_meta(&b, "torch.loader.2.made", "train.py:1");
        build_meta(&b, "torch.loader.2.start", kind == 2 ? "forkserver" : "fork");
        if (iterable)
            build_meta(&b, "torch.loader.2.iterable", "does not shard");
        else
            build_meta(&b, "torch.loader.2.by", by[kind]);
        for (int i = 0; i < CASE_STEPS; i++) {
            double at = 100 + 10 * i;
            build_range_at(&b, "gpuprof.step", 0, MS(at), MS(at + 10));
            build_range_at(&b, "data.wait", 1, MS(at), MS(at + 6));
            span_of(&b, SPOOL_LOADER_FETCH, 1, -1, 2, at, 5.9, 5.9);
            span_of(&b, SPOOL_LOADER_WAIT, 1, -1, 2, at, 6, -1);
            build_kernel(&b, "gemm", MS(at + 6.01), MS(at + 6.02), MS(3));
        }
        const struct outcome *o = case_verdict(build_analyze(&b), "num-workers", RULE_FIRES);
        ck_assert_str_eq(o->remedy.object.place, "train.py:1");
        ck_assert(iterable ? !o->setting : o->setting != NULL);
        case_does(o, iterable ? ACTION_SHARD_DATASET : ACTION_SET_WORKERS);
        if (!iterable)
            ck_assert_str_eq(o->remedy.object.made_by, by[kind]);
        case_text(o, PARAM_START_METHOD, kind == 2 ? "forkserver" : NULL);
    }
}

/* A batch takes 5.9 ms, the rest of the step 4: one core carries one worker that computes, and more
 * that sleep. Who stands without a core does not sleep. */
TEST(workers_that_sleep_share_a_core)
{
    for (int sleeps = 0; sleeps < 3; sleeps++) {
        struct builder b = build_start();
        build_meta(&b, "usable_cores", "1");
        build_meta(&b, "torch.loader", "DataLoader(num_workers=0)");
        for (int i = 0; i < CASE_STEPS; i++) {
            double at = 100 + 10 * i;
            build_range_at(&b, "gpuprof.step", 0, MS(at), MS(at + 10));
            build_range_at(&b, "data.wait", 1, MS(at), MS(at + 6));
            span_of(&b, SPOOL_LOADER_FETCH, 1, -1, 1, at, 5.9, sleeps ? 0.5 : 5.9);
            span_of(&b, SPOOL_LOADER_WAIT, 1, -1, 1, at, 6, -1);
            build_kernel(&b, "gemm", MS(at + 6.01), MS(at + 6.02), MS(3));
        }
        if (sleeps == 2)
            starve(&b, 0.9);
        const struct outcome *o = case_outcome(build_analyze(&b), "num-workers");
        case_workers(o, sleeps == 1 ? 2 : 1);
    }
}

/* A worker process has no GPU: what launches work for its samples cannot go there. */
TEST(samples_that_are_made_on_the_gpu)
{
    for (int on_gpu = 0; on_gpu < 2; on_gpu++) {
        struct builder b = build_start();
        build_meta(&b, "usable_cores", "4");
        build_meta(&b, "torch.loader", "DataLoader(num_workers=0)");
        for (int i = 0; i < CASE_STEPS; i++) {
            double at = 100 + 10 * i;
            batch_in_thread(&b, at);
            build_kernel(&b, "crop", MS(on_gpu ? at + 3 : at + 6.01),
                         MS(on_gpu ? at + 3.01 : at + 6.02), US(5));
            build_kernel(&b, "gemm", MS(at + 6.03), MS(at + 6.04), MS(3));
        }
        const struct outcome *o =
            case_verdict(build_analyze(&b), "num-workers", on_gpu ? RULE_SUPPRESSED : RULE_FIRES);
        ck_assert(!on_gpu || strstr(o->why, "works on the GPU itself (launches per batch: 1)"));
    }
}

/* A framework's worker is a process: what a batch of 20 MB costs on its way is in the prediction.
 * Who has workers sees the way out of them in their batches. */
TEST(a_batch_has_a_way_to_go)
{
    for (int workers = 0; workers < 2; workers++) {
        struct program p = usual;
        p.workers = workers;
        p.trains = workers ? -1 : 1.1;
        struct builder b = feed_loop(&p);
        build_meta(&b, "torch.batch.bytes", "20000000");
        for (int i = 0; i < STEPS; i++) {
            build_range_at(&b, "data.wait", 1, MS(100 + 10 * i), MS(108 + 10 * i));
            build_kernel(&b, "gemm", MS(108.01 + 10 * i), MS(108.02 + 10 * i), MS(1));
        }
        const struct advice *a = build_analyze(&b);
        case_verdict(a, "num-workers", RULE_FIRES);
        const struct hand_over *way = &case_outcome(a, "num-workers")->edit.workers.hand_over;
        ck_assert_double_eq_tol(way->get_low, MS(1.2), US(1));
        ck_assert_double_eq_tol(way->send_low, workers ? 0 : MS(2.2), US(1));
        ck_assert_double_eq_tol(way->send_high, workers ? 0 : MS(32), US(1));
        ck_assert_double_eq_tol(way->train_ns, workers ? 0 : MS(3), US(100)); /* 11 ms less 8 */
    }
}

/* The training thread makes the batch itself: 4 ms of 10. */
static void fill_decode(struct builder *b, int64_t at)
{
    build_range(b, "data.decode", at, at + MS(4));
    build_kernel(b, case_gemm, at + MS(4), at + MS(4) + US(10), US(5980));
}

/* Two workers; the training thread waits for them. A batch takes `MS(8)` of a worker. */
static void fill_workers(struct builder *b, int64_t at)
{
    build_range(b, "data.wait", at, at + MS(4));
    for (int w = 0; w < 2; w++) {
        b->thread = 2 + w;
        build_range_at(b, "data.decode", 0, at + MS(w), at + MS(8 + w));
    }
    b->thread = 1;
    build_kernel(b, case_gemm, at + MS(4), at + MS(4) + US(10), US(5980));
}

static struct builder with_workers(const char *cores)
{
    struct builder b = build_start();
    if (cores)
        build_meta(&b, "usable_cores", cores);
    build_thread(&b, 2, "loader-0");
    build_thread(&b, 3, "loader-1");
    return b;
}

/* The function that makes the samples, as it is looked at while the GPU waits, and not the loop that
 * asks for them, which is found there more often. */
TEST(says_what_makes_the_samples)
{
    for (int looked = 0; looked < 2; looked++) {
        struct builder b = build_start();
        build_meta(&b, "usable_cores", "8");
        int64_t stack = stack_of(&b, "/home/u/data.py", "Data.__getitem__", 17);
        int64_t loop = stack_of(&b, "/home/u/train.py", "<module>", 30);
        struct row_stack next = {.id = ++b.next_id,
                                 .caller = loop,
                                 .file = build_text(&b, "/x/site-packages/torch/d.py"),
                                 .function = build_text(&b, "_BaseDataLoaderIter.__next__"),
                                 .line = 7};
        build_put(&b, ROW_STACK, &next);
        case_loop(&b, fill_decode);
        for (int i = 0; looked && i < CASE_STEPS; i++)
            for (int k = 1; k < 8; k++)
                look_at(&b, k % 2 ? next.id : stack, MS(100 + 10 * i) + US(500) * k);
        const struct outcome *o = case_outcome(build_analyze(&b), "num-workers");
        ck_assert_int_eq(strstr(o->summary, "of it: Data.__getitem__() data.py:17") != NULL,
                         looked);
    }
}

TEST(test_input_by_trainer)
{
    const struct advice *a = case_advice_with(fill_decode, "usable_cores", "8");
    const struct outcome *o = case_first(a, "num-workers", MS(4));
    ck_assert_str_eq(
        o->setting,
        "num_workers=1"); /* 4 ms beside the other 6: one is enough, whatever the cores */
    ck_assert_int_ge(o->example_count, 1);
    QUIET(a, "pin-memory", "overlap-copies", "sync-in-loop", "cuda-graphs");
}

/* Workers that are started anew: more of them take longer. */
TEST(while_workers_start)
{
    struct builder b = build_start();
    build_meta(&b, "torch.loader", "DataLoader(num_workers=2)");
    for (int i = 0; i < CASE_STEPS; i++) {
        double at = 100 + 10 * i;
        build_range_at(&b, "gpuprof.step", 0, MS(at), MS(at + 10));
        build_range_at(&b, "data.wait", 1, MS(at), MS(at + 6));
        span_of(&b, SPOOL_LOADER_BEGIN, 1, -1, 0, at, 5.8, -1);
        build_kernel(&b, "gemm", MS(at + 6.01), MS(at + 6.02), MS(3));
    }
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "num-workers", RULE_SUPPRESSED);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "num-workers")->why, "worker-startup"));
    case_verdict(a, "worker-startup", RULE_FIRES);
}

/* How many the cores carry nobody knows: no number. */
TEST(without_cores)
{
    const struct outcome *o = case_outcome(case_advice(fill_decode), "num-workers");
    case_does(o, ACTION_TRY_WORKERS);
    ck_assert(o->remedy.conditions[CONDITION_CORES_UNKNOWN]);
    ck_assert_ptr_null(o->setting);
}

TEST(test_input_number)
{
    struct builder b = with_workers("64");
    build_meta(&b, "have", "kernels,api,ranges");
    for (int i = 0; i < CASE_STEPS; i++) { /* 21 ms a batch beside 6 ms of the rest: four workers */
        int64_t at = MS(100) + MS(10) * i;
        build_range(&b, "data.wait", at, at + MS(4));
        b.thread = 2;
        build_range_at(&b, "data.decode", 0, at - MS(11), at + MS(10));
        b.thread = 1;
        build_kernel(&b, case_gemm, at + MS(4), at + MS(4) + US(10), US(5980));
        build_range(&b, "step", at, at + MS(10));
    }
    const struct outcome *o = case_first(build_analyze(&b), "num-workers", MS(4));
    ck_assert_str_eq(o->setting, "num_workers=4");
    case_workers(o, 4);
}

TEST(test_input_no_cores_left)
{
    struct builder b = with_workers("2");
    case_loop(&b, fill_workers);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "num-workers", RULE_SUPPRESSED);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "num-workers")->why, "2"));
    QUIET(a, "sync-in-loop", "cuda-graphs", "overlap-copies");
}

TEST(test_input_silent)
{
    const struct advice *a = case_advice(case_busy);
    case_verdict(a, "num-workers", RULE_SILENT);
    case_verdict(a, "sync-in-loop", RULE_SILENT);
    case_verdict(a, "cuda-graphs", RULE_SILENT);
    ck_assert_uint_eq(a->ranked_count, 0);
    case_cannot_tell(fill_decode, "kernels,api", "num-workers");
}

/* A generator's __next__ around the whole step; the loader's own around 4 ms of it. */
static void fill_generator(struct builder *b, int64_t at)
{
    build_range(b, "pipeline.py(117): __next__", at + US(1), at + MS(9.99));
    build_range(b, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + US(10),
                at + MS(4));
    build_kernel(b, case_gemm, at + MS(4.1), at + MS(4.2), MS(2));
    build_kernel(b, case_gemm, at + MS(9), at + MS(9.1), US(800)); /* launched late: not for data */
}

TEST(test_generator_is_no_loader)
{
    const struct advice *a = case_advice(fill_generator);
    ck_assert_int_gt(a->facts->breakdown_ns[PART_IDLE_INPUT], MS(3));
    ck_assert_int_lt(a->facts->breakdown_ns[PART_IDLE_INPUT], MS(4.5));
    case_verdict(a, "num-workers", RULE_FIRES);
    ck_assert_ptr_nonnull(
        strstr(case_outcome(a, "num-workers")->summary, "_SingleProcessDataLoaderIter"));
}

TEST(facts_of_the_program_beside_advice)
{
    struct builder b = build_start();
    build_meta(&b, "torch.loader.made", "data.py:7");
    build_meta(&b, "torch.loader", "DataLoader(num_workers=0)");
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100) + MS(10) * i;
        build_range_at(&b, "gpuprof.step", 0, at, at + MS(10));
        build_range_at(&b, "data.wait", 1, at, at + MS(6));
        build_kernel(&b, "gemm", at + MS(6) + US(10), at + MS(6) + US(20), MS(3));
    }
    struct advice *a = build_analyze(&b);
    case_verdict(a, "num-workers", RULE_FIRES);
    const struct remedy *r = &case_outcome(a, "num-workers")->remedy;
    ck_assert_str_eq(r->object.place, "data.py:7");
    ck_assert_str_eq(r->now, "DataLoader(num_workers=0)");
}

static double decode_ms;

/* The training thread makes the batch; the GPU works for the rest of the 10 ms. */
static void fill_decode_refuse(struct builder *b, int64_t at)
{
    int64_t ready = at + MS(decode_ms);
    build_range(b, "data.decode", at, ready);
    build_kernel(b, case_gemm, ready, ready + US(10), at + MS(10) - ready - US(20));
}

/* Two workers make a batch in 8 ms each, one every 4 ms, and still the loop waits for 4 of 10 ms.
 */
static void fill_uneven_batches(struct builder *b, int64_t at)
{
    build_range(b, "data.wait", at, at + MS(4));
    for (int w = 0; w < 2; w++) {
        b->thread = 2 + w;
        build_range_at(b, "data.decode", 0, at + MS(w), at + MS(8 + w));
    }
    b->thread = 1;
    build_kernel(b, case_gemm, at + MS(4), at + MS(4) + US(10), US(5980));
}

TEST(test_cores_bound_the_saving)
{
    struct builder b = build_start();
    build_meta(&b, "usable_cores", "1");
    decode_ms = 8; /* four workers would keep up; one makes a batch in 8 ms */
    case_loop(&b, fill_decode_refuse);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "num-workers", MS(2));
    ck_assert_str_eq(o->setting, "num_workers=1");
    ck_assert_double_eq_tol(evidence(o, "workers needed to keep up")->value, 4, 0.01);

    b = build_start(); /* a fraction of a core counts as one */
    build_meta(&b, "usable_cores", "16");
    build_meta(&b, "cgroup_cpu_quota", "0.5");
    decode_ms = 9.95; /* a worker would need as long as the whole step */
    case_loop(&b, fill_decode_refuse);
    a = build_analyze(&b);
    case_verdict(a, "num-workers", RULE_SUPPRESSED);
    ck_assert_ptr_nonnull(strstr(why(a, "num-workers"), "cheaper"));
}

/* Another program has the cores of a worker that is too slow anyway, by computing or by waiting for
 * files; its own other threads, such as the workers of other ranks, have them; another program, and
 * with a core it would be fast enough. */
TEST(workers_without_a_core)
{
    enum { TOO_SLOW, WAITS, OWN, FAST_ENOUGH };
    static const struct share of[] = {[TOO_SLOW] = {0.68, 0.3, 0, 0, 0},
                                      [WAITS] = {0.3, 0.3, 0, 0, 0},
                                      [OWN] = {0.68, 0.3, 0, 0, 0},
                                      [FAST_ENOUGH] = {0.3, 0.68, 0, 0, 0}};
    for (int which = TOO_SLOW; which <= FAST_ENOUGH; which++) {
        struct builder b = start("4");
        for (int i = 3; i <= 5; i++)
            build_thread(&b, i, "other");
        case_loop(&b, fill_waits);
        clocks(&b, 2, of[which]);
        for (int i = 3; i <= 5 && which == OWN; i++)
            clocks(&b, i, (struct share){0.95, 0, 0, 0, 0});
        const struct advice *a = build_analyze(&b);
        case_verdict(a, "num-workers", which < OWN ? RULE_FIRES : RULE_SUPPRESSED);
        if (which == FAST_ENOUGH)
            ck_assert_ptr_nonnull(strstr(why(a, "num-workers"), "another program"));
        case_verdict(a, "starved-workers", RULE_FIRES);
    }
}

TEST(test_workers_that_keep_up)
{
    struct builder b = build_start();
    build_meta(&b, "usable_cores", "16");
    build_thread(&b, 2, "loader-0");
    build_thread(&b, 3, "loader-1");
    case_loop(&b, fill_uneven_batches);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "num-workers", RULE_SUPPRESSED);
    ck_assert_ptr_nonnull(strstr(why(a, "num-workers"), "uneven"));
}
