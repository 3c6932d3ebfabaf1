/* What holds for all rules, and what is decided before any of them runs. The cases of each rule are
 * in tests/rules/. */
#include "tests/rules/loading.h"
#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"
#include "analyzer/queries/query.h"

/* Nothing recorded at all, or one step: no rule divides by what is not there. */
TEST(test_empty)
{
    struct builder b = build_start();
    const struct advice *a = build_analyze(&b);
    ck_assert_uint_eq(a->ranked_count, 0);
    b = build_start();
    build_kernel(&b, case_gemm, MS(1), MS(1), US(5));
    build_copy(&b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, 1 << 20, MS(2), US(50), MS(2),
               US(50));
    a = build_analyze(&b);
    ck_assert_uint_eq(a->ranked_count, 0);
    for (size_t i = 0; i < a->outcome_count; i++)
        ck_assert_int_ne(a->outcomes[i].verdict, RULE_FIRES);
}

/* What every rule must have, for explain and the documentation. */
TEST(test_registry)
{
    ck_assert_uint_ge(rule_count, 10);
    for (size_t i = 0; i < rule_count; i++) {
        const struct rule *r = rules[i];
        ck_assert(r->id && r->title && r->looks_for && r->doc && r->check);
        ck_assert_int_ne(r->remedy.action, ACTION_NONE);
        ck_assert_ptr_eq(rule_find(r->id), r);
        for (size_t k = i + 1; k < rule_count; k++)
            ck_assert_str_ne(r->id, rules[k]->id);
    }
    ck_assert_ptr_null(rule_find("no-such-rule"));
}

/* Kernels of which no call is known: what the GPU waited for cannot be told, but how to learn it.
 */
static void fill_without_calls(struct builder *b, int64_t at)
{
    for (int i = 0; i < 4; i++)
        build_kernel_of(b, case_gemm, -1, at + MS(2) * i, US(100), 64);
}

/* One marked step of 1 s in which a single kernel runs: nothing is advised. */
TEST(test_one_step_with_one_kernel)
{
    struct builder b = build_start();
    build_kernel(&b, case_gemm, MS(101), MS(102), US(10));
    build_range(&b, "ProfilerStep#1", MS(100), MS(1100));
    const struct advice *a = build_analyze(&b);
    ck_assert_str_eq(a->verdict_class, "not-enough-data");
    ck_assert_uint_eq(a->ranked_count, 0);
}

TEST(test_kernels_without_calls)
{
    const struct advice *a = case_advice(fill_without_calls);
    ck_assert_str_eq(a->verdict_class, "unexplained");
    ck_assert_msg(strstr(a->next, "Record "), "%s", a->next);
}

TEST(hook_marks_are_steps)
{
    struct builder b = loading_loop(-1, MS(8), MS(8), MS(8));
    struct advice *a = build_analyze(&b);
    ck_assert_int_eq(a->facts->steps.source, STEPS_FRAMEWORK);
    ck_assert_uint_eq(a->facts->steps.count, CASE_STEPS);
    ck_assert_int_eq(a->facts->steps.median_ns, MS(10));
    ck_assert_int_eq(a->facts->host.wait_ns, MS(8));
}

TEST(own_marks_win)
{
    struct builder b = loading_loop(-1, MS(8), MS(8), MS(8));
    for (int i = 0; i < CASE_STEPS / 2; i++)
        build_range_at(&b, "step", 0, MS(100) + MS(20) * i, MS(100) + MS(20) * (i + 1));
    struct advice *a = build_analyze(&b);
    ck_assert_int_eq(a->facts->steps.source, STEPS_NVTX);
    ck_assert_int_eq(a->facts->steps.median_ns, MS(20));
}

TEST(test_names)
{
    ck_assert(query_name_has("Optimizer.clip_grad_norm_", "clip_grad|x"));
    ck_assert(query_name_has("clip", "x|=clip"));
    ck_assert(!query_name_has("clipboard", "x|=clip"));
    ck_assert(!query_name_has("cli", "clip"));
    ck_assert(!query_name_has("", "clip|=clip"));
}

TEST(test_steps_that_take_no_time_carry_no_advice)
{
    struct builder b = build_start();
    build_range(&b, "ProfilerStep#2", MS(100), MS(100));
    const struct advice *a = build_analyze(&b);
    for (size_t i = 0; i < a->outcome_count; i++)
        ck_assert_msg(a->outcomes[i].verdict != RULE_FIRES, "%s", a->outcomes[i].rule->id);
}

static const char *longest;

static void fill_one_kernel(struct builder *b, int64_t at)
{
    build_kernel(b, longest, at + US(10), at + US(20), US(9900));
    build_kernel(b, "settle(float*, int)", at + US(20), at + US(9930), US(60));
}

/* Nothing to change in how kernels come: the one that takes longest is named, and what looks into
 * it, unless it is a library's on tensor cores. */
TEST(test_only_kernels)
{
    static const char *const kernels[] = {"void net::advance<4>(float*, int)", case_gemm,
                                          "advance;reboot(float*)"};
    for (int i = 0; i < 3; i++) {
        longest = kernels[i];
        const struct advice *a = case_advice(fill_one_kernel);
        ck_assert_uint_eq(a->ranked_count, i != 1);
        ck_assert_msg(strstr(a->next, i != 1 ? "99 % of the GPU's work"
                                             : "99 % of the kernels' time goes to ") != NULL,
                      "%s", a->next);
        ck_assert_int_eq(strstr(a->next, "--kernel-name regex:advance") != NULL, i == 0);
    }
}

/* A kernel that is most of the step, and advice about the small rest. */
static void fill_mostly_one(struct builder *b, int64_t at)
{
    build_kernel(b, "cdist_kernel(float*, int)", at + US(10), at + US(20), MS(7));
    build_kernel(b, "volta_sgemm_128x64_nn", at + US(20), at + MS(7.03), MS(2.9));
}

static void fill_two_halves(struct builder *b, int64_t at)
{
    build_kernel(b, "cdist_kernel(float*, int)", at + US(10), at + US(20), MS(4.9));
    build_kernel(b, "volta_sgemm_128x64_nn", at + US(20), at + MS(4.93), MS(4.9));
}

TEST(the_kernel_that_is_most_of_the_step_is_named_beside_other_advice)
{
    const struct advice *a = case_advice(fill_mostly_one);
    ck_assert_uint_gt(a->ranked_count, 0);
    ck_assert_msg(strstr(a->why, "One kernel takes 7.00 ms (70 %): cdist_kernel") != NULL, "%s",
                  a->why);
    ck_assert_ptr_null(strstr(case_advice(fill_two_halves)->why, "One kernel"));
}
