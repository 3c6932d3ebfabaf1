/* Runs without a GPU: where the time of a step goes, steps by batches, and the verdict. */
#include "tests/unit/exported.h"
#include "tests/unit/rule_case.h"

#include "analyzer/compare/compare.h"
#include "wire/spool_format.h"

static int64_t rows;

static void loader_of(struct builder *b, int64_t thread, int what, int64_t start, int64_t length)
{
    struct row_loader r = {.id = ++rows,
                           .process = 1,
                           .thread = thread,
                           .start_ns = start,
                           .end_ns = start + length,
                           .what = what,
                           .worker = -1,
                           .batch = -1,
                           .cpu_ns = -1};
    build_put(b, ROW_LOADER, &r);
}

static void loader(struct builder *b, int what, int64_t start, int64_t length)
{
    loader_of(b, b->thread, what, start, length);
}

/* A step of 10 ms: data 2 (collate 0.5 of it), forward 2.5, backward 3 (gc 1 of it), 0.25 that
 * nothing tells apart, optimizer 1.25; 1 more before the batch is asked for. */
static void step_at(struct builder *b, int64_t at)
{
    build_range_at(b, "gpuprof.step", 0, at, at + MS(10));
    loader(b, SPOOL_LOADER_WAIT, at + MS(1), MS(2));
    loader(b, SPOOL_LOADER_COLLATE, at + MS(2), US(500));
    build_range(b, "zero_grad", at + MS(3), at + MS(3) + US(250));
    build_range(b, "backward", at + MS(5.75), at + MS(8.75));
    build_range(b, "gc", at + MS(6), at + MS(7));
    build_range(b, "optimizer.step", at + MS(9), at + MS(10));
}

static struct builder start(void)
{
    struct builder b = build_start();
    rows = 0;
    build_meta(&b, "usable_cores", "4");
    build_meta(&b, "torch.num_threads", "4");
    build_meta(&b, "torch.version", "2.9.0");
    return b;
}

static struct builder training(void)
{
    struct builder b = start();
    for (int i = 0; i < CASE_STEPS; i++)
        step_at(&b, MS(100) + MS(10) * i);
    return b;
}

static void sums(const struct advice *a)
{
    int64_t sum = 0;
    for (int p = 0; p < PART_COUNT; p++)
        sum += a->facts->breakdown_ns[p];
    ck_assert_int_eq(sum, a->facts->step_ns);
}

static void part(const struct advice *a, enum part p, int64_t ns)
{
    ck_assert_msg(llabs(a->facts->breakdown_ns[p] - ns) <= 5, "%s is %lld, not %lld", part_key[p],
                  (long long)a->facts->breakdown_ns[p], (long long)ns);
}

TEST(parts_of_a_step)
{
    struct builder b = training();
    const struct advice *a = build_analyze(&b);
    ck_assert(a->facts->on_cpu);
    ck_assert_int_eq(a->facts->step_ns, MS(10));
    sums(a);
    part(a, PART_DATA, MS(1.5));
    part(a, PART_COLLATE, MS(0.5));
    part(a, PART_FORWARD, MS(2.5));
    part(a, PART_BACKWARD, MS(2));
    part(a, PART_GC, MS(1));
    part(a, PART_OPTIMIZER, MS(1.25));
    part(a, PART_OTHER, MS(1.25));
    part(a, PART_UNEXPLAINED, 0);
    ck_assert_str_eq(a->verdict_class, "cpu");
    ck_assert_str_eq(a->verdict_class, "cpu");
    ck_assert_ptr_nonnull(strstr(a->why, "4 threads; the program may use 4 cores"));
    ck_assert_str_eq(analysis_part_title(a->facts, PART_FORWARD), "forward and loss");
}

/* PyTorch 1 tells the end of the optimizer's step alone. */
TEST(optimizer_without_a_beginning)
{
    struct builder b = start();
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100) + MS(10) * i;
        build_range_at(&b, "gpuprof.step", 0, at, at + MS(10));
        build_range(&b, "zero_grad", at + MS(1), at + MS(2));
        build_range(&b, "backward", at + MS(4), at + MS(7));
    }
    const struct advice *a = build_analyze(&b);
    sums(a);
    part(a, PART_OPTIMIZER, MS(4));
    part(a, PART_BACKWARD, MS(3));
    part(a, PART_FORWARD, MS(3));
    /* no loader tells where the forward pass begins */
    ck_assert_str_eq(analysis_part_title(a->facts, PART_FORWARD), "work before backward");
}

TEST(forward_in_the_closure_of_an_optimizer)
{
    struct builder b = start();
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100) + MS(10) * i;
        build_range_at(&b, "gpuprof.step", 0, at, at + MS(10));
        loader(&b, SPOOL_LOADER_WAIT, at, MS(1));
        build_range(&b, "optimizer.step", at + MS(1.5), at + MS(10));
        build_range(&b, "zero_grad", at + MS(3), at + MS(3.5));
        build_range(&b, "backward", at + MS(4), at + MS(8));
    }
    const struct advice *a = build_analyze(&b);
    sums(a);
    part(a, PART_FORWARD, MS(2.5));
    part(a, PART_BACKWARD, MS(4));
    part(a, PART_OPTIMIZER, MS(2.5));
}

/* Every third step is preceded by 20 ms of validation, with batches of its own. */
static void epochs(struct builder *b, bool told)
{
    int64_t at = MS(100);
    for (int i = 0; i < 24; i++, at += MS(10)) {
        step_at(b, at);
        if (i % 6 != 5)
            continue;
        int64_t to = at + MS(30);
        if (told)
            build_range(b, "validation", at + MS(10) + US(10), to);
        for (int k = 0; k < 4; k++)
            loader(b, SPOOL_LOADER_WAIT, at + MS(10) + MS(4) * k + US(100), MS(1));
        loader(b, SPOOL_LOADER_BEGIN, to, US(800));
        at = to;
        build_range_at(b, "gpuprof.step", 0, at - MS(20), at + MS(10));
        loader(b, SPOOL_LOADER_WAIT, at + MS(1), MS(2));
        build_range(b, "backward", at + MS(5.75), at + MS(8.75));
        build_range(b, "optimizer.step", at + MS(9), at + MS(10));
    }
}

TEST(what_recurs_is_in_the_mean)
{
    struct builder b = start();
    epochs(&b, true);
    const struct advice *a = build_analyze(&b);
    ck_assert_int_eq(a->facts->steps.median_ns, MS(10));
    ck_assert_uint_ge(a->facts->steps.slow, 3);
    ck_assert(analysis_by_mean(a->facts));
    ck_assert_int_eq(a->facts->step_ns, a->facts->steps.pace_ns);
    sums(a);
    ck_assert_int_gt(a->facts->breakdown_ns[PART_VALIDATION], MS(2));
    ck_assert_int_gt(a->facts->breakdown_ns[PART_WORKERS], US(80));
    ck_assert(analysis_by_mean(a->facts));
    ck_assert_ptr_nonnull(strstr(a->why, "validation"));
    char *text = exported("json", a);
    ck_assert_ptr_nonnull(strstr(text, "\"breakdown_of\": \"mean\""));
    ck_assert_ptr_nonnull(strstr(text, "\"worker_start\": "));
    free(text);
}

/* model.eval(), and no model.train(): the next backward pass ends the range, which then holds the
 * first batch that is trained with. A teacher's eval() within a step is no validation at all. */
TEST(validation_that_a_backward_pass_ends)
{
    struct builder b = start();
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100) + MS(10) * i;
        step_at(&b, at);
        build_range(&b, "validation", at + US(100), at + MS(5.75) - US(1));
        loader(&b, SPOOL_LOADER_WAIT, at + US(200), US(300));
    }
    const struct advice *a = build_analyze(&b);
    part(a, PART_VALIDATION, US(900)); /* until the batch is asked for */
    b = training();
    for (int i = 0; i < CASE_STEPS; i++)
        build_range(&b, "validation", MS(103.5) + MS(10) * i, MS(105.75) + MS(10) * i - US(1));
    part(build_analyze(&b), PART_VALIDATION, 0);
}

TEST(batches_where_nothing_trains)
{
    struct builder b = start();
    build_meta(&b, "torch.loader", "DataLoader(num_workers=0, batch_size=32, pin_memory=False)");
    for (int i = 0; i < 20; i++)
        loader(&b, SPOOL_LOADER_WAIT, MS(100) + MS(8) * i, MS(2));
    loader(&b, SPOOL_LOADER_END, MS(260), US(10));
    const struct advice *a = build_analyze(&b);
    ck_assert(a->facts->steps.batches);
    ck_assert_uint_eq(a->facts->steps.count, 20);
    ck_assert_int_eq(a->facts->step_ns, MS(8));
    sums(a);
    part(a, PART_DATA, MS(2));
    part(a, PART_FORWARD, MS(6));
    ck_assert(a->facts->steps.batches);
    ck_assert_int_eq(a->facts->step_ns, MS(8));
    char *text = exported("term", a);
    ck_assert_ptr_nonnull(strstr(text, "125 batches per second, 4,000 samples per second"));
    ck_assert_ptr_nonnull(strstr(text, "batches used"));
    free(text);
}

/* An agent that plays does so after model.eval(): no validation, as far as anybody can tell. */
TEST(an_agent_that_plays)
{
    struct builder b = start();
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100) + MS(10) * i;
        build_range_at(&b, "gpuprof.step", 0, at, at + MS(10));
        build_range(&b, "validation", at, at + MS(6));
        build_range(&b, "backward", at + MS(7), at + MS(9));
    }
    const struct advice *a = build_analyze(&b);
    ck_assert_ptr_nonnull(strstr(a->verdict, "What runs after model.eval() takes 60 %"));
    ck_assert_ptr_nonnull(strstr(a->why, "after model.eval() 6.00 ms"));
    ck_assert_ptr_nonnull(strstr(a->next, "environments"));
}

TEST(no_word_about_a_gpu_that_is_not_there)
{
    static const char *const formats[] = {"term", "markdown", "html"};
    static const char *const silly[] = {"GPU idle",      "GPU busy",          "gpuprof run CMD",
                                        "unexplained 0", "on a GPU it would", "Run it on a GPU",
                                        "unknown GPU"};
    for (int steps = 0; steps < 2; steps++) {
        struct builder b = steps ? training() : start();
        const struct advice *a = build_analyze(&b);
        for (size_t i = 0; i < 3; i++) {
            char *text = exported(formats[i], a), *end = strstr(text, "<script type");
            if (end)
                *end = 0; /* titles of all parts, for the timeline */
            for (size_t k = 0; k < sizeof silly / sizeof *silly; k++)
                ck_assert_msg(!strstr(text, silly[k]), "%s says '%s'", formats[i], silly[k]);
            if (steps)
                ck_assert_msg(strstr(text, "garbage collection"), "%s lacks a part", formats[i]);
            free(text);
        }
    }
}

TEST(budgets_of_a_run_without_a_gpu)
{
    static const struct {
        const char *text;
        enum gate_verdict verdict;
    } of[] = {{"[idle]\ninput_pct_max = 19\n", GATE_SLOWER}, /* 2 of 10 ms */
              {"[idle]\ninput_pct_max = 21\n", GATE_PASS},
              {"[idle]\nlaunch_pct_max = 5\n", GATE_INCONCLUSIVE},
              {"[gpu]\nbusy_pct_min = 80\n", GATE_INCONCLUSIVE}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct builder b = training();
        struct err e = ERR_INIT;
        struct gate *g =
            gate_run(NULL, build_analyze(&b),
                     &(struct gate_wish){.budget_text = of[i].text, .max_regress_pct = 3}, &e);
        ck_assert_ptr_nonnull(g);
        ck_assert_msg(g->verdict == of[i].verdict, "%s: %d", of[i].text, g->verdict);
        gate_free(g);
    }
}

TEST(no_steps_and_why)
{
    struct builder b = start();
    const struct advice *a = build_analyze(&b);
    ck_assert_str_eq(a->verdict_class, "not-enough-data");
    ck_assert_ptr_nonnull(strstr(a->why, "repeated no optimizer step"));
    b = build_start();
    build_meta(&b, "exe", "/usr/bin/python3.11");
    build_health(&b, "python-hook-off", "the hook was off: python -I", 1, 0);
    a = build_analyze(&b);
    ck_assert_str_eq(a->why, "the hook was off: python -I");
    ck_assert_ptr_nonnull(strstr(a->next, "options -I"));
}

/* A usage message, a library that is missing: marks on the loop would not help. */
TEST(a_program_that_failed_before_it_began)
{
    static const char *const ends[][3] = {{"ended.status", "127", "without gpuprof first"},
                                          {"ended.signal", "6", "without gpuprof first"},
                                          {"ended.status", "1", "--device virtual"}};
    for (int i = 0; i < 3; i++) {
        struct builder b = build_start();
        build_meta(&b, ends[i][0], ends[i][1]);
        if (i == 2)
            build_meta(&b, "no_gpu", "1");
        const struct advice *a = build_analyze(&b);
        ck_assert_ptr_nonnull(strstr(a->verdict, "ended before it used a GPU"));
        ck_assert_ptr_nonnull(strstr(a->next, ends[i][2]));
    }
    struct builder b = build_start();
    build_meta(&b, "ended.status", "0");
    ck_assert_ptr_nonnull(strstr(build_analyze(&b)->next, "Mark the loop"));
}

/* Work was launched and not recorded, or a GPU holds the weights: no run without a GPU. */
TEST(a_gpu_that_was_not_recorded)
{
    struct builder b = training();
    build_api(&b, "cudaLaunchKernel", MS(101), US(5));
    const struct advice *a = build_analyze(&b);
    ck_assert(!a->facts->on_cpu);
    ck_assert_int_eq(a->facts->breakdown_ns[PART_UNEXPLAINED], a->facts->step_ns);
    char *text = exported("markdown", a);
    ck_assert_ptr_null(strstr(text, "GPU idle"));
    free(text);
    b = training();
    build_meta(&b, "torch.parameters", "6 tensors, 100 numbers, float32, on cuda");
    ck_assert(!build_analyze(&b)->facts->on_cpu);
}
