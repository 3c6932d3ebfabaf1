/* Cases of the rule sync-in-loop: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/rules/cores.h"
#include "tests/rules/host.h"
#include "tests/rules/stacks.h"
#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"

static int step_number;

/* The wait of one step in four costs 4 ms; a step later the host is ahead again. */
static void fill_rare_wait(struct builder *b, int64_t at)
{
    int64_t ready = step_number++ % 4 ? at + US(20) : at + MS(4);
    build_kernel(b, case_gemm, ready, ready + US(10), at + MS(10) - ready - US(30));
    build_sync(b, ready + US(10), at + MS(10) - ready - US(15));
}

TEST(test_no_core_is_no_synchronisation)
{
    static const double shares[] = {0.01, 0.4};
    for (int i = 0; i < 2; i++) {
        struct builder b = build_start();
        step_number = 0;
        case_loop(&b, fill_rare_wait);
        starve(&b, shares[i]);
        const struct advice *a = build_analyze(&b);
        case_verdict(a, "sync-in-loop", i ? RULE_SILENT : RULE_FIRES);
    }
}

/* The host runs ahead with 40 launches, waits for all of them, and starts over with an empty queue:
 * 2 ms idle. */
static void fill_sync(struct builder *b, int64_t at)
{
    for (int i = 0; i < 40; i++)
        build_kernel(b, case_gemm, at + US(20 * i), at + US(10) + US(200 * i), US(199));
    build_sync(b, at + MS(1), MS(7) + US(10));
    build_range(b, "metrics", at + US(8015),
                at + US(9990)); /* what comes between is seen by the GPU */
}

static bool timed;

/* A wait for an event behind the kernel; `timed`: with one before the kernel as well. */
static void fill_event(struct builder *b, int64_t at)
{
    if (timed)
        build_api(b, "cudaEventRecord_v3020", at, US(3));
    build_kernel(b, case_gemm, at + US(5), at + US(20), MS(7));
    build_api(b, "cudaEventRecord_v3020", at + US(30), US(3));
    build_api(b, "cudaEventSynchronize_v3020", at + US(40), MS(7));
}

/* What measures time is told so, and nobody is told of calls that the program does not make. */
TEST(test_timing)
{
    for (int i = 0; i < 2; i++) {
        timed = i;
        const struct advice *a = case_advice(fill_event);
        const struct outcome *o = case_verdict(a, "sync-in-loop", RULE_FIRES);
        case_does(o, timed ? ACTION_READ_TIMES_ONCE : ACTION_LET_STREAMS_WAIT);
        ck_assert_str_eq(o->remedy.object.name, "cudaEventSynchronize");
    }
}

/* Half of the time without a core: which of both leaves the GPU idle cannot be told. */
TEST(test_no_core_for_much_of_the_step)
{
    struct builder b = build_start();
    case_loop(&b, fill_sync);
    starve(&b, 0.5);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "sync-in-loop", RULE_CANNOT_TELL);
    ck_assert_str_eq(a->verdict_class, "contention");
}

/* Five times a step: kernels of 1.5 ms, and 0.5 ms idle behind each wait. */
static void fill_often(struct builder *b, int64_t at)
{
    for (int i = 0; i < 5; i++) {
        int64_t from = at + MS(2 * i);
        build_kernel(b, case_gemm, from, from + US(10), US(1490));
        build_sync(b, from + US(10), US(1490));
    }
}

/* Such a host loses its lead whether it has a core or not: the wait is named, with a bound. */
TEST(test_no_core_but_many_waits)
{
    struct builder b = build_start();
    case_loop(&b, fill_often);
    starve(&b, 0.5);
    const struct outcome *o = case_verdict(build_predict(&b), "sync-in-loop", RULE_FIRES);
    ck_assert(o->upper_bound);
    ck_assert_int_gt(o->saves_high_ns, MS(1));
    ck_assert_int_le(o->saves_high_ns, US(2550));
    ck_assert_ptr_nonnull(strstr(o->summary, "the training thread had no core for 5.00 ms"));
}

TEST(test_sync)
{
    const struct advice *a = case_advice(fill_sync);
    const struct outcome *o = case_first(a, "sync-in-loop", a->facts->breakdown_ns[PART_IDLE_SYNC]);
    ck_assert_int_gt(o->saves_high_ns, MS(1));
    ck_assert_str_eq(o->remedy.object.name, "cudaStreamSynchronize");
    QUIET(a, "num-workers", "pin-memory", "overlap-copies", "cuda-graphs");
    case_cannot_tell(fill_sync, "kernels,ranges", "sync-in-loop");
}

/* Its row as the collector puts it. */
static void put_caller(struct builder *b, const char *name, int64_t start, int64_t end)
{
    build_range_in(b, CALLER_DOMAIN, name, 0, start, end);
}

/* Three short waits by one line, a long one by another. */
static void fill_sites(struct builder *b, int64_t at)
{
    fill_sync(b, at);
    put_caller(b, "sync cudaStreamSynchronize() train.c:211 (train_step)", at + MS(1),
               at + MS(8) + US(10));
    for (int i = 0; i < 3; i++) {
        int64_t start = at + US(8100 + 100 * i);
        build_sync(b, start, US(50));
        put_caller(b, "sync cudaStreamSynchronize() log.c:7 (log_loss)", start, start + US(50));
    }
}

TEST(test_names_the_line_that_waits_longest)
{
    const struct outcome *o = case_verdict(case_advice(fill_sites), "sync-in-loop", RULE_FIRES);
    ck_assert_ptr_nonnull(strstr(o->summary, ", called from train.c:211 (train_step); the GPU"));
    ck_assert_ptr_nonnull(strstr(o->summary, "in range 'metrics'")); /* the program's own */
    ck_assert_str_eq(o->examples[0].caller, "train.c:211 (train_step)");
}

static const char *mark;

/* The wait in a range of its own, or in none but the step's; then idle in another. */
static void fill_wait_in(struct builder *b, int64_t at)
{
    fill_sync(b, at);
    build_range(b, mark, at + US(900), at + US(8012));
}

TEST(test_tells_where_it_waits_from_where_the_gpu_idles)
{
    static const char *const marks[] = {"copy .to() train.py:58", "gpuprof.step"};
    for (int i = 0; i < 2; i++) {
        mark = marks[i];
        const struct outcome *o = case_outcome(case_advice(fill_wait_in), "sync-in-loop");
        ck_assert_int_eq(strstr(o->summary, "(in range 'copy .to() train.py:58')") != NULL, !i);
        ck_assert_ptr_nonnull(strstr(o->summary, "per step, most of it in range 'metrics'"));
        ck_assert_ptr_null(strstr(o->summary, "gpuprof.step"));
    }
}

/* An observation goes to the GPU, a forward pass, its result comes back; `data` behind it. */
static void forward_and_read(struct builder *b, int64_t at)
{
    build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, 16, at, US(10), at + US(2),
               US(5));
    build_kernel(b, case_gemm, at + US(20), at + US(30), MS(1));
    build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, true, 8, at + US(40), MS(1) + US(10),
               at + US(1035), US(2));
}

static void backward_from(struct builder *b, int64_t at)
{
    build_range(b, "backward", at, at + US(100));
    build_kernel(b, case_gemm, at + US(10), at + US(20), MS(2));
}

/* Twice an action for an environment that takes 2 ms; then a batch and its backward pass. */
static void fill_agent(struct builder *b, int64_t at)
{
    forward_and_read(b, at);
    forward_and_read(b, at + MS(3));
    build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, 4096, at + MS(6), US(10),
               at + MS(6) + US(2), US(5));
    backward_from(b, at + MS(6) + US(30));
}

/* The same reads, of a loss: before its backward pass. */
static void fill_losses(struct builder *b, int64_t at)
{
    for (int i = 0; i < 2; i++) {
        forward_and_read(b, at + MS(4) * i);
        backward_from(b, at + MS(4) * i + MS(2));
    }
}

/* The same reads, of how much each rank sends. */
static void fill_sizes(struct builder *b, int64_t at)
{
    fill_agent(b, at);
    build_kernel(b, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", at + MS(6) + US(50),
                 at + MS(9), US(100));
}

TEST(actions_cannot_be_read_later)
{
    static case_fill *const fills[] = {fill_agent, fill_losses, fill_sizes};
    for (int i = 0; i < 3; i++) {
        const struct outcome *o = case_verdict(case_advice(fills[i]), "sync-in-loop", RULE_FIRES);
        case_does(o, i == 0 ? ACTION_CHOOSE_ACTIONS_TOGETHER : ACTION_WAIT_LESS);
        ck_assert_int_eq(o->setting == NULL, i == 0);
        ck_assert_int_eq(o->error_class == ERROR_RERUN_DECIDES, i == 0);
    }
}

/* Four actions, each by ten little kernels that the GPU waits for; the environment takes 0.5 ms.
 * Then a batch. */
static void fill_little_forwards(struct builder *b, int64_t at)
{
    for (int i = 0; i < 4; i++) {
        int64_t t = at + US(1500 * i);
        build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, 16, t, US(10), t + US(2),
                   US(5));
        for (int k = 0; k < 10; k++)
            build_kernel(b, case_gemm, t + US(20 + 90 * k), t + US(30 + 90 * k), US(10));
        build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, true, 8, t + US(920), US(80),
                   t + US(990), US(5));
    }
    build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, 4096, at + MS(6), US(10),
               at + MS(6) + US(2), US(5));
    backward_from(b, at + MS(6) + US(30));
}

/* Actions that are chosen together share the launches, but not what the environment takes. */
TEST(actions_together_share_what_the_gpu_waits_for_each)
{
    const struct outcome *o =
        case_verdict(case_advice(fill_little_forwards), "sync-in-loop", RULE_FIRES);
    case_does(o, ACTION_CHOOSE_ACTIONS_TOGETHER);
    case_measures(o, "GPU idle from an action's data to its read,", 4 * 0.88, 0.1);
    ck_assert_int_ge(o->saves_high_ns, MS(3.4));
    ck_assert_int_le(o->saves_high_ns, MS(3.6));
}

static const char *outer, *inner;

/* A read back of 8 bytes within two operators, and 3 ms in which nothing is queued. */
static void fill_wait(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(20), MS(5));
    build_range(b, outer, at + US(90), at + MS(5.1));
    build_range(b, inner, at + US(95), at + MS(5.05));
    build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, true, 8, at + US(100), MS(5) - US(60),
               at + MS(5) + US(20), US(2));
    build_kernel(b, case_gemm, at + MS(8), at + MS(8) + US(20), MS(1.9));
}

/* The hook names what the program does, with its line. */
TEST(remedies_by_what_the_hook_saw)
{
    static const struct {
        const char *range;
        enum action action;
        const char *package, *place;
    } of[] = {{"sync .cpu() train.py:30", ACTION_READ_RARELY, NULL, "train.py:30"},
              {"sync .item() train.py:31", ACTION_WAIT_LESS, NULL, "train.py:31"},
              {"sync bool() transformers/trainer.py:1919", ACTION_LOG_RARELY, "transformers",
               "transformers/trainer.py:1919"},
              {"sync torch.cuda.synchronize() bitsandbytes/utils.py:206", ACTION_REMOVE_SYNCHRONIZE,
               "bitsandbytes", "bitsandbytes/utils.py:206"},
              {"NoGatherCoalescedHandle.wait", ACTION_LOWER_ZERO_STAGE, NULL, NULL},
              {"DeepSpeedZeroOptimizer_Stage3.step", ACTION_LOWER_ZERO_STAGE, NULL, NULL},
              {"sync .item() mine/train.py:7", ACTION_WAIT_LESS, "mine", "mine/train.py:7"},
              {"sync .nonzero() train.py:32", ACTION_FIX_RESULT_SIZES, NULL, "train.py:32"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        outer = inner = of[i].range;
        const struct advice *a = case_advice(fill_wait);
        const struct outcome *o = case_verdict(a, "sync-in-loop", RULE_FIRES);
        case_does(o, of[i].action);
        case_text(o, PARAM_PACKAGE, of[i].package);
        ck_assert_pstr_eq(o->remedy.object.place, of[i].place);
        ck_assert_pstr_eq(o->remedy.object.made_by,
                          of[i].action == ACTION_LOG_RARELY ? of[i].package : NULL);
    }
}

/* `if tensor:` is no loss that is read. */
TEST(a_condition_on_a_tensor)
{
    outer = inner = "sync bool() train.py:18";
    const struct outcome *o = case_verdict(case_advice(fill_wait), "sync-in-loop", RULE_FIRES);
    case_does(o, ACTION_WAIT_LESS);
    case_text(o, PARAM_OPERATOR, "if");
    ck_assert_str_eq(o->remedy.object.place, "train.py:18");
}

/* x.to("cuda") from pinned memory without non_blocking, and 3 ms in which nothing is queued; one
 * step in four reads a result. */
static void fill_upload(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(20), MS(5));
    build_range(b, "aten::copy_", at + US(90), at + MS(5.1));
    build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 4096, at + US(100), CALL_NS,
               at + MS(5) + US(22), US(2));
    build_sync(b, at + US(110), MS(5) - US(70));
    if (step_number++ % 4 == 0)
        build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, true, 8, at + MS(5.2), US(10),
                   at + MS(5.2) + US(4), US(2));
    build_kernel(b, case_gemm, at + MS(8), at + MS(8) + US(20), MS(1.9));
}

/* A dataset copies its samples to the GPU, one after another, or a function that puts them together copies the batch. */
static int64_t copying;
static int uploads;

static void fill_uploads(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(20), MS(2.5));
    for (int i = 0; i < uploads; i++) {
        int64_t t = at + US(100) + MS(3) / uploads * i, wait = MS(2.9) / uploads;
        build_range(b, "aten::copy_", t - US(5), t + wait + US(5));
        build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, 4096, t, US(5),
                   at + MS(3) + US(30), US(2));
        build_sync(b, t + US(6), wait - US(10));
        look_at(b, copying, t + wait / 2);
    }
    build_kernel(b, case_gemm, at + MS(8), at + MS(8) + US(20), MS(1.9));
}

TEST(samples_are_copied_one_by_one)
{
    for (uploads = 1; uploads <= 8; uploads *= 8) {
        struct builder b = build_start();
        int64_t line = stack_of(&b, "/home/me/train.py", "main", 20),
                next = stack_below(
                    &b, line, "/x/lib/python3.11/site-packages/torch/utils/data/_utils/fetch.py",
                    "fetch", 52);
        copying = stack_below(&b, next, "/home/me/data.py",
                              uploads > 1 ? "Text.__getitem__" : "collate", 9);
        build_meta(&b, "framework", "pytorch");
        case_loop(&b, fill_uploads);
        const struct outcome *o = case_verdict(build_analyze(&b), "sync-in-loop", RULE_FIRES);
        case_does(o, uploads > 1 ? ACTION_UPLOAD_BATCHES : ACTION_UPLOAD_WITHOUT_WAITING);
    }
}

TEST(test_a_wait_behind_a_copy_to_the_gpu)
{
    step_number = 0;
    const struct advice *a = case_advice_with(fill_upload, "framework", "pytorch");
    const struct outcome *o = case_verdict(a, "sync-in-loop", RULE_FIRES);
    case_does(o, ACTION_UPLOAD_WITHOUT_WAITING);
    ck_assert_str_eq(o->setting, "non_blocking=1");
}

TEST(test_waits_by_operator)
{
    static const struct {
        const char *outer, *inner;
        enum action action;
        const char *setting;
    } cases[] = {
        {"aten::index", "aten::nonzero", ACTION_FIX_RESULT_SIZES, NULL},
        {"aten::item", "aten::_local_scalar_dense", ACTION_WAIT_LESS, "sync_every=100"},
        {"aten::to", "aten::copy_", ACTION_READ_RARELY, "sync_every=100"},
        {"forward", "mine", ACTION_WAIT_LESS, "sync_every=100"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        outer = cases[i].outer;
        inner = cases[i].inner;
        const struct advice *a = case_advice_with(fill_wait, "framework", "pytorch");
        const struct outcome *o = case_verdict(a, "sync-in-loop", RULE_FIRES);
        case_does(o, cases[i].action);
        ck_assert_pstr_eq(o->setting, cases[i].setting);
    }
}

/* A search from 2 to 8 ms measures two kernels, waits for each, and thinks for half a millisecond
 * in between. */
static void fill_searches_that_wait(struct builder *b, int64_t at)
{
    struct row_call r = {.family = SPOOL_CALL_FIND, .start_ns = at + MS(2), .end_ns = at + MS(8)};
    build_kernel(b, case_gemm, at, at + US(10), MS(2));
    build_kernel(b, case_gemm, at + MS(2.01), at + MS(2.02), MS(3));
    build_sync(b, at + MS(2.1), MS(2.93));
    build_kernel(b, case_gemm, at + MS(5.5), at + MS(5.51), MS(2.4));
    build_sync(b, at + MS(5.6), MS(2.32));
    build_kernel(b, case_gemm, at + MS(7.93), at + MS(7.94), MS(2.04));
    build_call(b, r, "cudnnFindConvolutionForwardAlgorithmEx");
}

TEST(test_waits_of_a_search_go_with_it)
{
    struct builder b = build_start();
    case_loop(&b, fill_searches_that_wait);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "sync-in-loop", RULE_SILENT);
    case_verdict(a, "shapes-change", RULE_FIRES);
    a = build_predict(&b);
    ck_assert(!case_outcome(a, "shapes-change")->upper_bound);
    ck_assert_int_ge(case_outcome(a, "shapes-change")->saves_mid_ns, MS(5));
}

/* A small batch copied in and the loss read back, both by blocking calls; then the queue is empty
 * for 2 ms. */
static void fill_item(struct builder *b, int64_t at)
{
    build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, false, 64, at, US(8), at + US(3), US(2));
    for (int i = 0; i < 40; i++)
        build_kernel(b, case_gemm, at + US(10 + 20 * i), at + US(20) + US(200 * i), US(199));
    build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, false, 4, at + MS(1), MS(7) + US(35),
               at + US(8025), US(2));
}

TEST(test_item)
{
    const struct outcome *o = case_verdict(case_advice(fill_item), "sync-in-loop", RULE_FIRES);
    ck_assert_str_eq(o->remedy.object.name, "cudaMemcpy");
    case_measures(o, "of them, single numbers (64 bytes and less)", 1, 0.01);
    case_measures(o, "synchronising calls", 1, 0.01); /* not the H2D */
}

/* x[mask] counts its rows first; or an operator that nobody knows waits. The hook names no read. */
static const char *before_wait;
static int64_t read_bytes;

static void fill_unnamed(struct builder *b, int64_t at)
{
    for (int i = 0; i < 4; i++) {
        int64_t t = at + US(2400 * i);
        build_kernel(b, case_gemm, t, t + US(10), US(800));
        build_kernel(b, before_wait, t + US(8), t + US(815), US(5));
        build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, false, read_bytes, t + US(16),
                   US(810), t + US(822), US(2));
    }
}

TEST(an_operator_waits)
{
    static const struct {
        const char *kernel;
        enum action action;
    } cases[] = {{"cub::DeviceReduceSingleTileKernel<int>", ACTION_FIX_RESULT_SIZES},
                 {"some_kernel<float>", ACTION_FIND_WAIT}};
    for (int i = 0; i < 2; i++) {
        before_wait = cases[i].kernel;
        read_bytes = 4;
        const struct advice *a = case_advice_with(fill_unnamed, "torch.version", "2.14.1");
        case_verdict(a, "sync-in-loop", RULE_FIRES);
        case_does(case_outcome(a, "sync-in-loop"), cases[i].action);
    }
}

/* What reads a megabyte is no operator that waits for a value: the program saves, say. */
TEST(much_that_is_read_is_no_value_that_an_operator_waits_for)
{
    before_wait = "some_kernel<float>";
    read_bytes = 1 << 20;
    const struct advice *a = case_advice_with(fill_unnamed, "torch.version", "2.14.1");
    case_does(case_verdict(a, "sync-in-loop", RULE_FIRES), ACTION_READ_RARELY);
}

static enum { NOTHING_SAYS, A_RANGE_SAYS, LOOKS_SAY } said; /* what the host does in the pause */

/* 3 ms of kernels, a wait for them, and nothing for 6 ms. */
static void fill_silence(struct builder *b, int64_t at)
{
    for (int i = 0; i < 6; i++)
        build_kernel(b, case_gemm, at + US(10 * i), at + US(20) + US(500 * i), US(498));
    build_sync(b, at + US(100), MS(3));
    if (said == A_RANGE_SAYS)
        build_range(b, "augment", at + MS(3.2), at + MS(9));
    for (int i = 4; i < 9 && said == LOOKS_SAY; i++)
        look_at(b, stack_of(b, "/home/me/train.py", "record", 12), at + MS(i));
}

/* 3 ms of kernels, a read of a megabyte, and a line that works on it for 6 ms, as torch.save() does. */
static void fill_save(struct builder *b, int64_t at)
{
    for (int i = 0; i < 6; i++)
        build_kernel(b, case_gemm, at + US(10 * i), at + US(20) + US(500 * i), US(498));
    build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, true, 1 << 20, at + US(100), MS(3.1),
               at + MS(3.02), US(100));
    for (int i = 4; i < 9; i++)
        look_at(b, stack_of(b, "/home/me/train.py", "main", 47), at + MS(i));
}

TEST(what_reads_much_is_the_line_that_works_on_it)
{
    const struct advice *a = case_advice_with(fill_save, "torch.version", "2.14.1");
    const struct outcome *o = case_verdict(a, "sync-in-loop", RULE_FIRES);
    case_does(o, ACTION_READ_RARELY);
    ck_assert_pstr_eq(o->remedy.object.place, "train.py:47");
}

TEST(what_nobody_recorded_may_be_the_loader)
{
    for (said = NOTHING_SAYS; said <= LOOKS_SAY; said++) {
        const struct advice *a = case_advice(fill_silence);
        const struct outcome *o = case_verdict(a, "sync-in-loop", RULE_FIRES);
        ck_assert_int_eq(strstr(o->summary, "no range says why") != NULL, said == NOTHING_SAYS);
        ck_assert_int_eq(strstr(o->summary, "record() train.py:12") != NULL, said == LOOKS_SAY);
        case_verdict(a, "num-workers", said == NOTHING_SAYS ? RULE_CANNOT_TELL : RULE_SILENT);
    }
}
