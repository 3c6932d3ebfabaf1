/* Cases of the rule other-steps: when it fires, when it is silent, and when it cannot tell. No
 * trainer plants it: it names lines of Python code that write a checkpoint or validate. */
#include "tests/rules/stacks.h"
#include "tests/unit/rule_case.h"

enum { STEPS = 30, EVERY = 5 };
static int steps = STEPS, every = EVERY;
static const char *compiler; /* a file of PyTorch's compiler, below the line; NULL: none */
static bool many_lines;   /* the line calls a function of three lines, none with half of the time */
static const char *nodes; /* of a graph that evaluations make; NULL: none */
static bool model;        /* the line calls a module of the user's, which is looked at */

/* A step of 10 ms; each EVERY-th is `long_ms` long, with other launches behind the usual ones. */
static struct builder loop(double long_ms)
{
    struct builder b = build_start();
    int64_t save = stack_of(&b, "/home/me/train.py", "save", 13), at = MS(100);
    if (compiler) {
        struct row_stack r = {
            ++b.next_id, save, build_text(&b, compiler), build_text(&b, "compile"), 7, 0};
        build_put(&b, ROW_STACK, &r);
        save = r.id;
    }
    if (model) {
        save = stack_below(&b, save, "/x/lib/python3.11/site-packages/torch/nn/modules/module.py",
                           "Module._call_impl", 1780);
        save = stack_below(&b, save, "/home/me/net.py", "Net.forward", 5);
    }
    if (nodes)
        build_meta(&b, "torch.evaluation.nodes", nodes);
    for (int i = 0; i < steps; i++) {
        bool longer = i % every == every - 1 && long_ms > 0;
        int64_t length = longer ? MS(long_ms) : MS(10);
        for (int k = 0; k < 20; k++)
            build_kernel(&b, case_gemm, at + US(20 * k), at + US(100 + 480 * k), US(470));
        for (int k = 0; longer && k < 40; k++) {
            int64_t t = at + MS(10) + (length - MS(10)) / 40 * k;
            build_copy(&b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, false, 4000000, t, US(300),
                       t + US(20), US(250));
            look_at(&b,
                    many_lines ? stack_below(&b, save, "/home/me/boxes.py", "iou", 5 + k % 3)
                               : save,
                    t + US(400));
        }
        if (nodes && longer)
            build_range(&b, "validation", at + MS(10), at + length - MS(1));
        build_range(&b, "step", at, at + length);
        at += length;
    }
    return b;
}

TEST(test_other_steps)
{
    struct builder b = loop(200);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_verdict(a, "other-steps", RULE_FIRES);
    ck_assert_str_eq(o->remedy.object.place, "train.py:13");
    ck_assert_double_eq_tol(case_value(o, "that work, spread over all steps"), 190.0 / EVERY, 8);
    ck_assert_ptr_eq(a->ranked[0], o);
    ck_assert_double_eq_tol((double)o->saves_high_ns, MS(190) / EVERY, MS(8)); /* not one step */
    ck_assert_double_eq_tol((double)outcome_of_ns(a->facts, o), MS(10 + 190 / EVERY), MS(8));
    struct group_total lost = advice_group(a, false);
    ck_assert(lost.of_run && lost.most_ns >= o->saves_high_ns && lost.most_ns <= a->facts->run_ns);
    ck_assert_ptr_nonnull(strstr(a->verdict, "ms per step of the run ("));
    b = loop(0);
    case_verdict(build_analyze(&b), "other-steps", RULE_SILENT);
    b = build_start(); /* nothing repeats */
    build_kernel(&b, case_gemm, MS(1), MS(2), MS(3));
    case_verdict(build_analyze(&b), "other-steps", RULE_CANNOT_TELL);
}

/* As a profiler's trace has them: of ten steps two are no chance, one may be. */
TEST(few_steps)
{
    static const struct {
        int steps;
        enum verdict verdict;
    } cases[] = {{12, RULE_FIRES}, {8, RULE_SILENT}};
    for (int i = 0; i < 2; i++) {
        steps = cases[i].steps;
        struct builder b = loop(200);
        case_verdict(build_analyze(&b), "other-steps", cases[i].verdict);
    }
    steps = STEPS;
}

/* A compilation for each new value is no checkpoint. */
TEST(test_compilation)
{
    compiler = "/x/lib/python3.11/site-packages/torch/_dynamo/convert_frame.py";
    struct builder b = loop(200);
    const struct outcome *o = case_verdict(build_analyze(&b), "other-steps", RULE_FIRES);
    case_does(o, ACTION_COMPILE_ONCE);
    ck_assert_str_eq(o->remedy.object.place, "train.py:13");
    compiler = NULL;
}

/* Of a validation the model's lines do not say what it is for: the line that calls the model does. */
TEST(test_line_outside_the_model)
{
    model = true;
    struct builder b = loop(200);
    const struct outcome *o = case_verdict(build_analyze(&b), "other-steps", RULE_FIRES);
    ck_assert_str_eq(o->remedy.object.place, "train.py:13");
    model = false;
}

/* Of a function of many lines that is called in a loop, the loop is named. */
TEST(test_line_of_the_caller)
{
    many_lines = true;
    struct builder b = loop(200);
    const struct outcome *o = case_verdict(build_analyze(&b), "other-steps", RULE_FIRES);
    ck_assert_str_eq(o->remedy.object.place, "train.py:13");
    ck_assert_ptr_nonnull(strstr(o->summary, "save() train.py:13 and what it calls"));
    many_lines = false;
}

/* torch.no_grad() is missing. */
TEST(test_evaluation_with_a_graph)
{
    nodes = "312";
    struct builder b = loop(200);
    const struct outcome *o = case_verdict(build_analyze(&b), "other-steps", RULE_FIRES);
    case_said(o, CONDITION_KEEPS_GRAPH, true);
    ck_assert_ptr_nonnull(strstr(o->summary, "makes a graph of 312 nodes that no backward pass"));
    nodes = NULL;
    b = loop(200);
    case_said(case_verdict(build_analyze(&b), "other-steps", RULE_FIRES), CONDITION_KEEPS_GRAPH,
              false);
}

/* Between two updates an agent acts: it calls the model often, reads each result, and the GPU idles. An evaluation
 * that reads its predictions gets its batches from a loader. */
static struct builder acting(int calls, int64_t read, bool loads)
{
    struct builder b = build_start();
    int64_t line = stack_of(&b, "/home/me/train.py", "rollout", 13), at = MS(100);
    if (loads)
        line =
            stack_below(&b, line, "/x/lib/python3.11/site-packages/torch/utils/data/dataloader.py",
                        "_BaseDataLoaderIter.__next__", 700);
    for (int i = 0; i < STEPS; i++) {
        int n = i % EVERY == EVERY - 1 ? calls : 0;
        for (int k = 0; k < 20; k++)
            build_kernel(&b, case_gemm, at + US(20 * k), at + US(100 + 480 * k), US(470));
        for (int k = 0; k < n; k++) {
            int64_t t = at + MS(10 + 2 * k);
            build_copy(&b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, false, 64, t, US(10),
                       t + US(2), US(2));
            build_kernel(&b, case_gemm, t + US(20), t + US(30), US(5));
            build_copy(&b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, false, read, t + US(40),
                       US(20), t + US(45), US(2));
            look_at(&b, line, t + US(900));
        }
        build_range(&b, "step", at, at + MS(10 + 2 * n));
        build_range(&b, "optimizer.step", at + MS(9), at + MS(10));
        at += MS(10 + 2 * n);
    }
    return b;
}

TEST(an_agent_acts_between_updates)
{
    static const struct {
        int calls;
        int64_t read;
        bool loads, acts;
    } cases[] = {
        {60, 32, false, true}, {60, 8, false, false}, {60, 32, true, false}, {8, 32, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct builder b = acting(cases[i].calls, cases[i].read, cases[i].loads);
        const struct outcome *o = case_verdict(build_analyze(&b), "other-steps", RULE_FIRES);
        case_does(o, cases[i].acts ? ACTION_CHOOSE_ACTIONS_TOGETHER : ACTION_MOVE_RARE_WORK);
        ck_assert_msg(!cases[i].acts || strstr(o->summary, "calls the model 58 times"), "%s",
                      o->summary); /* an update follows the last one */
    }
}

/* Two long steps of many may be chance, two evaluations are not. */
TEST(two_evaluations)
{
    every = STEPS / 2;
    struct builder chance = loop(200);
    case_verdict(build_analyze(&chance), "other-steps", RULE_SILENT);
    nodes = "105";
    struct builder evaluations = loop(200);
    case_verdict(build_analyze(&evaluations), "other-steps", RULE_FIRES);
    nodes = NULL;
    every = EVERY;
}
