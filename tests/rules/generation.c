/* Cases of the rule generation: when it fires, when it is silent or suppressed, and when it cannot
 * tell. No trainer plants it: it only occurs in Python programs (vgpu/tests/torch). */
#include "tests/unit/rule_case.h"

static const char *generates;
static int64_t token_ns; /* from one launch to the next */

/* Text is generated in the first 6 ms of a step, then the GPU is busy. */
static void fill_generation(struct builder *b, int64_t at)
{
    build_range(b, generates, at, at + MS(6));
    build_range(b, generates, at + US(10), at + MS(5)); /* a wrapper's own */
    for (int64_t from = at; from + token_ns <= at + MS(6); from += token_ns)
        build_kernel(b, case_gemm, from + token_ns - US(10), from + token_ns - US(5), US(5));
    build_kernel(b, case_gemm, at + MS(6), at + MS(6) + US(10), US(3980));
}

static const char of_stacks[] =
    "/venv/lib/python3.12/site-packages/transformers/generation/utils.py(2417): generate";

TEST(text_is_generated_token_by_token)
{
    const char *const names[] = {"transformers.generate", of_stacks};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        generates = names[i];
        token_ns = US(100);
        const struct advice *a = case_advice(fill_generation);
        const struct outcome *o = case_verdict(a, "generation", RULE_FIRES);
        ck_assert_double_eq_tol(case_value(o, "in generate()"), 6, 0.01);
        ck_assert_double_eq_tol(case_value(o, "launches in it"), 60, 1e-9);
        ck_assert_int_ge(o->saves_high_ns, MS(5));
        ck_assert_int_le(o->saves_high_ns, MS(6));
        case_does(o, ACTION_GENERATE_IN_FEWER_LAUNCHES);
    }
}

TEST(what_the_program_has_is_not_advised)
{
    for (int i = 0; i < 2; i++) {
        generates = "transformers.generate";
        token_ns = US(100);
        const struct outcome *o =
            case_outcome(case_advice_with(fill_generation, "transformers.generate",
                                          i ? "cache_implementation='static' at train.py:7"
                                            : "cache_implementation=None at train.py:7"),
                         "generation");
        ck_assert_int_eq(o->verdict, RULE_FIRES);
        case_said(o, CONDITION_CACHED, i);
    }
}

/* One cause has one finding: what the host does between tokens is no other host work. */
TEST(between_tokens_is_no_other_work)
{
    for (int i = 0; i < 2; i++) {
        generates = i ? "transformers.generate" : "respond";
        token_ns = US(600);
        const struct advice *a = case_advice(fill_generation);
        case_verdict(a, "generation", i ? RULE_FIRES : RULE_SILENT);
        ck_assert_int_eq(case_outcome(a, "host-work")->verdict, i ? RULE_SILENT : RULE_FIRES);
    }
}

TEST(other_functions_generate_no_text)
{
    static const char *const names[] = {"generate", "transformers.generate_batch",
                                        "train.py(7): generate",
                                        "transformers/generation/utils.py(12): _sample"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        generates = names[i];
        token_ns = US(100);
        case_verdict(case_advice(fill_generation), "generation", RULE_SILENT);
    }
    generates = "transformers.generate";
    case_cannot_tell(fill_generation, "kernels,copies,api", "generation");
}
