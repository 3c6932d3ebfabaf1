/* Cases of the rule forward-only: when it fires, when it is silent, and when it cannot tell. No
 * trainer plants it: their launches carry no lines of Python. */
#include "tests/unit/rule_case.h"
#include "tests/rules/launch_lines.h"

/* Steps of 10 ms: an encoder for 4 ms, a head for 1 ms, and the backward pass of the head, for 2
 * ms; `learns`: and of the encoder. */
static struct builder loop(const char *frozen, bool learns)
{
    struct builder b = build_start();
    int64_t encoder = line_in(&b, "encoder.0 (Linear)", "Net.forward", 9);
    int64_t head = line_in(&b, "head (Linear)", "Net.forward", 12);
    build_meta(&b, "torch.version", "2.14.1");
    if (frozen)
        build_meta(&b, "torch.modules.frozen", frozen);
    launches_have_lines(&b, MS(100), MS(100 + 10 * CASE_STEPS) - 1);
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100 + 10 * i);
        launch_from(&b, SPOOL_LINE_OWN, encoder, at);
        build_kernel(&b, case_gemm, at + US(10), at + US(20), MS(4));
        launch_from(&b, SPOOL_LINE_OWN, head, at + US(30));
        build_kernel(&b, case_gemm, at + US(40), at + MS(4.1), MS(1));
        launch_from(&b, SPOOL_LINE_FORWARD, head, at + US(50));
        build_kernel(&b, case_gemm, at + US(60), at + MS(5.2), MS(2));
        if (learns)
            launch_from(&b, SPOOL_LINE_FORWARD, encoder, at + US(70));
        build_kernel(&b, case_gemm, at + US(80), at + MS(7.3), MS(2));
        build_range(&b, "step", at, at + MS(10));
    }
    return b;
}

TEST(test_forward_only)
{
    struct builder b = loop("encoder (Encoder), same input at train.py:50", false);
    const struct outcome *o = case_first(build_analyze(&b), "forward-only", MS(4));
    ck_assert_str_eq(o->remedy.object.place, "train.py:50");
    ck_assert(o->upper_bound);
    ck_assert_str_eq(o->title, "Keep what encoder (Encoder) computes from the same input");
    case_said(o, CONDITION_FROZEN, true);
    case_said(o, CONDITION_SAME_INPUT, true);
    ck_assert_msg(strstr(o->summary, "of encoder (Encoder), which does not learn, some of it "
                                     "for the same tensor again, at train.py:50"),
                  "%s", o->summary);
    b = loop(NULL, false); /* a result that nobody uses */
    o = case_verdict(build_analyze(&b), "forward-only", RULE_FIRES);
    case_said(o, CONDITION_FROZEN, false);
    ck_assert_str_eq(o->remedy.object.place, "train.py:9");
}

/* A network that a loss compares with goes over the same picture again, and over others with a backward
 * pass: the call for that picture is named, not the line of its layers. */
TEST(same_input_beside_others)
{
    static const struct {
        const char *frozen, *place;
        bool kept;
    } cases[] = {{"encoder (Encoder), same input at train.py:50", "train.py:50", true},
                 {"encoder (Encoder) at train.py:50", "train.py:9", false},
                 {"other (Other), same input at train.py:50", "train.py:9", false}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct builder b = build_start();
        int64_t layer = line_in(&b, "encoder.0 (Linear)", "Encoder.forward", 9);
        int64_t last = line_in(&b, "encoder.1 (Linear)", "Encoder.forward", 10);
        build_meta(&b, "torch.version", "2.14.1");
        build_meta(&b, "torch.modules.frozen", cases[c].frozen);
        launches_have_lines(&b, MS(100), MS(100 + 10 * CASE_STEPS) - 1);
        for (int i = 0; i < CASE_STEPS; i++) {
            int64_t at = MS(100 + 10 * i);
            launch_from(&b, SPOOL_LINE_OWN, layer, at);
            build_kernel(&b, case_gemm, at + US(10), at + US(20), MS(4));
            launch_from(&b, SPOOL_LINE_OWN, last, at + US(30));
            build_kernel(&b, case_gemm, at + US(40), at + MS(4.1), MS(2));
            launch_from(&b, SPOOL_LINE_FORWARD, last, at + US(50));
            build_kernel(&b, case_gemm, at + US(60), at + MS(6.2), MS(3));
            build_range(&b, "step", at, at + MS(10));
        }
        const struct outcome *o = case_verdict(build_analyze(&b), "forward-only", RULE_FIRES);
        ck_assert_str_eq(o->remedy.object.place, cases[c].place);
        case_said(o, CONDITION_SAME_INPUT, cases[c].kept);
        case_said(o, CONDITION_FROZEN, cases[c].kept);
    }
}

TEST(test_what_learns)
{
    struct builder b = loop(NULL, true);
    case_verdict(build_analyze(&b), "forward-only", RULE_SILENT);
    b = loop("head (Linear) at train.py:12", true); /* it has a backward pass all the same */
    case_verdict(build_analyze(&b), "forward-only", RULE_SILENT);
    case_verdict(case_advice(case_busy), "forward-only", RULE_CANNOT_TELL);
}

/* Compiled code goes back through one call, of which no forward line is known. */
TEST(test_compiled_code)
{
    for (int compiled = 0; compiled < 2; compiled++) {
        struct builder b = build_start();
        int64_t net = line_in(&b, SPOOL_NO_MODULE, "<lambda>", 4);
        int64_t back = line_in(&b, SPOOL_NO_MODULE, "main", 9);
        build_meta(&b, "torch.version", "2.14.1");
        if (compiled)
            build_meta(&b, "torch.compile", "used at train.py:4");
        launches_have_lines(&b, MS(100), MS(100 + 10 * CASE_STEPS) - 1);
        for (int i = 0; i < CASE_STEPS; i++) {
            int64_t at = MS(100 + 10 * i);
            launch_from(&b, SPOOL_LINE_OWN, net, at);
            build_kernel(&b, case_gemm, at + US(10), at + US(20), MS(4));
            launch_from(&b, SPOOL_LINE_BACKWARD, back, at + US(50));
            build_kernel(&b, case_gemm, at + US(60), at + MS(4.2), MS(5));
            build_range(&b, "step", at, at + MS(10));
        }
        case_verdict(build_analyze(&b), "forward-only", compiled ? RULE_SILENT : RULE_FIRES);
    }
}

/* A trace of another profiler: the loop's function has no line, and most of its work no backward pass. */
TEST(test_a_loop_without_lines)
{
    struct builder b = build_start();
    int64_t loop_at = line_in(&b, SPOOL_NO_MODULE, "main", 0);
    build_meta(&b, "torch.version", "2.14.1");
    launches_have_lines(&b, MS(100), MS(100 + 10 * CASE_STEPS) - 1);
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100 + 10 * i);
        launch_from(&b, SPOOL_LINE_OWN, loop_at, at);
        build_kernel(&b, case_gemm, at + US(10), at + US(20), MS(9));
        launch_from(&b, SPOOL_LINE_FORWARD, loop_at, at + US(30));
        build_kernel(&b, case_gemm, at + US(40), at + MS(9.1), US(300));
        build_range(&b, "step", at, at + MS(10));
    }
    case_verdict(build_analyze(&b), "forward-only", RULE_SILENT);
}

/* Weights that a layer rounds anew in each of two micro-batches, in two lines of one function; the
 * same with a gradient, and in no module. */
TEST(work_inside_modules)
{
    for (int other = 0; other < 3; other++) {
        struct builder b = build_start();
        const char *in = other == 2 ? SPOOL_NO_MODULE : "up (QuantLinear)";
        int64_t round[2] = {line_in(&b, in, "rounded", 5), line_in(&b, in, "rounded", 6)};
        int64_t layer = line_in(&b, "up (QuantLinear)", "QuantLinear.forward", 9);
        build_meta(&b, "torch.version", "2.14.1");
        launches_have_lines(&b, MS(100), MS(100 + 10 * CASE_STEPS) - 1);
        for (int i = 0; i < 2 * CASE_STEPS; i++) {
            int64_t at = MS(100 + 5 * i);
            for (int k = 0; k < 2; k++) {
                launch_from(&b, SPOOL_LINE_OWN, round[k], at + US(20 * k));
                build_kernel(&b, "elementwise_kernel<128, 2, round>", at + US(20 * k + 5),
                             at + US(30) + MS(k), MS(1));
            }
            launch_from(&b, SPOOL_LINE_OWN, layer, at + US(50));
            build_kernel(&b, case_gemm, at + US(60), at + MS(2.1), MS(1));
            launch_from(&b, SPOOL_LINE_FORWARD, layer, at + US(70));
            build_kernel(&b, case_gemm, at + US(80), at + MS(3.2), MS(1));
            if (other == 1)
                launch_from(&b, SPOOL_LINE_FORWARD, round[i % 2], at + US(90));
            build_kernel(&b, case_gemm, at + US(100), at + MS(4.2), US(700));
            if (i % 2)
                build_range(&b, "step", at - MS(5), at + MS(5));
        }
        const struct outcome *o =
            case_verdict(build_analyze(&b), "forward-only", other ? RULE_SILENT : RULE_FIRES);
        if (other)
            continue;
        ck_assert_int_eq(o->saves_high_ns / US(100), 40);
        ck_assert_str_eq(o->title, "Compute less often what no gradient goes through");
        case_said(o, CONDITION_IN_MODULES, true);
    }
}
