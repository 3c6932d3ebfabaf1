/* Cases of the rule cpu-contention: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/rules/cores.h"
#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"

#include <stdlib.h>
#include <string.h>

/* The host is away for 2 ms of every 10, without a call. */
static void fill_away(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(10), MS(4));
    build_kernel(b, case_gemm, at + MS(6), at + MS(6) + US(10), US(3980));
}

static void contention_case(const char *cores, double busy, double queue, enum verdict v)
{
    struct builder b = start(cores);
    case_loop(&b, fill_away);
    clocks(&b, 1, (struct share){0.5, queue, 0, 0, 0});
    clocks(&b, 2, (struct share){busy, 0.2, 0, 0, 0});
    case_verdict(build_analyze(&b), "cpu-contention", v);
}

/* The GPU waits 4 ms of 10 for the workers, and half a millisecond for the training thread. */
static void fill_waits_more(struct builder *b, int64_t at)
{
    build_range(b, "data.wait", at, at + MS(4));
    b->thread = 2;
    build_range_at(b, "data.decode", 0, at, at + MS(10));
    b->thread = 1;
    build_kernel(b, case_gemm, at + MS(4.5), at + MS(4.5) + US(10), US(5480));
}

/* A container's CPU limit, used up in `throttled` of 200 periods. */
static void limit_case(const char *throttled, double queue, enum verdict v, const char *says)
{
    struct builder b = start("8");
    build_meta(&b, "cgroup_cpu_quota", "2.00");
    build_meta(&b, "cgroup_cpu_periods", "200");
    build_meta(&b, "cgroup_cpu_throttled_periods", throttled);
    case_loop(&b, fill_away);
    clocks(&b, 1, (struct share){0.5, queue, 0, 0, 0});
    clocks(&b, 2, (struct share){0.4, 0.1, 0, 0, 0});
    const struct outcome *o = case_verdict(build_analyze(&b), "cpu-contention", v);
    ck_assert_msg(strstr(v == RULE_FIRES ? o->summary : o->why, says) != NULL, "%s / %s",
                  o->summary ? o->summary : "-", o->why ? o->why : "-");
}

/* torchrun says OMP_NUM_THREADS=1 itself: that is no advice any more. */
TEST(one_thread_each_already)
{
    for (int one = 0; one < 2; one++) {
        struct builder b = start("1");
        build_meta(&b, "env.OMP_NUM_THREADS", one ? "1" : "8");
        case_loop(&b, fill_away);
        clocks(&b, 1, (struct share){0.5, 0.2, 0, 0, 0});
        clocks(&b, 2, (struct share){0.8, 0.2, 0, 0, 0});
        const struct outcome *o = case_outcome(build_analyze(&b), "cpu-contention");
        ck_assert_int_eq(o->verdict, RULE_FIRES);
        case_does(o, one ? ACTION_START_FEWER_PROCESSES : ACTION_FREE_A_CORE);
    }
}

TEST(test_cpu_contention)
{
    contention_case("1", 0.8, 0.2, RULE_FIRES);      /* wants 1.7 cores of 1 */
    contention_case("8", 0.8, 0.2, RULE_SUPPRESSED); /* somebody else's work */
    contention_case("2", 0.6, 0.9, RULE_SUPPRESSED); /* wants 2.2 of 2, but has 1.1: crowded out */
    contention_case("1", 0.8, 0.01, RULE_SILENT);
    contention_case("1", 0.8, -1, RULE_CANNOT_TELL);
}

/* The cores were another program's: no finding, but the verdict and what to do next are about it. A
 * program with many busy threads of its own is the cause whoever has the cores meanwhile. */
TEST(test_verdict_names_it)
{
    struct builder b = start("2");
    case_loop(&b, fill_away);
    clocks(&b, 1, (struct share){0.4, 0.5, 0, 0, 0});
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "cpu-contention", RULE_SUPPRESSED);
    ck_assert_str_eq(a->verdict_class, "contention");
    ck_assert_str_eq(a->verdict_class, "contention");
    ck_assert_int_le(llabs(a->facts->host.starved_ns - MS(5)), MS(0.1));
    ck_assert_msg(strncmp(a->next, "Give the training thread a core of its own", 42) == 0, "%s",
                  a->next);

    b = start("2");
    case_loop(&b, fill_away);
    clocks(&b, 1, (struct share){0.4, 0.15, 0, 0, 0});
    a = build_analyze(&b);
    ck_assert_str_ne(a->verdict_class, "contention");
    ck_assert_msg(strstr(a->why, "had no core for 1.50 ms (15 %)") != NULL, "%s", a->why);

    b = start("2");
    for (int i = 3; i < 6; i++)
        build_thread(&b, i, "busy");
    case_loop(&b, fill_away);
    clocks(&b, 1, (struct share){0.2, 0.5, 0, 0, 0});
    for (int i = 2; i < 6; i++)
        clocks(&b, i, (struct share){0.2, 0.7, 0, 0, 0});
    case_verdict(build_analyze(&b), "cpu-contention", RULE_FIRES);

    b = start("2"); /* many threads that want little each are not why */
    for (int i = 3; i < 11; i++)
        build_thread(&b, i, "light");
    case_loop(&b, fill_away);
    clocks(&b, 1, (struct share){0.2, 0.5, 0, 0, 0});
    for (int i = 2; i < 11; i++)
        clocks(&b, i, (struct share){0.1, 0.25, 0, 0, 0});
    case_verdict(build_analyze(&b), "cpu-contention", RULE_SUPPRESSED);
}

TEST(test_workers_are_worse_off)
{
    struct builder b = start("1");
    case_loop(&b, fill_waits_more);
    clocks(&b, 1, (struct share){0.4, 0.1, 0, 0, 0});
    clocks(&b, 2, (struct share){0.45, 0.5, 0, 0, 0});
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "cpu-contention", RULE_SUPPRESSED);
    case_first(a, "starved-workers", MS(4.5)); /* all of the waiting, also for the thread */
    const struct outcome *o = case_outcome(a, "starved-workers");
    ck_assert_double_eq_tol(case_value(o, "GPU idle for input"), 4, 0.1);
    ck_assert_double_eq_tol(case_value(o, "training thread ready, but without a core,"), 1, 0.1);
}

static void fill_waits_and_away(struct builder *b, int64_t at)
{
    build_range(b, "data.wait", at, at + MS(3));
    b->thread = 2;
    build_range_at(b, "data.decode", 0, at, at + MS(10));
    b->thread = 1;
    build_kernel(b, case_gemm, at + MS(3), at + MS(3) + US(10), MS(1));
    build_kernel(b, case_gemm, at + MS(8), at + MS(8) + US(10), US(1990));
}

/* Another program has the cores: with the training thread it is the verdict, and no finding; without
 * it nothing else would say so. */
TEST(others_keep_all_from_the_cores)
{
    for (int i = 0; i < 2; i++) {
        struct builder b = start("2");
        case_loop(&b, fill_waits_and_away);
        clocks(&b, 1, (struct share){0.2, i ? 0.4 : 0.02, 0, 0, 0});
        clocks(&b, 2, (struct share){0.2, 0.75, 0, 0, 0});
        const struct advice *a = build_analyze(&b);
        case_verdict(a, "starved-workers", i ? RULE_SUPPRESSED : RULE_FIRES);
        ck_assert_int_eq(a->class == VERDICT_CONTENTION, i);
    }
}

/* The GPU waits 1 ms of 10 for the workers, and 7 ms for the training thread. */
static void fill_waits_for_both(struct builder *b, int64_t at)
{
    build_range(b, "data.wait", at, at + MS(1));
    b->thread = 2;
    build_range_at(b, "data.decode", 0, at, at + MS(10));
    b->thread = 1;
    build_kernel(b, case_gemm, at + MS(1), at + MS(1) + US(10), US(990));
    build_kernel(b, case_gemm, at + MS(9), at + MS(9) + US(10), US(990));
}

/* One cause: cores for all end both waits. What the thread computes stays, though faster. */
static void both_case(double workers_queue, double computing, int64_t saves)
{
    struct builder b = start("1");
    case_loop(&b, fill_waits_for_both);
    clocks(&b, 1, (struct share){computing, 0.2, 0, 0, 0});
    clocks(&b, 2, (struct share){0.45, workers_queue, 0, 0, 0});
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "cpu-contention", RULE_FIRES);
    case_verdict(a, "starved-workers", workers_queue > 0.3 ? RULE_SUPPRESSED : RULE_SILENT);
    ck_assert_int_le(llabs(case_outcome(a, "cpu-contention")->saves_high_ns - saves), US(60));
}

TEST(test_both_wait)
{
    both_case(0.5, 0.3, MS(8));
    both_case(0.5, 0.8, MS(6)); /* 4 ms of 10 stay */
    both_case(0.05, 0.4, MS(7));
}

/* Nothing repeats: the rule on the workers cannot speak there. */
TEST(test_both_wait_in_a_window)
{
    struct builder b = start("1");
    for (int i = 0; i < CASE_STEPS; i++) {
        char name[16];
        int64_t at = MS(100) + MS(10) * i;
        snprintf(name, sizeof name, "kernel_%d", i);
        build_range(&b, "data.wait", at, at + MS(3));
        b.thread = 2;
        build_range_at(&b, "data.decode", 0, at, at + MS(10));
        b.thread = 1;
        build_kernel(&b, name, at + MS(7), at + MS(7) + US(10), MS(2.9));
    }
    clocks(&b, 1, (struct share){0.4, 0.2, 0, 0, 0});
    clocks(&b, 2, (struct share){0.45, 0.5, 0, 0, 0});
    const struct advice *a = build_analyze(&b);
    ck_assert(analysis_of_window(a->facts));
    case_verdict(a, "starved-workers", RULE_CANNOT_TELL);
    case_verdict(a, "cpu-contention", RULE_FIRES);
}

TEST(test_limit_of_the_container)
{
    limit_case("80", 0.2, RULE_FIRES, "limit of 2.00 cores in 40 %");
    limit_case("1", 0.2, RULE_SUPPRESSED, "another program took the core");
    limit_case("80", 0.001, RULE_SILENT, "had no core for");
}
