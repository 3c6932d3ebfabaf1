/* Cases of the rule debug-switches: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/rules/cpu.h"
#include "tests/unit/rule_case.h"

static void fill_blocking(struct builder *b, int64_t at)
{
    for (int i = 0; i < 50; i++) {
        int64_t t = at + US(200 * i), c = build_api(b, "cudaLaunchKernel", t, US(160));
        build_kernel_of(b, case_gemm, c, t + US(8), US(145), 64);
    }
}

static void fill_async(struct builder *b, int64_t at)
{
    for (int i = 0; i < 50; i++)
        build_kernel(b, case_gemm, at + US(10 * i), at + US(200 * i + 20), US(198));
}

static void fill_checks(struct builder *b, int64_t at)
{
    for (int i = 0; i < 20; i++) {
        int64_t t = at + US(480 * i);
        build_kernel(b, case_gemm, t, t + US(10), US(300));
        build_kernel(b, "isnan_kernel(float const*, int)", t + US(8), t + US(310), US(20));
        build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, false, 4, t + US(15), US(325),
                   t + US(332), US(2));
    }
}

TEST(test_debug_switches)
{
    const struct advice *a = case_advice(fill_blocking);
    case_first(a, "debug-switches", US(50 * 55));
    case_verdict(a, "cuda-graphs", RULE_SUPPRESSED);

    a = case_advice(fill_checks);
    case_verdict(a, "debug-switches", RULE_FIRES);
    ck_assert_str_eq(a->ranked[0]->rule->id, "debug-switches");     /* before the waits it causes */
    ck_assert_ptr_null(case_outcome(a, "debug-switches")->setting); /* the line that checks goes */

    a = case_advice_with(fill_async, "env.NCCL_DEBUG", "INFO");
    case_verdict(a, "debug-switches", RULE_SILENT);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "debug-switches")->why, "NCCL_DEBUG"));
    case_cannot_tell(fill_blocking, "kernels", "debug-switches");
}

/* Each kernel's code is loaded by its first launch, behind which the kernel ends. */
TEST(test_first_launches)
{
    struct builder b = build_start();
    for (int i = 0; i < 60; i++) {
        char name[32];
        int64_t t = MS(100) + US(200 * i), c = build_api(&b, "cudaLaunchKernel", t, US(160));
        snprintf(name, sizeof name, "kernel_%d", i);
        build_kernel_of(&b, name, c, t + US(8), US(10), 64);
    }
    case_verdict(build_analyze(&b), "debug-switches", RULE_SILENT);
}

/* As PyTorch's anomaly detection does it, in the thread of the backward pass. */
static void fill_anomaly(struct builder *b, int64_t at)
{
    for (int i = 0; i < 20; i++) { /* the forward pass */
        int64_t t = at + US(20 * i);
        build_kernel(b, case_gemm, t, t + US(10), US(15));
    }
    b->thread = 2;
    for (int i = 1; i < 20; i++) {
        int64_t t = at + US(480 * i);
        build_kernel(b, case_gemm, t, t + US(10), US(300));
        build_kernel(b, "vectorized_elementwise_kernel<4, CompareEqFunctor<float> >", t + US(8),
                     t + US(310), US(15));
        build_kernel(b, "reduce_kernel<512, 1, ReduceOp<bool, or_kernel_cuda> >", t + US(12),
                     t + US(325), US(5));
        build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, false, 1, t + US(16), US(330),
                   t + US(332), US(2));
    }
    b->thread = 1;
}

TEST(test_anomaly)
{
    for (int on = 0; on < 2; on++) {
        struct builder b = build_start();
        build_thread(&b, 2, "backward");
        build_meta(&b, "torch.anomaly_mode", on ? "True" : "False");
        build_meta(&b, "torch.anomaly_mode.where", "train.py:3");
        case_loop(&b, fill_anomaly);
        const struct advice *a = build_analyze(&b);
        const struct outcome *o = case_outcome(a, "debug-switches");
        case_verdict(a, "debug-switches", on ? RULE_FIRES : RULE_SILENT);
        ck_assert_msg(!on || case_outcome(a, "sync-in-loop")->verdict != RULE_FIRES, "%s",
                      case_outcome(a, "sync-in-loop")->summary);
        if (on) {
            case_does(o, ACTION_STOP_ANOMALY_DETECTION);
            ck_assert_str_eq(o->remedy.object.place, "train.py:3");
            ck_assert_int_ge(o->saves_high_ns, US(19 * 20));
        }
    }
}

static void fill_brief(struct builder *b, int64_t at)
{
    for (int i = 0; i < 50; i++) {
        int64_t t = at + US(200 * i), c = build_api(b, "cudaLaunchKernel", t, US(20));
        build_kernel_of(b, case_gemm, c, t + US(8), US(4), 64);
    }
}

/* A launch of 20 us ends behind a kernel of 4 whether it waits or not; the environment tells. */
TEST(test_brief_kernels)
{
    static const char *const source[] = {"kineto", "run"}, *const set[] = {NULL, "1"};
    static const enum verdict wanted[2][2] = {{RULE_CANNOT_TELL, RULE_FIRES},
                                              {RULE_SILENT, RULE_FIRES}};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            struct builder b = build_start();
            build_meta(&b, "source", source[i]);
            if (set[k])
                build_meta(&b, "env.CUDA_LAUNCH_BLOCKING", set[k]);
            case_loop(&b, fill_brief);
            case_verdict(build_analyze(&b), "debug-switches", wanted[i][k]);
        }
}

/* Each operation allocates, and so fills; without the mode these fills are the program's. */
static void fill_filled(struct builder *b, int64_t at)
{
    for (int i = 0; i < 20; i++) {
        int64_t t = at + US(10 * i), gpu = at + US(200 + 480 * i);
        build_kernel(b, "vectorized_elementwise_kernel<4, FillFunctor<float> >", t, gpu, US(80));
        build_kernel(b, case_gemm, t + US(5), gpu + US(80), US(400));
    }
}

TEST(test_filled)
{
    for (int on = 0; on < 2; on++) {
        struct builder b = build_start();
        build_meta(&b, "torch.fills_new", on ? "True" : "False");
        build_meta(&b, "torch.fills_new.where", "train.py:4");
        case_loop(&b, fill_filled);
        const struct advice *a = build_analyze(&b);
        const struct outcome *o = case_verdict(a, "debug-switches", on ? RULE_FIRES : RULE_SILENT);
        if (on) {
            case_does(o, ACTION_KEEP_NEW_UNFILLED);
            ck_assert_str_eq(o->remedy.object.place, "train.py:4");
            ck_assert_int_ge(o->saves_mid_ns, US(20 * 75));
        }
    }
}

/* The mode costs time within the passes of a CPU as well; how much of it is not known. */
TEST(test_anomaly_detection_on_a_cpu)
{
    struct builder b = cpu_training("12 tensors, 1000 numbers, float32, on cpu", 1);
    build_meta(&b, "torch.anomaly_mode", "False");
    case_verdict(build_analyze(&b), "debug-switches", RULE_SILENT);
    b = cpu_training("12 tensors, 1000 numbers, float32, on cpu", 1);
    build_meta(&b, "torch.anomaly_mode", "True");
    build_meta(&b, "torch.anomaly_mode.where", "train.py:2");
    const struct outcome *o = case_first(build_analyze(&b), "debug-switches", MS(8));
    ck_assert_int_eq(o->remedy.action, ACTION_STOP_ANOMALY_DETECTION);
    ck_assert_str_eq(o->remedy.object.place, "train.py:2");
    ck_assert(o->upper_bound);
    b = cpu_training(NULL, 1);
    case_verdict(build_analyze(&b), "debug-switches", RULE_CANNOT_TELL);
}
