/* gate against a history of runs: the distribution, its noise, where it changed, and which runs do
 * not count. */
#include "tests/unit/test.h"
#include "tests/unit/gate_case.h"

static struct gate *against(struct builder *now, const double *ms, size_t n, const char *left_out)
{
    static struct past_run past[16];
    static char names[16][8];
    struct err e = ERR_INIT;
    for (size_t i = 0; i < n; i++) {
        snprintf(names[i], sizeof names[i], "run%zu", i);
        past[i] =
            (struct past_run){names[i], i % 2 ? "abcdef0123456789" : NULL, (int64_t)i, ms[i] * 1e6};
    }
    struct gate_wish wish = {
        .max_regress_pct = 3, .history = true, .past = past, .past_count = n, .left_out = left_out};
    struct gate *g = gate_run(NULL, now->a, &wish, &e);
    ck_assert_msg(g != NULL, "%s", e.text);
    return g;
}

static const struct {
    size_t n;
    double past[12];
    double now;
    enum gate_verdict verdict;
    const char *says, *says_not;
} cases[] = {
    {8, {10, 10.02, 9.99, 10, 10.01, 9.98, 10, 10}, 10, GATE_PASS, "last 8 good runs", "since"},
    {8,
     {10, 10.02, 9.99, 10, 10.01, 9.98, 10, 10},
     11,
     GATE_SLOWER,
     "this run is the first slow",
     "differ"},
    {8, {10, 10.02, 9.99, 10, 10.01, 9.98, 10, 10}, 9, GATE_PASS, "good runs", "since"},
    /* its noise is more than the limit */
    {8, {10, 10.5, 9.6, 10.3, 9.7, 10.6, 9.5, 10}, 10.4, GATE_PASS, "differ among", "since"},
    {3, {10, 10.5, 9.5}, 11, GATE_PASS, "differ among", "since"},
    /* one odd run moves nothing */
    {6, {10, 10, 14, 10.01, 9.99, 10}, 11, GATE_SLOWER, "median of the last 6", "differ"},
    /* it changed in the history already: run7 has a commit */
    {10,
     {10, 10, 10, 10, 10, 10, 10, 11, 11, 11},
     11,
     GATE_SLOWER,
     "since run7 (commit abcdef012345)",
     "first slow"},
    /* most of the history is slow: it passes, and is told */
    {10,
     {10, 10, 10, 11, 11, 11, 11, 11, 11, 11},
     11,
     GATE_PASS,
     "slower by 10.0 % since run3",
     "first"},
    {2, {10, 10}, 10, GATE_INCONCLUSIVE, "2 good runs", "since"},
    {0, {0}, 10, GATE_INCONCLUSIVE, "0 good runs", "since"},
};

TEST_EACH(test_distribution, 0, sizeof cases / sizeof *cases)
{
    struct run r = usual;
    r.step_ms = cases[_i].now;
    r.noise = 0.001;
    struct builder now = make(r);
    struct gate *g = against(&now, cases[_i].past, cases[_i].n, NULL);
    ck_assert_msg(g->verdict == cases[_i].verdict, "%d: %s", (int)g->verdict, g->checks[0].why);
    ck_assert_msg(strstr(g->checks[0].why, cases[_i].says) != NULL, "%s", g->checks[0].why);
    ck_assert_msg(strstr(g->checks[0].why, cases[_i].says_not) == NULL, "%s", g->checks[0].why);
    gate_free(g);
}

TEST(test_left_out_is_told)
{
    struct builder now = make(usual);
    const double past[] = {10, 10, 10};
    for (size_t n = 0; n <= 3; n += 3) {
        struct gate *g = against(&now, past, n, "left out of the history: 2 (another GPU)");
        ck_assert_ptr_nonnull(strstr(g->checks[0].why, "2 (another GPU)"));
        gate_free(g);
    }
}

/* What of the past counts beside a run. */
TEST(test_what_counts)
{
    static const struct {
        const char *key, *value, *device, *why; /* why NULL: it counts */
        int steps;
    } past[] = {
        {"command", "./train --batch 64", NULL, NULL, 60},
        {"command", "./train --batch 32", NULL, "64 samples", 60},
        {"command", "./eval --batch 64", NULL, "different programs", 60},
        {"command", "./train --batch 64", "Tesla T4", "different GPUs", 60},
        {"command", "./train --batch 64", NULL, "too few", 6},
        {"ended.status", "1", NULL, "failed", 60},
        {"ended.signal", "9", NULL, "failed", 60},
    };
    struct builder now = make_called(usual, "./train --batch 64");
    for (size_t i = 0; i < sizeof past / sizeof *past; i++) {
        struct run r = usual;
        struct past_run run;
        struct arena arena = ARENA_INIT;
        const char *why;
        r.device = past[i].device;
        r.steps = past[i].steps;
        struct builder b = make_meta(r, past[i].key, past[i].value);
        int rc = past_run_of(&arena, b.a, now.a, false, &run, &why);
        ck_assert_msg(rc == (past[i].why == NULL), "%zu: %s", i, why ? why : "");
        if (rc)
            ck_assert_double_eq_tol(run.step_ns, 10e6, 1e5);
        else
            ck_assert_msg(strstr(why, past[i].why) != NULL, "%zu: %s", i, why);
        arena_release(&arena);
    }
}
