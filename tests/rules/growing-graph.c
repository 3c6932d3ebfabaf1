/* Cases of the rule growing-graph: when it fires, when it is silent, and when it cannot tell. No
 * trainer plants it: the graph that grows is autograd's. */
#include "tests/rules/cpu.h"
#include "tests/unit/rule_case.h"

/* Steps of 10 kernels; each has `more` than the one before it, and where `uneven` now and then
 * others. Each kernel takes 50 us. */
static const char *source = "run";
static struct builder loop(int steps, int more, bool uneven)
{
    struct builder b = build_start();
    int64_t at = MS(100);
    build_meta(&b, "torch.version", "2.14.1");
    build_meta(&b, "source", source);
    for (int i = 0; i < steps; i++) {
        int n = 10 + more * i + (uneven ? 7 * (i % 3) : 0);
        for (int k = 0; k < n; k++)
            build_kernel(&b, "gemm", at + US(50 * k), at + US(50 * k + 10), US(40));
        build_range(&b, "step", at, at + US(50 * n));
        at += US(50 * n);
    }
    return b;
}

TEST(test_growing_graph)
{
    struct builder b = loop(40, 5, false);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_verdict(a, "growing-graph", RULE_FIRES);
    ck_assert_double_eq(case_value(o, "more in each step than in the one before it"), 5);
    ck_assert_double_eq_tol((double)o->saves_high_ns, US(50) * 97.5, US(300)); /* of 5.4 ms */
    ck_assert_ptr_eq(a->ranked[0], o);
    case_does(o, ACTION_DETACH_STATE);
    source =
        "kineto"; /* of six steps amid a run: all but one pass through the graph may be too much */
    b = loop(6, 5, false);
    a = build_analyze(&b);
    o = case_verdict(a, "growing-graph", RULE_FIRES);
    ck_assert_int_gt(o->saves_high_ns, a->facts->step_ns / 2);
    source = "run";
}

TEST(steps_that_do_not_grow)
{
    static const struct {
        int steps, more;
        bool uneven;
    } cases[] = {{40, 0, false}, {40, 0, true}, {40, 1, true}, {5, 5, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct builder b = loop(cases[i].steps, cases[i].more, cases[i].uneven);
        case_verdict(build_analyze(&b), "growing-graph", RULE_SILENT);
    }
    struct builder b = build_start(); /* nothing repeats */
    build_kernel(&b, "gemm", MS(1), MS(2), MS(3));
    case_verdict(build_analyze(&b), "growing-graph", RULE_CANNOT_TELL);
}

TEST(test_growing_graph_on_a_cpu)
{
    struct builder b = cpu_training("12 tensors, 1000 numbers, float32, on cpu", 1);
    build_meta(&b, "torch.backward.again", "12 passes, 90 % at train.py:9");
    const struct outcome *o =
        case_first(build_analyze(&b), "growing-graph", MS(4) - MS(4) * 2 / (CPU_STEPS + 1));
    ck_assert_str_eq(o->remedy.object.place, "train.py:9");
    b = cpu_training("12 tensors, 1000 numbers, float32, on cpu", 3); /* within one step */
    build_meta(&b, "torch.backward.again", "3 passes, 60 % at train.py:9");
    case_verdict(build_analyze(&b), "growing-graph", RULE_SILENT);
    b = cpu_training(NULL, 1);
    case_verdict(build_analyze(&b), "growing-graph", RULE_CANNOT_TELL);
}
