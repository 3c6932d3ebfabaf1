/* Cases of the rule warm-up: when it fires, when it is silent or suppressed, and when it cannot
 * tell. No trainer plants it: it depends on what the recording's window contains. */
#include "tests/unit/rule_case.h"

/* Allocations in every step are no warm-up, however long. */
static void fill_allocates(struct builder *b, int64_t at)
{
    build_api(b, "cudaMalloc", at, MS(6));
    build_kernel(b, case_gemm, at + MS(6), at + MS(6) + US(10), US(3900));
}

/* One pass without repetition: a first launch of 60 ms, code compiled in 30, 10 ms of work. */
TEST(test_warm_up)
{
    struct builder b = build_start();
    build_kernel(&b, case_gemm, MS(0), US(10), MS(5));
    int64_t call = build_api(&b, "cudaLaunchKernel", MS(5), MS(60));
    build_kernel_of(&b, "vectorized_layer_norm_kernel", call, MS(65), US(1000), 64);
    build_range(&b, "fallback_function", MS(96), MS(97));
    build_kernel(&b, "reduce_kernel<512, 1>", MS(96) + US(10), MS(96) + US(20), MS(4));
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "warm-up", MS(90));
    ck_assert(analysis_of_window(a->facts));
    ck_assert_str_eq(o->title, "Record more than start-up, or shorten it");
    case_does(o, ACTION_RECORD_LONGER); /* there are no steps to choose from */
    ck_assert_str_eq(a->verdict_class, "start-up");
}

/* A range that compiles takes 30 ms of the 40 in which the GPU waits. */
static void range_case(const char *name, const char *first)
{
    struct builder b = build_start();
    build_kernel(&b, case_gemm, MS(0), US(10), MS(5));
    build_range(&b, name, MS(6), MS(36));
    build_kernel_of(&b, "vectorized_layer_norm_kernel",
                    build_api(&b, "cudaLaunchKernel", MS(40), US(10)), MS(45), US(1000), 64);
    build_kernel(&b, "reduce_kernel<512, 1>", MS(46), MS(46) + US(10), MS(4));
    const struct advice *a = build_analyze(&b);
    ck_assert_str_eq(a->ranked[0]->rule->id, first);
    if (strcmp(first, "warm-up") == 0)
        ck_assert_msg(strstr(a->ranked[0]->summary, name) != NULL, "%s", a->ranked[0]->summary);
}

TEST(test_ranges_that_compile)
{
    range_case("executor_utils::Nvrtc::CompileProgram", "warm-up");
    range_case("XlaCompile", "warm-up");
    range_case("CompiledFxGraph", "host-work");
    range_case("train.py(12): compile_batch", "host-work");
}

/* Loads code and launches at once what is in it, 7 ms behind other work. */
static void fill_loads(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(10), MS(1));
    build_api(b, "cuModuleLoadData", at + MS(8), US(100));
    build_kernel(b, "chunk_fwd", at + US(8200), at + US(8210), MS(1));
}

TEST(test_code_that_is_loaded_all_the_time)
{
    case_verdict(case_advice(fill_loads), "warm-up", RULE_SILENT);
}

/* Code that a thread loads before it launches was compiled. */
TEST(test_code_that_is_loaded_was_compiled)
{
    static const char *const calls[] = {"cuModuleLoadData", "cuLibraryLoadData",
                                        "cuModuleGetFunction"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct builder b = build_start();
        build_kernel(&b, case_gemm, MS(0), US(10), MS(5));
        build_api(&b, calls[i], MS(40), US(100));
        build_kernel(&b, "chunk_fwd", MS(41), MS(41) + US(10), MS(4));
        build_kernel(&b, "reduce_kernel<512, 1>", MS(46), MS(46) + US(10), MS(4));
        const struct advice *a = build_analyze(&b);
        ck_assert_str_eq(a->ranked[0]->rule->id, i < 2 ? "warm-up" : "host-work");
        if (i < 2) {
            ck_assert_ptr_nonnull(
                strstr(a->ranked[0]->summary,
                       "is loaded, which looks like compilation before 'chunk_fwd'"));
            case_does(a->ranked[0], ACTION_KEEP_COMPILED_CODE);
        }
    }
}

/* A call that somebody tried: whether the allocation, the copy or the first launch took most of the
 * time is chance, so one thing is said of all. */
TEST(test_few_operations_have_one_verdict)
{
    static const char *const calls[] = {"cudaMalloc", "cudaLaunchKernel", "cudaMemcpy"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct builder b = build_start();
        build_copy(&b, 1, 2, 3, true, 64, MS(0), US(10), US(12), US(2));
        int64_t call = build_api(&b, calls[i], MS(1), MS(20));
        build_kernel_of(&b, "gemm",
                        i == 1 ? call : build_api(&b, "cudaLaunchKernel", MS(22), US(5)),
                        MS(22) + US(10), US(8), 64);
        build_copy(&b, 2, 3, 2, true, 64, MS(23), US(10), MS(23) + US(12), US(2));
        const struct advice *a = build_analyze(&b);
        ck_assert_msg(strstr(a->verdict, "contains only 3 GPU operations") != NULL, "%s: %s",
                      calls[i], a->verdict);
    }
}

/* A program of one kernel: its first call, of `first` ms; if `before`, a call of 30 ms comes first;
 * `more` allocations of `each` ms; `end` ms of freeing behind the work. */
static struct builder program_of(double first, const char *before, int more, double each,
                                 double end)
{
    struct builder b = build_start();
    int64_t at = MS(1);
    if (before) {
        build_api(&b, before, at, MS(30));
        at += MS(30);
    }
    build_api(&b, "cudaMalloc", at, MS(first));
    at += MS(first);
    for (int i = 0; i < more; i++, at += MS(each))
        build_api(&b, "cudaMalloc", at, MS(each));
    for (int i = 0; i < 12; i++, at += MS(1)) {
        char name[32];
        snprintf(name, sizeof name, "kernel_%c", 'a' + i);
        build_kernel(&b, name, at, at + US(10), US(900));
    }
    if (end > 0)
        build_api(&b, "cudaFree", at, MS(end));
    return b;
}

/* The first call pays for the context, whatever its name: other allocations take next to nothing.
 */
TEST(test_context)
{
    struct builder b = program_of(200, "cuLibraryLoadData", 2, 0.1, 0);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_verdict(a, "warm-up", RULE_FIRES);
    case_measures(o, "host in the first call, which creates the CUDA context", 200, 0.1);
    case_does(o, ACTION_SHARE_CONTEXT);
    ck_assert_str_eq(a->verdict_class, "start-up");
    ck_assert_ptr_nonnull(strstr(a->facts->steps.source_text, "to the GPU's last work"));
}

/* An allocation that is no first call, or no longer than others of its name; a recording of
 * PyTorch's begins with the context made. */
TEST(test_no_context)
{
    for (int i = 0; i < 3; i++) {
        struct builder b =
            program_of(200, i == 0 ? "cudaHostAlloc" : NULL, 2, i == 1 ? 100 : 0.1, 0);
        if (i == 2)
            build_meta(&b, "source", "kineto");
        const struct outcome *o = case_verdict(build_analyze(&b), "warm-up", RULE_FIRES);
        for (size_t k = 0; k < o->evidence_count; k++)
            ck_assert_ptr_null(strstr(o->evidence[k].text, "context"));
        case_does(o, ACTION_RECORD_LONGER);
    }
}

/* What comes behind the last work starts nothing. */
TEST(test_tear_down)
{
    struct builder b = program_of(1, NULL, 0, 0, 80);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_verdict(a, "warm-up", RULE_FIRES);
    case_does(o, ACTION_LEAVE_END_OUT);
    case_measures(o, "GPU idle during these calls", 0, 0.01); /* before the last work */
    case_measures(o, "GPU idle in such calls behind its last work", 80, 0.1);
    ck_assert_ptr_nonnull(strstr(a->verdict, "Tear-down"));
    ck_assert_ptr_null(strstr(a->facts->steps.source_text, "allocation"));
}

/* Behind the context, 90 ms in which one thread computes: that is named, too, and no saving reaches
 * into what the start takes. */
TEST(test_the_rest)
{
    struct builder b = program_of(200, NULL, 0, 0, 0);
    int64_t call = build_api(&b, "cudaLaunchKernel", MS(213), CALL_NS);
    build_kernel_of(&b, "serial(float*)", call, MS(213) + US(10), MS(90), 1);
    const struct advice *a = build_analyze(&b);
    ck_assert_uint_ge(a->ranked_count, 2);
    ck_assert_str_eq(a->ranked[0]->rule->id, "warm-up");
    case_verdict(a, "few-blocks", RULE_FIRES);
    ck_assert_ptr_nonnull(strstr(a->verdict, "in the rest: "));
    for (size_t i = 1; i < a->ranked_count; i++)
        ck_assert_int_le(a->ranked[i]->saves_high_ns, MS(103));
    ck_assert_str_eq(a->verdict_class, "start-up");
}

/* Launches one after another, with gaps: many at once would save them, but no more than the GPU's
 * own stretch has. */
TEST(test_the_rest_is_a_limit)
{
    struct builder b = build_start();
    build_api(&b, "cudaMalloc", MS(1), MS(200));
    for (int i = 0; i < 3000; i++) {
        char name[32];
        snprintf(name, sizeof name, "kernel_%d", i * i % 997);
        build_kernel(&b, name, MS(202) + US(20) * i, MS(202) + US(20) * i + US(10), US(3));
    }
    const struct advice *a = build_predict(&b);
    case_verdict(a, "cuda-graphs", RULE_FIRES);
    ck_assert_int_le(case_outcome(a, "cuda-graphs")->saves_high_ns, MS(60));
}

/* Where start-up lies between the GPU's work, rules that need no loop still say what they saw. */
TEST(test_start_up_between_work)
{
    struct builder b = build_start();
    build_kernel(&b, case_gemm, MS(0), US(10), MS(5));
    int64_t call = build_api(&b, "cudaLaunchKernel", MS(5), MS(60)), at = MS(70);
    build_kernel_of(&b, "vectorized_layer_norm_kernel", call, MS(65), MS(5), 64);
    for (int i = 0; i < 30; i++, at += US(800)) {
        char name[32];
        snprintf(name, sizeof name, "kernel_%d", i * i);
        build_api(&b, "cudaMalloc", at, US(300));
        build_api(&b, "cudaFree", at + US(300), US(300));
        build_kernel(&b, name, at + US(610), at + US(620), US(170));
    }
    const struct advice *a = build_analyze(&b);
    ck_assert_str_eq(a->ranked[0]->rule->id, "warm-up");
    ck_assert_str_eq(a->verdict_class, "start-up");
    case_verdict(a, "allocation-in-loop", RULE_FIRES);
    case_verdict(a, "cuda-graphs", RULE_CANNOT_TELL);
}

/* A host-bound window: the context is no allocation there, either. */
TEST(test_context_in_verdict)
{
    struct builder b = program_of(45, NULL, 0, 0, 0);
    build_kernel(&b, "last", MS(75), MS(75) + US(10), MS(40));
    const struct advice *a = build_analyze(&b);
    ck_assert_str_eq(a->verdict_class, "host");
    ck_assert_ptr_null(strstr(a->verdict, "allocates or frees"));
}

/* The program asks for it each time. */
TEST(test_prefetch)
{
    struct builder b = program_of(1, NULL, 0, 0, 0);
    build_api(&b, "cudaMemPrefetchAsync", MS(15), MS(60));
    build_kernel(&b, "last", MS(76), MS(76) + US(10), MS(1));
    case_verdict(build_analyze(&b), "warm-up", RULE_SILENT);
}

TEST(test_no_warm_up)
{
    case_verdict(case_advice(fill_allocates), "warm-up", RULE_SILENT);
    case_cannot_tell(case_busy, "kernels,ranges", "warm-up");
}

/* Long calls of a recording that begins with a later step are no start-up. */
TEST(test_later_steps)
{
    for (int first = 3; first <= 112; first += 109) {
        struct builder b = build_start();
        int64_t at = MS(100);
        for (int i = 0; i < 20; i++, at += MS(14)) {
            bool slow = i == 3 || i == 5;
            if (slow)
                build_api(&b, i == 3 ? "cudaMalloc" : "cudaHostAlloc", at, MS(8));
            int64_t work = at + (slow ? MS(8) : 0);
            build_kernel(&b, case_gemm, work, work + US(10), slow ? US(5900) : US(13900));
            build_range(&b, "step", at, at + MS(14));
        }
        struct row_recorded r = {.id = 1,
                                 .process = 1,
                                 .start_ns = MS(100),
                                 .end_ns = at,
                                 .gpu_start_ns = MS(100),
                                 .gpu_end_ns = at,
                                 .first_step = first};
        build_put(&b, ROW_RECORDED, &r);
        struct row_step_block block = {
            .id = 1, .process = 1, .first_step = 1, .steps = 1000, .end_ns = MS(10000)};
        build_put(&b, ROW_STEP_BLOCK, &block);
        case_verdict(build_analyze(&b), "warm-up", first > 10 ? RULE_SILENT : RULE_FIRES);
    }
}
