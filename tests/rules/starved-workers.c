/* Cases of the rule starved-workers: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/rules/cores.h"
#include "tests/rules/feed.h"
#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"

#include <string.h>

TEST(cannot_tell)
{
    case_cannot_tell(fill_waits, "kernels,api", "starved-workers");
}

/* A loop that starts its workers anew has one of them at a time; and on eight cores it is another
 * program that keeps it waiting. */
static void anew_case(const char *cores, const char *summary, enum action action)
{
    struct builder b = start(cores);
    for (int i = 3; i <= 5; i++)
        build_thread(&b, i, "loader");
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100) + MS(10) * i;
        build_range(&b, "step", at, at + MS(10));
        build_range(&b, "data.wait", at, at + MS(4));
        b.thread = 2 + i / 3;
        build_range_at(&b, "data.decode", 0, at, at + MS(9));
        b.thread = 1;
        build_kernel(&b, case_gemm, at + MS(4), at + MS(4) + US(10), US(5980));
    }
    clocks(&b, 1, (struct share){0.3, 0.1, 0, 0, 0});
    for (int i = 0; i < 2 * CASE_STEPS / 3; i++) {
        int64_t ns = MS(15) * (i % 2) * 2;
        struct row_host_sample r = {.id = ++b.next_id,
                                    .process = 1,
                                    .thread = 2 + i / 2,
                                    .time_ns = MS(100) + MS(30) * (i / 2) + ns,
                                    .cpu_ns = part(0.6, ns),
                                    .run_queue_ns = part(0.35, ns)};
        build_put(&b, ROW_HOST_SAMPLE, &r);
    }
    const struct outcome *o = case_outcome(build_analyze(&b), "starved-workers");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert_msg(strstr(o->summary, summary) != NULL, "%s", o->summary);
    ck_assert_double_eq_tol(case_value(o, "cores that the program's threads want on average"), 1.35,
                            0.1); /* not four times as many */
    case_does(o, action);
}

TEST(workers_that_follow_each_other)
{
    anew_case("1", "the loader's 1 worker has no core", ACTION_FREE_CORES_FOR_WORKERS);
    anew_case("8", "another program has the cores: this one's threads use 0.", ACTION_GET_CORES);
}

/* The worker stands in line all its life, but computes in half of the time that its batches take.
 */
TEST(shares_of_batches)
{
    struct builder b = start("1");
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100) + MS(10) * i;
        build_range(&b, "step", at, at + MS(10));
        build_range(&b, "data.wait", at, at + MS(4));
        struct row_loader r = {.id = i + 1,
                               .process = 1,
                               .thread = 2,
                               .start_ns = at,
                               .end_ns = at + MS(6),
                               .what = SPOOL_LOADER_FETCH,
                               .batch = -1,
                               .cpu_ns = MS(3)};
        build_put(&b, ROW_LOADER, &r);
        build_kernel(&b, case_gemm, at + MS(4), at + MS(4) + US(10), US(5980));
    }
    clocks(&b, 1, (struct share){0.3, 0.1, 0, 0, 0});
    clocks(&b, 2, (struct share){0.3, 0.65, 0, 0, 0});
    const struct outcome *o = case_outcome(build_analyze(&b), "starved-workers");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert_double_eq_tol(case_value(o, "share of their time: ready to run, but without a core"),
                            50, 1);
    ck_assert_double_eq_tol(case_value(o, "GPU idle for input"), 4, 0.1);
}

/* Cores do not end the wait for workers that are started anew in each loop: 3.5 ms of these 4, or 1. */
TEST(without_what_starting_them_takes)
{
    for (int mostly = 0; mostly < 2; mostly++) {
        struct builder b = start("1");
        build_meta(&b, "torch.loader", "DataLoader(num_workers=1)");
        for (int i = 0; i < CASE_STEPS; i++) {
            double at = 100 + 10 * i;
            build_range(&b, "step", MS(at), MS(at + 10));
            build_range(&b, "data.wait", MS(at), MS(at + 4));
            span_of(&b, SPOOL_LOADER_BEGIN, 1, -1, 0, at, mostly ? 3.95 : 1, -1);
            span_of(&b, SPOOL_LOADER_FETCH, 2, -1, 1, at, 6, 3);
            build_kernel(&b, case_gemm, MS(at + 4), MS(at + 4) + US(10), US(5980));
        }
        clocks(&b, 1, (struct share){0.3, 0.1, 0, 0, 0});
        clocks(&b, 2, (struct share){0.3, 0.65, 0, 0, 0});
        const struct outcome *o = case_outcome(build_analyze(&b), "starved-workers");
        ck_assert_int_eq(o->verdict, mostly ? RULE_SUPPRESSED : RULE_FIRES);
        if (!mostly)
            ck_assert_int_eq(o->saves_high_ns / US(100), 30);
    }
}

/* The program's own threads fill the core: the line that makes the loader has the number of its workers. */
TEST(the_line_of_the_loader)
{
    struct builder b = start("1");
    build_meta(&b, "torch.loader", "DataLoader(num_workers=1)");
    build_meta(&b, "torch.loader.made", "train.py:28");
    for (int i = 0; i < CASE_STEPS; i++) {
        double at = 100 + 10 * i;
        build_range(&b, "step", MS(at), MS(at + 10));
        build_range(&b, "data.wait", MS(at), MS(at + 4));
        span_of(&b, SPOOL_LOADER_WAIT, 1, -1, 0, at, 4, -1);
        span_of(&b, SPOOL_LOADER_FETCH, 2, -1, 1, at, 6, 3);
        build_kernel(&b, case_gemm, MS(at + 4), MS(at + 4) + US(10), US(5980));
    }
    clocks(&b, 1, (struct share){0.45, 0.05, 0, 0, 0});
    clocks(&b, 2, (struct share){0.53, 0.42, 0, 0, 0});
    const struct outcome *o = case_verdict(build_analyze(&b), "starved-workers", RULE_FIRES);
    case_does(o, ACTION_FREE_CORES_FOR_WORKERS);
    ck_assert_str_eq(o->remedy.object.place, "train.py:28");
}

/* A package that the process imports has pinned it to one core, which its workers inherit. */
TEST(a_process_that_was_confined)
{
    struct builder b = start("4");
    static const char *const metas[][2] = {{"process_cores", "1"}, {"process_cores.given", "4"}};
    for (int i = 0; i < 2; i++) {
        struct row_meta m = {.id = ++b.next_id,
                             .process = 1,
                             .key = build_text(&b, metas[i][0]),
                             .value = build_text(&b, metas[i][1])};
        build_put(&b, ROW_META, &m);
    }
    case_loop(&b, fill_waits);
    clocks(&b, 1, (struct share){0.3, 0.1, 0, 0, 0});
    clocks(&b, 2, (struct share){0.5, 0.45, 0, 0, 0});
    const struct outcome *o = case_verdict(build_analyze(&b), "starved-workers", RULE_FIRES);
    case_does(o, ACTION_USE_CORES_GIVEN);
    ck_assert_ptr_nonnull(
        strstr(o->summary, "began with 4 cores, and something in it confined it to 1"));
}
