/* Cases of the rule graph-sizes: when it fires, when it is silent, and when it cannot tell. No
 * trainer plants it: none captures a graph for each size of its batches. */
#include "tests/rules/gpu.h"
#include "tests/unit/rule_case.h"

static int step_number;
static bool change;

/* 50 kernels, launched every 200 us; with other grids in each step. */
static void fill_sizes(struct builder *b, int64_t at)
{
    for (int i = 0; i < 50; i++) {
        int64_t t = at + US(200 * i), c = build_api(b, "cudaLaunchKernel", t, US(8));
        build_kernel_of(b, case_gemm, c, t + US(15), US(20), change ? 64 + step_number : 64);
    }
    step_number++;
}

static const struct advice *with(struct builder *b, const char *compile, bool sizes_change)
{
    *b = build_start();
    step_number = 0;
    change = sizes_change;
    if (compile)
        build_meta(b, "torch.compile", compile);
    case_loop(b, fill_sizes);
    return build_analyze(b);
}

TEST(test_graph_sizes)
{
    static const char graphs[] = "torch.compile(mode='reduce-overhead') at train.py:6";
    struct builder b;
    const struct advice *a = with(&b, graphs, true);
    case_verdict(a, "graph-sizes", RULE_FIRES);
    ck_assert_str_eq(case_outcome(a, "graph-sizes")->remedy.object.place, "train.py:6");
    case_verdict(with(&b, graphs, false), "graph-sizes", RULE_SILENT);
    case_verdict(with(&b, "torch.compile() at train.py:6", true), "graph-sizes", RULE_SILENT);
    case_verdict(with(&b, NULL, true), "graph-sizes", RULE_SILENT);
    case_cannot_tell(fill_sizes, "kernels", "graph-sizes");
}
