/* Cases of the rule host-work: when it fires, when it is silent or suppressed, and when it cannot
 * tell. */
#include "tests/rules/cores.h"
#include "tests/rules/refuse.h"
#include "tests/rules/stacks.h"
#include "tests/rules/trace.h"
#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"

/* 4 ms of 10 in which the host does not launch; the queue is dry. */
static void fill_absence(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + MS(4), at + MS(4) + US(10), US(5980));
}

TEST(test_no_core_is_no_host_work)
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
    }
}

/* 8 ms of 10 in which the host does not launch. */
static void fill_long_absence(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + MS(8), at + MS(8) + US(10), US(1980));
}

/* On free cores a step would take 2.5 or 3 ms, and the GPU wait for 0.2 or 1 of them. */
TEST(the_hosts_own_work_beside_a_missing_core)
{
    static const double shares[] = {0.78, 0.7};
    for (int i = 0; i < 2; i++) {
        struct builder b = build_start();
        case_loop(&b, fill_long_absence);
        starve(&b, shares[i]);
        const struct advice *a = build_analyze(&b);
        const struct outcome *o = case_verdict(a, "host-work", i ? RULE_FIRES : RULE_SUPPRESSED);
        ck_assert_int_eq(a->class, VERDICT_CONTENTION);
        ck_assert(i == 0 || o->upper_bound);
    }
}

static void fill_host_work(struct builder *b, int64_t at)
{
    build_range(b, "postprocess", at, at + MS(4));
    build_kernel(b, case_gemm, at + MS(4), at + MS(4) + US(10), US(5980));
}

TEST(test_host_work)
{
    const struct advice *a = case_advice(fill_host_work);
    const struct outcome *o = case_first(a, "host-work", MS(4));
    case_measures(o, "of that, inside 'postprocess'", 4.01, 0.02);
    ck_assert_int_eq(o->error_class, ERROR_RERUN_DECIDES);
    QUIET(a, "num-workers", "sync-in-loop", "cuda-graphs", "warm-up");
}

static void fill_optimizer(struct builder *b, int64_t at)
{
    build_range(b, "optimizer.step", at, at + MS(4));
    build_kernel(b, case_gemm, at + MS(4), at + MS(4) + US(10), US(5980));
}

/* No loader's worker does an optimizer's work. */
TEST(an_optimizer_is_fused)
{
    for (int fused = 0; fused < 2; fused++) {
        struct builder b = build_start();
        if (fused)
            build_meta(&b, "torch.optimizer", "AdamW(foreach=None, fused=True)");
        case_loop(&b, fill_optimizer);
        const struct outcome *o = case_first(build_analyze(&b), "host-work", MS(4));
        case_does(o, fused ? ACTION_MOVE_HOST_WORK : ACTION_FUSE_HOST_UPDATE);
    }
}

TEST(test_no_host_work)
{
    case_verdict(case_advice(case_busy), "host-work", RULE_SILENT);
    case_cannot_tell(case_busy, "kernels,ranges", "host-work");
}

/* The backward pass has a thread of its own, which launches as much and has no core either. */
TEST(the_backward_thread_needs_a_core_too)
{
    for (int i = 0; i < 2; i++) {
        struct builder b = build_start();
        build_thread(&b, 2, "backward");
        for (int k = 0; k < CASE_STEPS; k++) {
            int64_t at = MS(100) + MS(10) * k;
            build_kernel(&b, case_gemm, at + MS(3), at + MS(3) + US(10), MS(2));
            b.thread = 2;
            build_kernel(&b, case_gemm, at + MS(8), at + MS(8) + US(10), US(1900));
            b.thread = 1;
            build_range(&b, "step", at, at + MS(10));
        }
        clocks(&b, 1, (struct share){0.2, 0.15, 0, -1, -1});
        clocks(&b, 2, (struct share){0.2, i ? 0.2 : 0, 0, -1, -1});
        const struct advice *a = build_analyze(&b);
        ck_assert_int_eq(a->facts->host.starved_ns, MS(i ? 3.5 : 1.5));
        ck_assert_int_eq(a->facts->host.asleep_ns, MS(i ? 2.5 : 4.5));
        const struct outcome *o = case_verdict(a, "host-work", RULE_FIRES);
        case_measures(o, "of that, at most, its threads were ready to run but had no core",
                      i ? 2.135 : 0.915, 0.01);
        ck_assert_int_eq(o->saves_high_ns, a->facts->breakdown_ns[PART_IDLE_HOST]);
    }
}

static void fill_backward(struct builder *b, int64_t at)
{
    build_range(b, "backward", at, at + MS(4));
    build_kernel(b, case_gemm, at + MS(4), at + MS(4) + US(10), US(5980));
}

TEST(a_backward_pass_on_the_cpu)
{
    static const char *const weights[] = {"12 tensors, 3000 numbers, float32, on cpu",
                                          "12 tensors, 3000 numbers, float32, on cuda:0"};
    for (int i = 0; i < 2; i++) {
        struct builder b = build_start();
        case_loop(&b, fill_backward);
        build_meta(&b, "torch.parameters", weights[i]);
        const struct advice *a = build_analyze(&b);
        case_verdict(a, "host-work", RULE_FIRES);
        case_does(case_outcome(a, "host-work"), i ? ACTION_MOVE_HOST_WORK : ACTION_TRAIN_ON_GPU);
    }
}

/* Who sleeps computes nothing: an environment in another process is at work. */
TEST(waiting_is_no_work)
{
    static const double computes[] = {0.9, 0.1};
    for (int i = 0; i < 2; i++) {
        struct builder b = build_start();
        case_loop(&b, fill_absence);
        clocks(&b, 1, (struct share){computes[i], 0.01, 0, -1, -1});
        const struct outcome *o = case_verdict(build_analyze(&b), "host-work", RULE_FIRES);
        ck_assert_int_eq(evidence(o, "the launching threads sleep") != NULL, i);
        case_does(o, i ? ACTION_WAIT_ASIDE : ACTION_MOVE_HOST_WORK);
    }
}

/* What is set aside as one-time work is no place to look at for the rest. */
TEST(the_place_is_that_of_what_is_left)
{
    struct builder b = build_start();
    build_kernel(&b, case_gemm, MS(0), US(10), MS(5));
    build_range(&b, "aten::add_", MS(5), MS(31));
    int64_t call = build_api(&b, "cudaLaunchKernel", MS(5), MS(25));
    build_kernel_of(&b, "first_kernel", call, MS(30), MS(1), 64);
    build_range(&b, "prepare", MS(31), MS(50));
    for (int i = 0; i < 10; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer_%d", i);
        build_kernel(&b, name, MS(50) + US(10 * i), MS(51 + 3 * i), MS(3));
    }
    const struct outcome *o = case_verdict(build_analyze(&b), "host-work", RULE_FIRES);
    case_measures(o, "of that, inside 'prepare'", 19, 0.1);
    ck_assert_ptr_null(evidence(o, "aten::add_"));
}

/* An operator on the CPU, in place of the whole step. */
static void fill_operator(struct builder *b, int64_t at)
{
    build_range_in(b, "cpu_op", "aten::normal_", 1, at, at + US(9400));
    build_kernel(b, case_gemm, at + US(9400), at + US(9410), US(580));
}

TEST(an_operator_is_named_however_long)
{
    const struct outcome *o = case_outcome(case_advice(fill_operator), "host-work");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    case_measures(o, "of that, inside 'aten::normal_'", 9.41, 0.02);
}

static const char *spread_domain;
static bool spread_looks; /* samples show the lines, one in each place */

/* No place has half of it, and all of it lies in one. */
static void fill_spread(struct builder *b, int64_t at)
{
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "part %d", i);
        int64_t from = at + MS(3 * i), to = from + MS(2);
        build_range_in(b, spread_domain, name, 1, from, to);
        build_kernel(b, case_gemm, to, to + US(10), i < 2 ? US(990) : US(1990));
        if (spread_looks)
            look_at(b, stack_of(b, "/home/me/train.py", name, 5), from + MS(1));
    }
}

TEST(many_places_are_no_place_outside)
{
    enum { NEITHER, PYTHON, LOOKS, CASES };
    for (int c = 0; c < CASES; c++) {
        bool python = c == PYTHON;
        spread_domain = python ? "python" : "cpu_op";
        spread_looks = c == LOOKS;
        const struct advice *a = case_advice(fill_spread);
        const struct outcome *o = case_outcome(a, "host-work");
        ck_assert_int_eq(o->verdict, RULE_FIRES);
        ck_assert_msg(strstr(o->summary, "in many places, the most ("), "%s", o->summary);
        ck_assert_msg(strstr(o->summary, "in 'part "), "%s", o->summary);
        case_does(o, ACTION_MOVE_HOST_WORK);
        case_said(o, CONDITION_SPREAD, true);
        case_said(o, CONDITION_LINES_KNOWN, c != NEITHER);
        ck_assert_int_eq((int)a->facts->health.python_functions, python ? 3 * CASE_STEPS : 0);
    }
    spread_looks = false;
}

/* What is said to PyTorch's programs is not said to others'. */
TEST(many_places_in_jax)
{
    spread_domain = "cpu_op";
    const struct advice *a = case_advice_with(fill_spread, "framework", "xla");
    const struct outcome *o = case_outcome(a, "host-work");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert_str_eq(outcome_remedy(a->facts, o), o->words[FRAMEWORK_XLA]);
}

static int64_t pause_ns; /* in front of each kernel */
static void fill_pauses(struct builder *b, int64_t at)
{
    for (int64_t from = at; from + pause_ns + US(1010) <= at + MS(10); from += pause_ns + US(1010))
        build_kernel(b, case_gemm, from + pause_ns, from + pause_ns + US(10), MS(1));
}

static void fill_compiled_pauses(struct builder *b, int64_t at)
{
    for (int64_t from = at; from + US(1610) <= at + MS(10); from += US(1610))
        build_kernel(b, "triton_poi_fused_gelu_0", from + US(600), from + US(610), MS(1));
}

/* What is compiled need not be told to be. */
TEST(pauses_of_compiled_code)
{
    struct builder b = build_start();
    case_loop(&b, fill_compiled_pauses);
    case_does(case_outcome(build_analyze(&b), "host-work"), ACTION_COMPILE_TO_GRAPHS);
}

/* A framework's way from one operator to the next cannot move to another thread. */
TEST(brief_pauses_are_between_operators)
{
    for (int i = 0; i < 2; i++) {
        pause_ns = i ? US(1500) : US(600);
        const struct outcome *o = case_outcome(case_advice(fill_pauses), "host-work");
        ck_assert_int_eq(o->verdict, RULE_FIRES);
        ck_assert_msg((strstr(o->summary, "in many pauses below 1 ms") == NULL) == i, "%s",
                      o->summary);
        case_does(o, i ? ACTION_MOVE_HOST_WORK : ACTION_RUN_LESS_BETWEEN_LAUNCHES);
    }
}

/* What was recorded with stacks need not be recorded with them again. */
TEST(no_advice_to_record_the_stacks_that_are_there)
{
    struct builder b = build_start();
    build_range_in(&b, "python", "train.py(7): main", 0, MS(90), MS(230));
    case_loop(&b, fill_absence);
    const struct outcome *o = case_outcome(build_analyze(&b), "host-work");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert_msg(strstr(o->summary, "in Python between operators"), "%s", o->summary);
    case_said(o, CONDITION_LINES_KNOWN, true);
}

/* The compiler works in each step, or what it made is called. */
TEST(code_that_is_compiled_anew)
{
    static const char *const files[] = {"convert_frame.py", "eval_frame.py"};
    for (int i = 0; i < 2; i++) {
        struct builder b = build_start();
        char file[128];
        snprintf(file, sizeof file, "/x/lib/python3.11/site-packages/torch/_dynamo/%s", files[i]);
        int64_t line = stack_of(&b, "/home/me/train.py", "main", 16);
        int64_t inner = stack_below(&b, line, file, "__call__", 7);
        build_meta(&b, "torch.version", "2.14.1");
        case_loop(&b, fill_absence);
        for (int k = 0; k < CASE_STEPS * 8; k++)
            look_at(&b, inner, MS(100) + MS(10) * (k / 8) + US(450) * (k % 8) + US(100));
        const struct outcome *o = case_outcome(build_analyze(&b), "host-work");
        ck_assert_int_eq(o->verdict, RULE_FIRES);
        ck_assert_int_eq(o->remedy.action == ACTION_COMPILE_ONCE, i == 0);
        ck_assert(i == 1 || strcmp(o->remedy.object.place, "train.py:16") == 0);
    }
}

static int calls; /* of Python, with their stacks */

static void fill_calls(struct builder *b, int64_t at)
{
    for (int i = 0; i < calls; i++)
        build_range_in(b, "python", "f", 1, at + MS(10) * i / calls, at + MS(10) * i / calls + 100);
    for (int i = 1; i <= 10; i++)
        build_api(b, "cudaEventRecord", at + MS(10) * i / 10 - US(20), US(10));
    build_kernel(b, case_gemm, at + MS(5), at + MS(5) + US(10), MS(5));
}

/* PyTorch's profiler takes time for each call whose stack it keeps. */
TEST(time_that_recording_stacks_takes_is_not_the_programs)
{
    static const struct {
        int calls;
        enum verdict verdict;
    } cases[] = {{100, RULE_FIRES}, {4500, RULE_SUPPRESSED}};
    for (int i = 0; i < 2; i++) {
        struct builder b = build_start();
        calls = cases[i].calls;
        case_loop(&b, fill_calls);
        const struct outcome *o = case_outcome(build_predict(&b), "host-work");
        ck_assert_msg(o->verdict == cases[i].verdict, "%s", o->why);
    }
}

/* One wait at the end of a step, then 7 ms without a call: an export of Nsight has no operators. */
static void fill_silent(struct builder *b, int64_t at)
{
    for (int i = 0; i < 10; i++)
        build_kernel(b, "k", at + US(20 * i), at + US(20 * i) + US(10), US(200));
    build_sync(b, at + US(220), MS(2));
}

TEST(silence_may_be_a_batch_in_the_making)
{
    const struct outcome *o = case_outcome(case_advice(fill_silent), "host-work");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert_msg(strstr(o->summary, "says whether it makes a batch") != NULL, "%s", o->summary);
    ck_assert_int_eq(case_outcome(case_advice(fill_silent), "num-workers")->verdict,
                     RULE_CANNOT_TELL);
}
