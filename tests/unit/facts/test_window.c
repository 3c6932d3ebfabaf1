/* If no step repeats, the window of the recording takes the place of a step: where its time goes,
 * which rules are asked, and what every report calls it. */
#include "tests/unit/exported.h"
#include "tests/unit/rule_case.h"

#include "analyzer/compare/compare.h"

/* n kernels of different names, one a ms from `at` on, launched right before. Returns the end. */
static int64_t kernels(struct builder *b, int n, int64_t at, int64_t ns)
{
    char name[40];
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "kernel_%c%d", 'a' + i % 26, i * i);
        build_kernel(b, name, at + MS(i), at + MS(i) + US(10), ns);
    }
    return at + MS(n);
}

/* Twelve copies from pageable memory, 70 % of the window; between them each time another kernel. */
static struct builder copying(int64_t copy_ns)
{
    struct builder b = build_start();
    char name[40];
    int64_t at = MS(5);
    for (int i = 0; i < 12; i++) {
        build_copy(&b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, false, 40 << 20, at,
                   copy_ns + US(20), at + US(10), copy_ns);
        snprintf(name, sizeof name, "kernel_%c%d", 'a' + i, i * i);
        build_kernel(&b, name, at + copy_ns + US(30), at + copy_ns + US(40), MS(3));
        at += copy_ns + US(40) + MS(3);
    }
    return b;
}

static double share(const struct facts *f, enum part part)
{
    return (double)f->breakdown_ns[part] / (double)f->step_ns;
}

TEST(copies_of_a_window_are_its_answer)
{
    struct builder b = copying(MS(7));
    const struct advice *a = build_analyze(&b);
    ck_assert(analysis_of_window(a->facts));
    ck_assert_str_eq(a->verdict_class, "copy");
    ck_assert_double_eq_tol(share(a->facts, PART_COPY), 0.7, 0.005);
    const struct outcome *o = case_first(a, "pin-memory", MS(84));
    ck_assert_double_eq_tol(case_value(o, "pageable H2D copies"), 12, 1e-9);
    ck_assert_ptr_nonnull(strstr(a->next, "Pin the host buffers"));
}

/* What was launched before the recording holds a stream up for 50 ms: nothing is known of them. */
TEST(begins_behind_what_was_launched_before)
{
    for (int held = 0; held < 2; held++) {
        struct builder b = build_start();
        build_stream(&b, 2, 1);
        build_kernel(&b, "first", MS(5), MS(5) + US(10), US(10));
        b.stream = 2;
        build_kernel(&b, "held up", held ? MS(5) + US(30) : MS(55), MS(55) + US(10), US(10));
        kernels(&b, 12, MS(56), US(980));
        const struct facts *f = build_analyze(&b)->facts;
        ck_assert(analysis_of_window(f));
        ck_assert_int_eq(f->step_ns > MS(20), !held);
        ck_assert_int_eq(strstr(f->steps.source_text, "launched before the recording") != NULL,
                         held);
        ck_assert_int_lt(held ? f->breakdown_ns[PART_UNEXPLAINED] : 0, MS(1));
    }
}

/* Nobody but the user knows whether each run of the only kernel is a step. */
TEST(one_kernel_may_be_a_step)
{
    for (int others = 0; others < 2; others++) {
        struct builder b = build_start();
        for (int i = 0; i < 30; i++)
            build_kernel(&b, others && i % 4 == 0 ? "other" : "train_step", MS(5) + MS(i),
                         MS(5) + MS(i) + US(10), US(100 + 17 * (i * i % 13)));
        const struct steps *s = &build_analyze(&b)->facts->steps;
        ck_assert_int_eq(s->source == STEPS_NONE && s->doubt, !others);
        if (!others)
            ck_assert_ptr_nonnull(strstr(s->doubt, "'train_step' (30 times). If each is a step"));
    }
}

/* What is true of a loop alone is not asked. */
TEST(rules_of_steps_are_not_asked)
{
    struct builder b = copying(MS(7));
    const struct advice *a = build_analyze(&b);
    static const char *const ids[] = {"zero-grad", "batch-size", "copy-volume", "cudnn-algorithm"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        const struct outcome *o = case_outcome(a, ids[i]);
        ck_assert_int_eq(o->verdict, RULE_CANNOT_TELL);
        ck_assert_ptr_nonnull(strstr(o->why, "steps that repeat"));
    }
}

/* Every text of every outcome that was asked, and every report: nothing is of a step. */
static void no_step(const char *where, const char *text)
{
    static const char *const words[] = {"per step", "of the step", "each step", "every step",
                                        "a step ",  "median",      "steps per"};
    for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
        ck_assert_msg(!strstr(text, words[i]), "%s says '%s': %s", where, words[i],
                      strstr(text, words[i]));
}

TEST(nothing_is_said_of_a_step)
{
    struct builder b = copying(MS(7));
    struct advice *a = build_predict(&b);
    for (size_t i = 0; i < a->outcome_count; i++) {
        const struct outcome *o = &a->outcomes[i];
        if (!o->rule->in_window)
            continue;
        no_step(o->rule->id, o->title);
        no_step(o->rule->id, o->verdict == RULE_CANNOT_TELL ? NULL : o->why);
        no_step(o->rule->id, o->summary);
        for (size_t k = 0; k < o->evidence_count; k++)
            no_step(o->rule->id, o->evidence[k].text);
    }
    static const char *const formats[] = {"term", "markdown"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        char *out = exported(formats[i], a);
        no_step(formats[i], out);
        ck_assert_ptr_nonnull(strstr(out, "indow"));
        ck_assert_ptr_nonnull(strstr(out, "saves in the window"));
        free(out);
    }
    char *json = exported("json", a);
    ck_assert_ptr_nonnull(strstr(json, "\"unit\": \"window\""));
    ck_assert_ptr_nonnull(strstr(json, "\"breakdown_of\": \"window\""));
    free(json);
}

TEST(ranks_of_a_window_wait_in_it)
{
    struct builder b = copying(MS(7));
    struct advice *a = build_analyze(&b);
    struct rank_facts two[2] = {{.rank = 0}, {.rank = 1, .late_count = 5, .late_ns = MS(20)}};
    struct facts *f = (struct facts *)(uintptr_t)a->facts;
    struct ranks none = f->ranks;
    f->ranks = (struct ranks){.count = 2, .at = two, .collectives = 5, .late = 1};
    char *out = exported("term", a);
    f->ranks = none;
    no_step("ranks", out);
    ck_assert_ptr_nonnull(strstr(out, "2 ranks compared"));
    free(out);
}

TEST(the_page_tells_of_a_window)
{
    struct builder b = copying(MS(7));
    char *out = exported("html", build_analyze(&b));
    ck_assert_ptr_nonnull(strstr(out, "Where the window goes"));
    ck_assert_ptr_nonnull(strstr(out, "in the window</span>"));
    ck_assert_ptr_nonnull(strstr(out, "in all that was recorded</caption>"));
    ck_assert_ptr_null(strstr(out, "steps per second"));
    ck_assert_ptr_null(strstr(out, "id=\"steps\""));
    ck_assert_ptr_null(strstr(out, "per used step"));
    free(out);
}

/* The first work was launched before the window began, and is in its sums. */
TEST(the_first_work_counts)
{
    struct builder b = build_start();
    build_kernel(&b, "first", MS(1), MS(3), MS(30));
    kernels(&b, 12, MS(33), US(900));
    const struct advice *a = build_analyze(&b);
    ck_assert_int_eq(a->facts->totals.kernel_count_all, 13);
    ck_assert_int_eq(a->facts->totals.kernel_ns, MS(30) + 12 * US(900));
}

/* Setting up around the work: 60 ms before it, 40 ms behind it; or `far` away from it. */
static struct builder set_up(int64_t far)
{
    struct builder b = build_start();
    build_api(&b, "cudaMalloc", MS(1), MS(60));
    int64_t end = kernels(&b, 20, MS(61) + far, US(900));
    for (int i = 0; i < 40; i++)
        build_api(&b, "cuModuleUnload", end + MS(i) + far, US(1000));
    return b;
}

TEST(setting_up_belongs_to_a_window)
{
    struct builder b = set_up(0);
    const struct advice *a = build_analyze(&b);
    ck_assert_int_eq(a->facts->step_ns / MS(1), 120);
    ck_assert_str_eq(a->verdict_class, "start-up");

    const struct outcome *o = case_outcome(a, "warm-up");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert_ptr_nonnull(strstr(o->summary, "60.0 ms of it in the first call to the GPU"));
    ck_assert_ptr_nonnull(strstr(o->summary, "last work, 40 calls to free memory, unload code or "
                                             "end otherwise take 40.0 ms"));
    ck_assert_ptr_nonnull(strstr(a->facts->steps.source_text, "last freeing or unloading"));
    b = set_up(MS(1000)); /* what lies between is not setting up */
    a = build_analyze(&b);
    ck_assert_int_eq(a->facts->step_ns / MS(1), 19);
    ck_assert_str_ne(a->verdict_class, "start-up");
}

TEST(next_to_nothing_is_not_enough)
{
    struct builder b = build_start();
    build_kernel(&b, "one", MS(1), MS(1) + US(10), US(20));
    build_kernel(&b, "two", MS(40), MS(40) + US(10), US(20));
    const struct advice *a = build_analyze(&b);
    ck_assert_str_eq(a->verdict_class, "not-enough-data");
    ck_assert_ptr_nonnull(strstr(a->verdict, "the window recorded contains only 2 GPU operations"));
    ck_assert_uint_eq(a->ranked_count, 0);
}

/* ... unless one named place holds most of each step: then that is what to change. */
TEST(few_operations_beside_a_named_place_are_enough)
{
    for (int named = 0; named < 2; named++) {
        struct builder b = build_start();
        for (int i = 0; i < 2; i++) {
            int64_t at = MS(100) + MS(50) * i;
            build_range(&b, i ? "ProfilerStep#2" : "ProfilerStep#1", at, at + MS(50));
            if (named)
                build_range_in(&b, "cpu_op", "aten::normal_", 1, at + MS(1), at + MS(45));
            build_kernel(&b, "pow", at + MS(46), at + MS(46) + US(10), MS(1));
            build_sync(&b, at + MS(46) + US(20), MS(1));
        }
        const struct advice *a = build_analyze(&b);
        ck_assert_msg((strcmp(a->verdict_class, "not-enough-data") != 0) == named, "%s",
                      a->verdict);
        ck_assert(!named || (a->ranked_count && strstr(a->ranked[0]->summary, "aten::normal_")));
    }
}

/* Where the virtual GPU lacks a call, that is why there is little, and more of it would end there, too. */
TEST_EACH(a_missing_call_is_the_cause, 0, 3)
{
    struct builder b = _i == 2 ? set_up(0) : build_start();
    build_meta(&b, "ended.missing_call", "cudaNewCall");
    if (_i == 1)
        build_kernel(&b, "one", MS(1), MS(1) + US(10), US(20));
    const struct advice *a = build_analyze(&b);
    ck_assert_str_eq(a->verdict_class, _i == 2 ? "start-up" : "not-enough-data");
    ck_assert_ptr_nonnull(strstr(a->why, "called cudaNewCall, which the virtual GPU lacks"));
    ck_assert_ptr_nonnull(strstr(a->next, "or leave this call out"));
}

/* What to record is said in the words of what recorded. */
TEST(not_enough_says_what_to_record)
{
    static const char *const sources[] = {"nsys", "kineto"}, *const words[] = {
                                                                 "nsys profile --delay=",
                                                                 "torch.profiler.schedule("};
    for (int i = 0; i < 2; i++) {
        struct builder b = build_start();
        build_meta(&b, "source", sources[i]);
        build_meta(&b, "exe", "/usr/bin/python3");
        build_kernel(&b, "one", MS(1), MS(1) + US(10), US(20));
        build_kernel(&b, "two", MS(40), MS(40) + US(10), US(20));
        ck_assert_ptr_nonnull(strstr(build_analyze(&b)->next, words[i]));
    }
}

/* One kernel of some microseconds keeps the GPU busy all the time, and says nothing of a program;
 * one of a second is the program. */
TEST(a_kernel_that_somebody_tried_is_not_enough)
{
    static const struct {
        int64_t length_ns;
        const char *verdict;
    } cases[] = {{US(2), "not-enough-data"}, {MS(1000), "gpu"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct builder b = build_start();
        build_kernel(&b, "one", MS(1), MS(1) + US(10), cases[i].length_ns);
        ck_assert_str_eq(build_analyze(&b)->verdict_class, cases[i].verdict);
    }
}

/* A wait in the window: without it the GPU would have had work all the time. The prediction is what a
 * replay without it saves, as of one step. */
TEST(a_window_is_replayed)
{
    struct builder b = build_start();
    int64_t at = MS(5);
    char name[40];
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "kernel_%c%d", 'a' + i, i * i);
        build_kernel(&b, name, at, at + US(10), MS(3));
        build_sync(&b, at + US(20), MS(3) - US(5));
        at += MS(3) + MS(2); /* 2 ms of the host behind each wait */
    }
    struct advice *a = build_analyze(&b);
    int64_t before = case_outcome(a, "sync-in-loop")->saves_high_ns;
    a = build_predict(&b);
    const struct outcome *o = case_outcome(a, "sync-in-loop");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert(!o->upper_bound && a->whatif.trusted);
    ck_assert_uint_eq(a->whatif.steps, 1);
    ck_assert_int_gt(o->saves_mid_ns, MS(15));
    ck_assert_int_ge(o->saves_high_ns, before);
    ck_assert_int_ge(o->saves_high_ns, MS(20)); /* 11 times 2 ms and what else each wait costs */
    ck_assert_int_le(o->saves_high_ns, a->facts->step_ns - 12 * MS(3) + US(50));
}

TEST(windows_of_the_same_work_are_compared)
{
    struct err e = ERR_INIT;
    struct builder base = copying(MS(7)), now = copying(MS(3)), other = build_start();
    kernels(&other, 30, MS(2), US(900));
    struct advice *a = build_analyze(&base), *b = build_analyze(&now), *c = build_analyze(&other);
    struct diff *d = diff_find(a, b, false, &e);
    ck_assert_ptr_null(d->comparable);
    ck_assert(d->of_windows && !d->enough);
    ck_assert_double_eq_tol(d->ratio, 6.04 / 10.04, 0.01);
    diff_free(d);
    d = diff_find(a, c, false, &e);
    ck_assert_ptr_nonnull(strstr(d->comparable, "different work"));
    diff_free(d);
    struct gate *g = gate_run(a, b, &(struct gate_wish){.max_regress_pct = 5}, &e);
    ck_assert_int_eq(g->verdict, GATE_INCONCLUSIVE);
    ck_assert_ptr_nonnull(strstr(g->checks[0].why, "no step repeats"));
    gate_free(g);
}

/* The GPU was at work on what nobody recorded when the recording began, and a copy waited for it.
 */
TEST(what_ran_before_the_recording_is_not_known)
{
    struct builder b = build_start();
    build_stream(&b, 2, 1);
    char name[32];
    b.stream = 2;
    build_kernel(&b, "other_stream", MS(100), MS(100) + US(10), US(10));
    b.stream = 1;
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "kernel_%d", i);
        build_kernel(&b, name, MS(100) + US(20 + 5 * i), MS(500) + US(100 * i), US(95));
    }
    const struct advice *a = build_analyze(&b);
    ck_assert(analysis_of_window(a->facts));
    ck_assert_int_ge(a->facts->breakdown_ns[PART_UNEXPLAINED], MS(399));
    ck_assert_int_le(a->facts->breakdown_ns[PART_IDLE_QUEUED], MS(1));
    ck_assert_ptr_nonnull(strstr(a->next, "launched before"));
}
