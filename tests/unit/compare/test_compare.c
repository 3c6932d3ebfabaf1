/* diff and gate on loops whose step times are known: what passes, what fails, what cannot be
 * decided, and which cause is named. */
#include "tests/unit/test.h"
#include "report/export.h"
#include "tests/unit/gate_case.h"

#include <math.h>

static enum gate_verdict verdict(struct run base, struct run now, double pct)
{
    struct builder a = make(base), b = make(now);
    struct gate *g = gate(&a, &b, NULL, pct);
    enum gate_verdict v = g->verdict;
    ck_assert_uint_eq(g->check_count, 1);
    ck_assert(g->checks[0].why && g->checks[0].low <= g->checks[0].high);
    gate_free(g);
    return v;
}

TEST(test_same)
{
    struct run other = usual;
    for (uint64_t seed = 2; seed < 12; seed++) {
        other.seed = seed;
        ck_assert_int_eq(verdict(usual, other, 3), GATE_PASS);
    }
    other.step_ms = 5; /* faster is no regression */
    ck_assert_int_eq(verdict(usual, other, 3), GATE_PASS);
}

TEST(test_slower)
{
    struct run slow = usual;
    slow.step_ms = 10.5;
    for (uint64_t seed = 2; seed < 12; seed++) {
        slow.seed = seed;
        ck_assert_int_eq(verdict(usual, slow, 3), GATE_SLOWER);
    }
    ck_assert_int_eq(verdict(usual, slow, 10), GATE_PASS);
}

TEST(test_long_steps_that_recur)
{
    struct run bursts = usual;
    bursts.burst = 5; /* the median stays at 10 ms, the mean goes to 12 */
    struct builder a = make(usual), b = make(bursts), c = make(bursts);
    ck_assert(!analysis_by_mean(a.a->facts));
    ck_assert(analysis_by_mean(b.a->facts));
    ck_assert_int_gt(b.a->facts->steps.pace_ns, MS(11.7));
    ck_assert_int_lt(b.a->facts->steps.median_ns, MS(10.3));
    ck_assert_ptr_nonnull(strstr(b.a->verdict, " ms step on average (median 10"));
    struct gate *g = gate(&a, &b, NULL, 3);
    ck_assert_int_eq(g->verdict, GATE_SLOWER);
    ck_assert_uint_eq(g->check_count, 1);         /* by the median alone it would pass */
    const struct pace_change *p = &g->diff->pace; /* what diff tells beside the median */
    ck_assert_int_gt(p->new_ns, p->base_ns + MS(1.7));
    ck_assert(p->ratio_low > 1.05 && p->ratio_low < p->ratio && p->ratio < p->ratio_high);
    ck_assert(g->diff->by_mean && g->diff->ratio_low == p->ratio_low);
    gate_free(g);
    g = gate(&b, &c, NULL, 10);
    ck_assert_int_eq(g->verdict, GATE_PASS);
    gate_free(g);
}

TEST(test_inconclusive)
{
    struct run few = usual, noisy = usual;
    few.steps = 7;
    ck_assert_int_eq(verdict(usual, few, 3), GATE_INCONCLUSIVE);
    ck_assert_int_eq(verdict(few, usual, 3), GATE_INCONCLUSIVE);
    noisy.noise = 0.3;
    noisy.step_ms = 10.3;
    noisy.steps = 20;
    ck_assert_int_eq(verdict(noisy, noisy, 0), GATE_INCONCLUSIVE);
}

TEST(test_not_comparable)
{
    static const char *const pairs[][2] = {{NULL, "NVIDIA H100"},
                                           {"Virtual A100 (gpuprof model)", NULL}};
    for (int i = 0; i < 2; i++) {
        struct run one = usual, other = usual;
        one.device = pairs[i][0];
        other.device = pairs[i][1];
        struct builder a = make(one), b = make(other);
        struct gate *g = gate(&a, &b, NULL, 3);
        ck_assert_int_eq(g->verdict, GATE_INCONCLUSIVE);
        ck_assert_ptr_nonnull(strstr(g->checks[0].why, "not comparable"));
        ck_assert_ptr_nonnull(strstr(g->checks[0].why, i ? "virtual" : "H100"));
        gate_free(g);
    }
}

/* A program that ended early has no steps: that is said, and no number is made of it. */
TEST(test_nothing_to_compare)
{
    struct builder a = make(usual), b = build_start();
    build_meta(&b, "ended.status", "1");
    build_analyze(&b);
    struct gate *g = gate(&a, &b, NULL, 3);
    ck_assert_int_eq(g->verdict, GATE_SLOWER);
    ck_assert_uint_eq(g->check_count, 2);
    for (size_t i = 0; i < 2; i++)
        ck_assert_str_eq(g->checks[i].unit, "");
    ck_assert_str_eq(g->checks[1].why, "not comparable: the new recording contains no steps");
    ck_assert_uint_eq(g->diff->change_count, 0);
    static const char *const names[] = {"term", "markdown", "junit"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct err e = ERR_INIT;
        struct export_options o = {.width = 100};
        static char *out;
        static size_t n;
        FILE *f = open_memstream(&out, &n);
        ck_assert_int_eq(exporter_find(names[i])->gate(g, &o, f, &e), 0);
        fclose(f);
        ck_assert_msg(strstr(out, "failed") != NULL && !strstr(out, "measured 1"), "%s", out);
        ck_assert_msg(!strstr(out, "-100"), "%s", out);
        free(out);
    }
    gate_free(g);
}

TEST(test_deterministic)
{
    struct run other = usual;
    other.seed = 9;
    struct builder a = make(usual), b = make(other);
    struct err e = ERR_INIT;
    struct diff *x = diff_find(a.a, b.a, false, &e), *y = diff_find(a.a, b.a, false, &e);
    ck_assert(x->ratio_low == y->ratio_low && x->ratio_high == y->ratio_high &&
              x->change_count == y->change_count);
    ck_assert(x->ratio_low < x->ratio_high && x->ratio_low > 0.97 && x->ratio_high < 1.03);
    ck_assert(x->ratio_low <= x->ratio && x->ratio <= x->ratio_high);
    diff_free(x);
    diff_free(y);
    diff_free(NULL);
}

TEST(test_blames_the_part)
{
    struct run slow = usual;
    slow.step_ms = 14;
    slow.input_ms = 4;
    struct builder a = make(usual), b = make(slow);
    struct gate *g = gate(&a, &b, NULL, 3);
    ck_assert_int_eq(g->verdict, GATE_SLOWER);
    ck_assert_msg(strstr(g->checks[0].why, "GPU idle: waiting for input data, +4.00 ms") != NULL,
                  "%s", g->checks[0].why);
    ck_assert(fabs(g->checks[0].measured - 40) < 2);
    for (size_t i = 1; i < g->diff->change_count; i++) {
        const struct change *p = &g->diff->changes[i - 1], *q = &g->diff->changes[i];
        ck_assert_int_ge(llabs(p->new_ns - p->base_ns), llabs(q->new_ns - q->base_ns));
    }
    gate_free(g);
}

/* A kernel that was far down the list before is named, once. */
TEST(test_kernel_that_grew)
{
    struct builder runs[2];
    for (int now = 0; now < 2; now++) {
        struct builder b = build_start();
        char name[64];
        for (int i = 0; i < 12; i++) {
            int64_t at = MS(100) + MS(10 + 4 * now) * i, gpu = at + US(100);
            for (int k = 0; k < 20; k++) {
                snprintf(name, sizeof name, "kernel_%c", 'a' + k);
                int64_t length = k == 19 ? (now ? MS(4) : US(20)) : US(400);
                length += now && k == 0 ? US(15) : 0; /* too little to be seen beside the other */
                build_kernel(&b, name, at + US(5 * k), gpu, length);
                gpu += length + US(1);
            }
            build_range(&b, "step", at, at + MS(10 + 4 * now));
        }
        build_analyze(&b);
        runs[now] = b;
    }
    struct err e = ERR_INIT;
    struct diff *d = diff_find(runs[0].a, runs[1].a, false, &e);
    int named = 0, small = 0;
    for (size_t i = 0; i < d->change_count; i++)
        if (strcmp(d->changes[i].what, "kernel_t") == 0) {
            ck_assert(d->changes[i].base_ns == US(20) && d->changes[i].new_ns == MS(4));
            named++;
        } else if (strcmp(d->changes[i].what, "kernel_a") == 0) {
            small++;
        }
    ck_assert_int_eq(named, 1);
    ck_assert_int_eq(small, 0);
    diff_free(d);
}

/* ---- budgets ---- */

TEST(test_budget)
{
    static const struct {
        const char *text;
        enum gate_verdict verdict;
    } cases[] = {
        {"[step_time]\nmedian_ms_max = 12\n", GATE_PASS},
        {"[step_time]\nmedian_ms_max = 9\n", GATE_SLOWER},
        {"# limits\n[step_time]\r\n  median_ms_max=12 ; generous\r\np95_ms_max = 10.05\n",
         GATE_SLOWER},
        {"[gpu]\nbusy_pct_min = 50\n", GATE_PASS},
        {"[gpu]\nbusy_pct_min = 80\n", GATE_SLOWER},
        {"[idle]\ninput_pct_max = 45\n", GATE_PASS},
        {"[idle]\ninput_pct_max = 35\n", GATE_SLOWER},
        {"[health]\ndropped_max = 0", GATE_PASS},
    };
    struct run r = usual;
    r.input_ms = 4;
    struct builder b = make(r);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gate *g = gate(NULL, &b, cases[i].text, 0);
        ck_assert_msg(g->verdict == cases[i].verdict, "%s: %d (%s)", cases[i].text, g->verdict,
                      g->checks[0].why);
        ck_assert_ptr_null(g->diff);
        gate_free(g);
    }
}

TEST(test_budget_and_baseline)
{
    struct builder b = make(usual);
    struct gate *g = gate(&b, &b, "[step_time]\nmedian_ms_max = 9\n", 3);
    ck_assert_uint_eq(g->check_count, 2);
    ck_assert_int_eq(g->checks[0].verdict, GATE_PASS);
    ck_assert_int_eq(g->checks[1].verdict, GATE_SLOWER);
    ck_assert_int_eq(g->verdict, GATE_SLOWER); /* the worst counts */
    gate_free(g);
}

TEST(test_budget_without_steps)
{
    struct run few = usual;
    few.steps = 5;
    struct builder b = make(few);
    struct gate *g = gate(NULL, &b, "[step_time]\nmedian_ms_max = 100\n", 0);
    ck_assert_int_eq(g->verdict, GATE_INCONCLUSIVE);
    gate_free(g);
}

TEST(test_bad_budgets)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "no limit"},
        {"# nothing\n\n", "no limit"},
        {"[step_time]\n", "no limit"},
        {"[step_time\n", "line 1"},
        {"[step_time] x\n", "line 1"},
        {"[step_time]\nmedian_ms_max\n", "line 2"},
        {"[step_time]\nmedian_ms_max = fast\n", "'fast'"},
        {"[step_time]\nmedian_ms_max = 9ms\n", "'9ms'"},
        {"[step_time]\nmedian_ms_max = nan\n", "'nan'"},
        {"[step_time]\nmedian_ms_max =\n", "line 2"},
        {"[step_time]\nno_such = 1\n", "no_such"},
        {"median_ms_max = 1\n", "median_ms_max"},
        {"[0123456789012345678901234567890123456789012345678901234567890123456789]\n", "line 1"},
    };
    struct builder b = make(usual);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = ERR_INIT;
        ck_assert_ptr_null(
            gate_run(NULL, b.a,
                     &(struct gate_wish){.budget_text = cases[i].text, .max_regress_pct = 0}, &e));
        ck_assert_msg(strstr(e.text, cases[i].says) && !strchr(e.text, '\n'), "%s: %s",
                      cases[i].text, e.text);
    }
    char many[4096] = "[gpu]\n";
    for (int i = 0; i < 70; i++)
        strcat(many, "busy_pct_min = 1\n");
    struct err e = ERR_INIT;
    ck_assert_ptr_null(
        gate_run(NULL, b.a, &(struct gate_wish){.budget_text = many, .max_regress_pct = 0}, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "more than"));
}
