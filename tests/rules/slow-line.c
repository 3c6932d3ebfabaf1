/* Cases of the rule slow-line: when it fires, when it is silent or gives way to another rule, and
 * when it cannot tell. No trainer plants it: it names lines of Python code. */
#include "tests/rules/cores.h"
#include "tests/rules/stacks.h"
#include "tests/unit/rule_case.h"

enum { STEPS = 30, LOOKS = 10 };

#define TORCH "/x/lib/python3.11/site-packages/torch/"

/* Steps of 10 ms on the CPU: 3 ms of backward from there on; what the stacks show, by turns, up to
 * `looks` ms. */
static const struct advice *steps_on_cpu(const int64_t *stacks, size_t n, struct builder *b,
                                         int backward, int looks)
{
    build_meta(b, "torch.version", "2.9.0");
    for (int i = 0; i < STEPS; i++) {
        int64_t at = MS(100 + 10 * i);
        build_range_at(b, "gpuprof.step", 0, at, at + MS(10));
        build_range(b, "backward", at + MS(backward), at + MS(backward + 3));
        build_range(b, "optimizer.step", at + MS(9), at + MS(10));
        for (int k = 0; k < looks && n; k++)
            look_at(b, stacks[(size_t)k % n], at + MS(k) + US(500));
    }
    return build_analyze(b);
}

static const struct advice *on_cpu(const int64_t *stacks, size_t n, struct builder *b)
{
    return steps_on_cpu(stacks, n, b, 1, LOOKS);
}

/* A function of several lines is one cause, and what computes in the model is none. */
TEST(test_slow_line)
{
    struct builder b = build_start();
    int64_t jitter[] = {stack_of(&b, "/home/me/data.py", "jitter", 14),
                        stack_of(&b, "/home/me/data.py", "jitter", 16),
                        stack_of(&b, "/home/me/data.py", "jitter", 16)};
    const struct advice *a = on_cpu(jitter, 3, &b);
    const struct outcome *o = case_verdict(a, "slow-line", RULE_FIRES);
    ck_assert_ptr_eq(a->ranked[0], o);
    ck_assert_str_eq(o->title, "Look at jitter()");
    ck_assert_str_eq(o->remedy.object.place, "data.py:16");
    case_measures(o, "in that line, computing", 6, 0.1);
    ck_assert_int_gt(o->saves_high_ns, MS(9));
    case_said(o, CONDITION_COMPUTES, true);
    b = build_start();
    int64_t torch = stack_of(&b, TORCH "autograd/graph.py", "_engine_run_backward", 800);
    case_verdict(on_cpu(&torch, 1, &b), "slow-line", RULE_SILENT);
    b = build_start(); /* nobody looked */
    case_verdict(on_cpu(NULL, 0, &b), "slow-line", RULE_CANNOT_TELL);
}

/* A model of another library computes where PyTorch computes; what the library does itself counts. */
TEST(test_slow_line_spares_models_of_libraries)
{
    const char *library = "/x/lib/python3.11/site-packages/models/resnet.py";
    for (int own = 0; own < 2; own++) {
        struct builder b = build_start();
        int64_t line = stack_of(&b, "/home/me/train.py", "main", 9);
        int64_t model = stack_below(&b, line, library, "ResNet.forward", 280);
        int64_t stack = own ? stack_below(&b, model, library, "ResNet.table", 99)
                            : stack_below(&b, model, TORCH "nn/functional.py", "_max_pool2d", 800);
        const struct advice *a = steps_on_cpu(&stack, 1, &b, 6, 6);
        const struct outcome *o = case_verdict(a, "slow-line", own ? RULE_FIRES : RULE_SILENT);
        ck_assert(!own || strcmp(o->remedy.object.place, "train.py:9") == 0);
    }
}

/* Without a GPU a validation is named by the line that calls the model. */
TEST(test_slow_line_names_a_validation)
{
    struct builder b = build_start();
    int64_t line = stack_of(&b, "/home/me/train.py", "evaluate", 30);
    int64_t call = stack_below(&b, line, TORCH "nn/modules/module.py", "Module._call_impl", 1780);
    int64_t net = stack_below(&b, call, "/home/me/net.py", "Net.forward", 5);
    int64_t stack = stack_below(&b, net, TORCH "nn/modules/linear.py", "Linear.forward", 125);
    build_meta(&b, "torch.version", "2.9.0");
    for (int i = 0; i < STEPS; i++) {
        int64_t at = MS(100 + 10 * i);
        build_range_at(&b, "gpuprof.step", 0, at, at + MS(10));
        build_range(&b, "validation", at + US(100), at + MS(5));
        build_range(&b, "backward", at + MS(6), at + MS(8));
        build_range(&b, "optimizer.step", at + MS(9), at + MS(10));
        for (int k = 1; k < 5; k++)
            look_at(&b, stack, at + MS(k));
    }
    const struct outcome *o = case_verdict(build_analyze(&b), "slow-line", RULE_FIRES);
    ck_assert_str_eq(o->remedy.object.place, "train.py:30");
    ck_assert_str_eq(o->title, "Look at evaluate()");
}

/* Without a GPU an update that takes much of the step is a cause, and gets the words of an update. */
TEST(test_slow_line_names_an_update)
{
    for (int much = 0; much < 2; much++) {
        struct builder b = build_start();
        int64_t line = stack_of(&b, "/home/me/train.py", "main", 9);
        int64_t stack = stack_below(&b, line, TORCH "optim/sparse_adam.py", "SparseAdam.step", 70);
        build_meta(&b, "torch.version", "2.9.0");
        for (int i = 0; i < STEPS; i++) {
            int64_t at = MS(100 + 10 * i);
            build_range_at(&b, "gpuprof.step", 0, at, at + MS(10));
            build_range(&b, "backward", at + MS(1), at + MS(4));
            build_range(&b, "optimizer.step", at + MS(much ? 5 : 8), at + MS(10));
            for (int k = much ? 5 : 8; k < 10; k++)
                look_at(&b, stack, at + MS(k) + US(500));
        }
        const struct outcome *o =
            case_verdict(build_analyze(&b), "slow-line", much ? RULE_FIRES : RULE_SILENT);
        if (much)
            case_does(o, ACTION_FUSE_HOST_UPDATE);
        if (much)
            case_said(o, CONDITION_SPARSE, true);
    }
}

/* What PyTorch does besides computing is the program's own work: it names the line. */
TEST(test_slow_line_sees_calls_that_compute_nothing)
{
    static const struct {
        const char *file, *function;
        bool fires;
    } calls[] = {
        {TORCH "nn/modules/module.py", "Module.state_dict", true},
        {TORCH "nn/modules/linear.py", "Linear.reset_parameters", true},
        {TORCH "serialization.py", "save", true},
        {TORCH "_tensor.py", "Tensor.__contains__", true},
        {TORCH "_tensor.py", "Tensor.norm", false},
        {TORCH "nn/modules/linear.py", "Linear.forward", false},
        {TORCH "nn/functional.py", "cross_entropy", false},
        {TORCH "optim/adam.py", "Adam.step", false},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct builder b = build_start();
        int64_t line = stack_of(&b, "/home/me/train.py", "track", 9);
        int64_t stack = stack_below(&b, line, calls[i].file, calls[i].function, 280);
        case_verdict(steps_on_cpu(&stack, 1, &b, 6, 6), "slow-line",
                     calls[i].fires ? RULE_FIRES : RULE_SILENT);
    }
}

/* Where the GPU idles the host's other work is found already, with its line. */
TEST(test_slow_line_gives_way)
{
    struct builder b = build_start();
    int64_t own = stack_of(&b, "/home/me/train.py", "pause", 9);
    for (int i = 0; i < STEPS; i++) {
        int64_t at = MS(100 + 10 * i);
        build_range(&b, "step", at, at + MS(10));
        build_kernel(&b, case_gemm, at + US(10), at + US(20), MS(4));
        for (int k = 0; k < 4; k++)
            look_at(&b, own, at + MS(5 + k));
    }
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "host-work", RULE_FIRES);
    case_verdict(a, "slow-line", RULE_SUPPRESSED);
    ck_assert_str_eq(case_outcome(a, "host-work")->title, "Look at pause()");
    ck_assert_str_eq(case_outcome(a, "host-work")->remedy.object.place, "train.py:9");
    ck_assert_msg(strstr(case_outcome(a, "slow-line")->why, "host-work says what to do"), "%s",
                  case_outcome(a, "slow-line")->why);
}

/* Work of another library in a line is no Python between operators, and stays if these are fewer. The
 * model's lines hold as much, and host work names none. */
TEST(test_slow_line_beside_host_work_at_large)
{
    static const struct {
        const char *file, *function;
        bool fires;
    } calls[] = {{"/usr/lib/python3.11/copy.py", "deepcopy", true},
                 {TORCH "nn/modules/module.py", "Module.state_dict", false}};
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        struct builder b = build_start();
        build_meta(&b, "torch.version", "2.14.1");
        int64_t line = stack_of(&b, "/home/me/train.py", "<module>", 9);
        int64_t copies = stack_below(&b, line, calls[c].file, calls[c].function, 150);
        int64_t model = stack_of(&b, "/home/me/train.py", "<module>", 30);
        int64_t layer = stack_below(&b, model, TORCH "nn/modules/linear.py", "Linear.forward", 125);
        for (int i = 0; i < STEPS; i++) {
            int64_t at = MS(100 + 10 * i);
            build_range(&b, "step", at, at + MS(10));
            for (int k = 0; k < 20; k++)
                build_kernel(&b, k % 2 ? case_gemm : "softmax_kernel", at + US(500 * k),
                             at + US(500 * k + 10), US(50));
            for (int k = 0; k < 10; k++)
                look_at(&b, k < 3 ? copies : layer, at + MS(k) + US(300));
        }
        const struct advice *a = build_analyze(&b);
        ck_assert_ptr_null(case_verdict(a, "host-work", RULE_FIRES)->remedy.object.place);
        const struct outcome *o =
            case_verdict(a, "slow-line", calls[c].fires ? RULE_FIRES : RULE_SUPPRESSED);
        if (calls[c].fires)
            ck_assert_str_eq(o->remedy.object.place, "train.py:9");
    }
}

/* Where threads lack cores, the line that waits for the loader's batches is no cause of its own. */
TEST(test_slow_line_leaves_starved_loaders_to_the_verdict)
{
    for (int starved = 0; starved < 2; starved++) {
        struct builder b = build_start();
        int64_t line = stack_of(&b, "/home/me/train.py", "main", 9);
        int64_t stack = stack_below(&b, line, TORCH "utils/data/dataloader.py",
                                    "_BaseDataLoaderIter.__next__", 700);
        build_meta(&b, "torch.version", "2.9.0");
        for (int i = 0; i < STEPS; i++) {
            int64_t at = MS(100 + 10 * i);
            build_range(&b, "step", at, at + MS(10));
            build_range(&b, "data.wait", at, at + MS(4));
            build_kernel(&b, case_gemm, at + MS(7), at + MS(7) + US(10), US(2900));
            for (int k = 0; k < 4; k++)
                look_at(&b, stack, at + MS(k) + US(500));
        }
        clocks(&b, 1, (struct share){0.3, starved ? 0.5 : 0, 0, 0, 0});
        case_verdict(build_analyze(&b), "slow-line",
                     starved ? RULE_SILENT : RULE_SUPPRESSED); /* for num-workers */
    }
}
