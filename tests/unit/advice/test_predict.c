/* The saving that a finding states, compared with what it has measured. */
#include "analyzer/advice/past.h"
#include "analyzer/advice/passes.h"
#include "analyzer/profile/history.h"
#include "tests/unit/replay_steps.h"
#include "tests/unit/rule_case.h"
#include "report/words/text.h"

#include <math.h>

static double evidence(const struct outcome *o, const char *start)
{
    for (size_t i = 0; i < o->evidence_count; i++)
        if (strncmp(o->evidence[i].text, start, strlen(start)) == 0)
            return o->evidence[i].value;
    return -1;
}

/* A copy of 8 ms that nobody waits for, then kernels of 1 ms, twice 0.4 ms behind it; the host is
 * three steps ahead. */
static void fill_copy(struct builder *b, int64_t at)
{
    build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 200000000, at - MS(30), US(5),
               at + US(20), MS(8));
    build_kernel(b, "gemm", at + US(10) - MS(30), at + MS(8.42), MS(0.5));
    build_kernel(b, "gemm", at + US(16) - MS(30), at + MS(9.32), MS(0.5));
}

TEST(copies_hide_behind_no_more_than_the_work_beside_them)
{
    struct bench x = bench_start(MS(10), fill_copy);
    const struct outcome *o = case_outcome(x.b.a, "overlap-copies");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert_int_le(o->saves_high_ns, MS(1) + US(10));
    ck_assert_int_gt(o->saves_high_ns, US(900));
    ck_assert_int_le(o->saves_mid_ns, o->saves_high_ns);
}

/* Hundred launches set the pace, and forty memsets of gradients that take 2 us each. */
static void fill_zeroing(struct builder *b, int64_t at)
{
    for (int i = 0; i < 100; i++)
        build_kernel(b, "k", at + US(50 * i), at + US(50 * i) + US(10), US(5));
    for (int i = 0; i < 40; i++)
        build_memset(b, 4096, at + MS(5) + US(20 * i), at + MS(5) + US(20 * i + 8), US(2));
    build_sync(b, at + US(5900), US(5));
}

TEST(a_saving_above_what_is_measured_says_why)
{
    struct bench x = bench_start(MS(6), fill_zeroing);
    const struct outcome *o = case_outcome(x.b.a, "zero-grad");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert(!o->upper_bound);
    double more = evidence(o, "of the saving, because launches and other work move up");
    ck_assert_double_gt(more, 0.02);
    ck_assert_double_lt(more, (double)o->saves_mid_ns / 1e6);
}

static int64_t launch_every_ns;

/* Forty products of 200 us in FP32. */
static void fill_fp32(struct builder *b, int64_t at)
{
    if (at == MS(100))
        build_meta(b, "framework", "pytorch");
    for (int i = 0; i < 40; i++)
        build_kernel(b, "ampere_sgemm_128x64_nn", at + launch_every_ns * i,
                     at + US(200 * i) + US(10), US(198));
    build_sync(b, at + launch_every_ns * 40, MS(8.1) - launch_every_ns * 40);
}

/* Casts are launched, too: where launches then set the pace, TF32 comes first. */
TEST(tf32_comes_first_where_it_saves_more_than_16_bits)
{
    for (int first = 0; first < 2; first++) {
        launch_every_ns = first ? US(100) : US(12);
        struct bench x = bench_start(MS(8.2), fill_fp32);
        const struct outcome *o = case_outcome(x.b.a, "tensor-cores");
        ck_assert_int_eq(o->verdict, RULE_FIRES);
        double other = evidence(o, first ? "saved by 16 bits," : "saved by TF32 alone,");
        ck_assert_double_gt(other, first ? 0 : 1);
        ck_assert_double_lt(other * 1e6, (double)o->saves_mid_ns); /* it predicts the better one */
        ck_assert_int_eq(o->edit.precision.tf32, first);
        ck_assert_int_eq(strstr(o->summary, "more than 16 bits") != NULL, first);
        case_does(o, ACTION_MIX_PRECISION);
        ck_assert_ptr_nonnull(o->remedy.params[PARAM_TF32_SAVES].text);
        case_said(o, CONDITION_TF32_FIRST, first);
    }
}

static struct outcome *outcome_of(struct advice *a, const char *rule)
{
    for (size_t i = 0; i < a->outcome_count; i++)
        if (strcmp(a->outcomes[i].rule->id, rule) == 0)
            return &a->outcomes[i];
    ck_abort_msg("no rule %s", rule);
}

/* In another run both meet the same host: that its pace is not known puts neither behind. */
TEST(findings_compete_at_the_recorded_pace_of_the_host)
{
    struct bench x = bench_start(MS(6), fill_zeroing);
    struct outcome *one = outcome_of(x.b.a, "zero-grad"), *two = outcome_of(x.b.a, "cuda-graphs");
    ck_assert(one->verdict == RULE_FIRES && two->verdict == RULE_FIRES && !two->upper_bound);
    one->saves_low_ns = MS(4), one->least_ns = MS(5);
    two->saves_low_ns = two->least_ns = MS(4.5);
    findings_rank(x.b.a);
    ck_assert_ptr_eq(x.b.a->ranked[0], one);
    two->least_ns = MS(9.5); /* cheaper launching leads where it saves twice what is lost */
    findings_rank(x.b.a);
    ck_assert_ptr_eq(x.b.a->ranked[0], one);
    two->least_ns = MS(10.5);
    findings_rank(x.b.a);
    ck_assert_ptr_eq(x.b.a->ranked[0], two);
}

/* A trial of the same kind of change that missed its interval by three tenths of the step. */
TEST(trials_of_the_past_widen_the_interval)
{
    static const struct past_trial miss = {
        1700000000000000001, false, "keep-gradients", 0.1, 0.2, 0.5};
    const struct past_trials past = {.history = &miss, .count = 1};
    struct err e = ERR_INIT;
    struct bench x = bench_start(MS(6), fill_zeroing);
    const struct outcome *without = case_outcome(x.b.a, "zero-grad");
    struct advice *a = advise_predicted(x.b.t, &past, &e);
    const struct outcome *with = case_outcome(a, "zero-grad");
    ck_assert_uint_eq(without->widened_after, 0);
    ck_assert_uint_eq(with->widened_after, 1);
    ck_assert_int_eq(with->widened_ns, (int64_t)(0.3 * (double)a->facts->step_ns));
    ck_assert_int_lt(with->saves_low_ns, without->saves_low_ns);
    ck_assert_int_eq(with->saves_mid_ns, without->saves_mid_ns);
    ck_assert_int_eq(with->ledger_low_ns, 0); /* the trials tell of more than the ledger */
    advice_free(a);
}

/* On real cards, by the odds of the saving, without another place in the ranking; on virtual ones
 * intervals hold without. */
TEST(misses_on_real_cards_widen_the_interval)
{
    struct bench x = bench_start(MS(6), fill_zeroing), y = bench_start(MS(6), fill_zeroing);
    struct err e = ERR_INIT;
    struct text words;
    y.b.t->devices[0].is_virtual = 1;
    struct advice *a = advise_predicted(y.b.t, NULL, &e);
    for (size_t i = 0; i < x.b.a->ranked_count; i++) {
        const struct outcome *o = x.b.a->ranked[i];
        const struct outcome *same = case_outcome(a, o->rule->id);
        if (o->upper_bound)
            continue;
        double miss = o->change == LEDGER_KERNEL ? ADVICE_MISS_KERNEL : ADVICE_MISS_HOST;
        int64_t low = case_replayed(o).low_ns, high = case_replayed(o).high_ns;
        int64_t step = x.b.a->facts->step_ns;
        ck_assert_int_eq(o->saves_low_ns, past_by_odds(low, step, -miss));
        ck_assert_int_le(o->saves_high_ns, past_by_odds(high, step, miss));
        ck_assert_int_gt(o->ledger_low_ns, 0);
        ck_assert_int_gt(o->saves_low_ns, o->saves_mid_ns / 2); /* a false claim is still refuted */
        ck_assert_int_le(o->saves_high_ns, step);
        ck_assert_ptr_nonnull(strstr(text_interval(&words, x.b.a, o), "misses on real cards"));
        ck_assert_int_eq(same->saves_low_ns, low);
        ck_assert_int_eq(same->ledger_low_ns + same->ledger_high_ns, 0);
        ck_assert_int_eq(same->least_ns, o->least_ns);
    }
    ck_assert_uint_gt(x.b.a->stack_count, 0);
    advice_free(a);
}

/* However small a saving is, an end that was above nothing stays above it, and one below the whole
 * step below that. */
TEST(odds_never_take_an_end_to_nothing)
{
    for (int64_t ns = MS(1); ns < MS(100); ns += MS(1)) {
        ck_assert_int_gt(past_by_odds(ns, MS(100), -0.2), 0);
        ck_assert_int_lt(past_by_odds(ns, MS(100), -0.2), ns);
        ck_assert_int_gt(past_by_odds(ns, MS(100), 0.2), ns);
        ck_assert_int_le(past_by_odds(ns, MS(100), 0.2), MS(100));
        ck_assert_int_le(llabs(past_by_odds(ns, MS(100), 0) - ns), 1);
    }
    ck_assert_int_eq(past_by_odds(0, MS(100), -0.2), 0);
    ck_assert_int_eq(past_by_odds(MS(100), MS(100), 0.2), MS(100));
}

/* 8 ms of the host, of which recording its stacks takes 3 ms at least, and a kernel of 4 ms that nobody
 * waits for: without them the GPU is busy for four fifths of the step. */
static int functions;
static void fill_stacked(struct builder *b, int64_t at)
{
    for (int i = 0; i < functions; i++)
        build_range_in(b, "python", "f", 1, at + MS(8) * i / functions,
                       at + MS(8) * i / functions + 100);
    for (int i = 1; i <= 10; i++)
        build_api(b, "cudaEventRecord", at + MS(8) * i / 10 - US(20), US(10));
    build_kernel(b, case_gemm, at + MS(8) - US(5), at + MS(8), MS(4));
}

TEST(what_records_stacks_is_not_the_verdict)
{
    for (functions = 1; functions < 20000; functions += 12000) {
        struct bench x = bench_start_of(8, MS(8), fill_stacked);
        const struct advice *a = x.b.a;
        ck_assert_str_eq(a->verdict_class, functions > 1 ? "gpu" : "host");
        ck_assert_int_eq(strstr(a->verdict, "without the profiler's stacks") != NULL,
                         functions > 1);
    }
}
