/* Cases of the rule expensive-samples: when it fires, when it is silent, and when it cannot tell.
 * No trainer plants it: it names lines of a dataset in Python. */
#include "tests/rules/feed.h"
#include "tests/rules/loading.h"
#include "tests/rules/stacks.h"
#include "tests/unit/rule_case.h"

/* Steps of 10 ms that wait 9 for a batch of a worker, on four cores. */
static const struct advice *looped(struct builder *b, int64_t cpu_ns, bool looks)
{
    *b = loading_loop(0, MS(9), MS(30), cpu_ns);
    for (int i = 0; looks && i < CASE_STEPS; i++)
        build_kernel(b, case_gemm, MS(109.05) + MS(10) * i, MS(109.1) + MS(10) * i, US(800));
    return build_analyze(b);
}

TEST(test_expensive_samples)
{
    struct builder b;
    const struct advice *a = looped(&b, MS(28), true); /* 7 ms on four cores, and 1 ms is left */
    const struct outcome *o = case_verdict(a, "expensive-samples", RULE_FIRES);
    ck_assert_double_eq_tol(case_value(o, "the same work on all cores takes at least"), 7, 0.01);
    ck_assert(o->upper_bound);
    a = looped(&b, MS(2), true); /* four cores make it in time: a matter of workers */
    case_verdict(a, "expensive-samples", RULE_SILENT);
    a = looped(&b, -1, true);
    case_verdict(a, "expensive-samples", RULE_CANNOT_TELL);
}

/* The data set's samples lie on the GPU, and the loader takes them one by one: a batch costs calls. A function that
 * makes a whole batch on the GPU is something else, and so is a copy. */
TEST(samples_that_lie_on_the_gpu)
{
    static const struct {
        const char *file, *function;
        bool kernel;
        enum verdict verdict;
    } cases[] = {
        {"torch/utils/data/dataset.py", "TensorDataset.__getitem__", true, RULE_FIRES},
        {"torch/utils/data/_utils/collate.py", "collate_tensor_fn", true, RULE_FIRES},
        {"torch/utils/data/_utils/collate.py", "collate_tensor_fn", false, RULE_SILENT},
        {"kornia/crop.py", "crop", true, RULE_SILENT},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct builder b = build_start();
        char file[128];
        snprintf(file, sizeof file, "/x/lib/python3.11/site-packages/%s", cases[c].file);
        int64_t line = stack_below(&b, stack_of(&b, "/home/me/train.py", "main", 13), file,
                                   cases[c].function, 208);
        build_meta(&b, "usable_cores", "4");
        build_meta(&b, "torch.loader", "DataLoader(num_workers=0)");
        for (int i = 0; i < CASE_STEPS; i++) {
            double at = 100 + 10 * i;
            batch_in_thread(&b, at);
            if (cases[c].kernel)
                build_kernel(&b, "cat", MS(at + 5.7), MS(at + 5.71), US(5));
            else
                build_copy(&b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, false, 4096, MS(at + 5.7),
                           US(5), MS(at + 5.71), US(5));
            build_kernel(&b, "gemm", MS(at + 6.03), MS(at + 6.04), MS(3));
            for (int k = 0; k < 5; k++)
                look_at(&b, line, MS(at + k + 0.5));
        }
        const struct outcome *o =
            case_verdict(build_analyze(&b), "expensive-samples", cases[c].verdict);
        if (cases[c].verdict == RULE_FIRES)
            case_does(o, ACTION_TAKE_BATCH_AT_ONCE);
    }
}
