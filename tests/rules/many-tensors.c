/* Cases of the rule many-tensors: when it fires, when it is silent, and when it cannot tell. No trainer
 * plants it: they load in C. */
#include "tests/rules/stacks.h"
#include "tests/unit/rule_case.h"

#define TAKES "/usr/lib/python3/dist-packages/torch/multiprocessing/reductions.py"

/* Steps of 10 ms, in 5 of which the GPU waits, and the training thread is in `file`. */
static struct builder loop(const char *tensors, const char *file)
{
    struct builder b = build_start();
    int64_t line = stack_of(&b, "/home/me/train.py", "main", 9);
    int64_t stack = stack_below(&b, line, file, "rebuild_storage_fd", 540);
    stack = stack_below(&b, stack, "/usr/lib/python3.11/multiprocessing/connection.py",
                        "SocketClient", 600);
    if (tensors)
        build_meta(&b, "torch.batch.tensors", tensors);
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100 + 10 * i);
        for (int k = 0; k < 10; k++)
            look_at(&b, stack, at + US(500) * k + US(100));
        build_kernel(&b, case_gemm, at + MS(4.9), at + MS(5), MS(5));
        build_range(&b, "step", at, at + MS(10));
    }
    return b;
}

TEST(of_a_hundred_tensors)
{
    struct builder b = loop("113", TAKES);
    const struct outcome *o = case_verdict(build_analyze(&b), "many-tensors", RULE_FIRES);
    case_does(o, ACTION_HAND_OVER_LESS);
    ck_assert(o->upper_bound);
    ck_assert_msg(strstr(o->summary, "a batch has 113 tensors"), "%s", o->summary);
}

TEST(of_few_tensors_or_other_work)
{
    struct builder b = loop("8", TAKES);
    case_verdict(build_analyze(&b), "many-tensors", RULE_SILENT);
    b = loop("113", "/usr/lib/python3.11/json/decoder.py");
    case_verdict(build_analyze(&b), "many-tensors", RULE_SILENT);
    b = loop(NULL, TAKES);
    case_verdict(build_analyze(&b), "many-tensors", RULE_CANNOT_TELL);
}
