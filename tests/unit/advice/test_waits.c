/* What a finding about waits says about its saving. */
#include "tests/unit/replay_steps.h"
#include "tests/unit/rule_case.h"

#include <string.h>

static void loads_then_waits(struct builder *b, int64_t at)
{
    build_range(b, "data.wait", at + US(10), at + MS(4));
    build_kernel(b, "volta_sgemm_128x64_nn", at + MS(4) + US(20), at + MS(4) + US(50), MS(5));
    build_sync(b, at + MS(4) + US(100), MS(5));
}

static void waits_then_idles(struct builder *b, int64_t at)
{
    build_kernel(b, "volta_sgemm_128x64_nn", at + US(20), at + US(50), MS(5));
    build_sync(b, at + US(100), MS(5));
    build_kernel(b, "volta_sgemm_128x64_nn", at + MS(7), at + MS(7) + US(50), MS(2));
}

static const char *said(const struct bench *x)
{
    const struct advice *a = x->b.a;
    for (size_t i = 0; i < a->outcome_count; i++)
        if (strcmp(a->outcomes[i].rule->id, "sync-in-loop") == 0)
            return a->outcomes[i].summary ? a->outcomes[i].summary : "";
    return "";
}

/* The GPU idles for 1 ms after the wait; without it 4 ms of loading go beside the kernel. */
TEST(a_saving_above_the_idle_time_has_its_reason)
{
    struct bench x = bench_start(MS(10), loads_then_waits);
    ck_assert_msg(strstr(said(&x), "larger than that because") && strstr(said(&x), "input data"),
                  "%s", said(&x));
    x = bench_start(MS(10), waits_then_idles);
    ck_assert_msg(strstr(said(&x), "waits for the GPU") && !strstr(said(&x), "larger than that"),
                  "%s", said(&x));
}

/* Three waits, each for the kernel before it: for a short and a long one for their own sake, then
 * for a result. The host's longest work comes behind the last. */
static void fill_waits_and_a_result(struct builder *b, int64_t at)
{
    static const int64_t kernel[] = {MS(1), MS(3), MS(2)};
    for (int i = 0; i < 3; i++) {
        build_kernel(b, "k", at, at + US(10), kernel[i]);
        if (i < 2)
            build_api(b, "cudaDeviceSynchronize", at + US(15), kernel[i]);
        else
            build_copy(b, 2, 2, 1, false, 8192, at + US(15), kernel[i] + US(20),
                       at + US(12) + kernel[i], US(5));
        at += kernel[i] + US(100);
    }
}

TEST(the_best_single_wait_is_named_by_its_place)
{
    struct bench x = bench_start(MS(10), fill_waits_and_a_result);
    const struct outcome *o = case_outcome(x.b.a, "sync-in-loop");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert_msg(strstr(o->summary, "cudaDeviceSynchronize waits for the GPU"), "%s", o->summary);
    ck_assert_msg(strstr(o->summary, "Removing only the 3rd of these waits (cudaMemcpy, 8.2 kB to "
                                     "the host) saves "),
                  "%s", o->summary);
    case_does(o, ACTION_REMOVE_SYNCHRONIZE);
    case_said(o, CONDITION_ALSO_READ, true);
}

/* 100 launches with the queue dry, a wait for all of them, and 3 ms of work on the result. A graph
 * saves more than twice as much. */
static void fill_wait_and_read(struct builder *b, int64_t at)
{
    for (int i = 0; i < 100; i++)
        build_kernel(b, "k", at + US(85 * i), at + US(85 * i + 8), US(5));
    build_range(b, "metrics", at + US(8500), at + US(11900));
    build_sync(b, at + US(8600), US(300));
}

TEST(a_wait_stands_before_the_graph_and_the_work_behind_it)
{
    struct bench x = bench_start(MS(12), fill_wait_and_read);
    const struct advice *a = x.b.a;
    ck_assert_str_eq(a->ranked[0]->rule->id, "sync-in-loop");
    ck_assert_str_eq(a->ranked[1]->rule->id, "cuda-graphs");
    ck_assert_int_gt(a->ranked[1]->least_ns, 2 * a->ranked[0]->least_ns);
    for (size_t i = 1; i < a->ranked_count; i++) {
        const struct outcome *o = a->ranked[i];
        ck_assert_ptr_eq(o->after, o->edit.kind == &edit_graph ? a->ranked[0] : NULL);
        const char *words = o->words[FRAMEWORK_PYTORCH];
        ck_assert_int_eq(o->after != NULL, strncmp(words, "after sync-in-loop: ", 20) == 0);
    }
}
