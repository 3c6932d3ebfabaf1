/* What earlier trials teach: the history file, and how much it widens intervals. */
#include "tests/unit/test.h"
#include "analyzer/advice/advice.h"
#include "analyzer/advice/past.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct past_trial pin = {1700000000000000001, false, "pin", 0.10, 0.20, 0.15};

static struct past_trial measured(double share, int64_t at)
{
    struct past_trial t = pin;
    t.measured = share;
    t.tried_ns = at;
    return t;
}

static double miss(const struct past_trial *t, size_t n, size_t *trials)
{
    const struct facts facts = {0};
    struct advice a = {.facts = &facts};
    struct err e = ERR_INIT;
    ck_assert_int_eq(past_learn(&a, &(struct past_trials){t, n, NULL, 0}, &e), 0);
    double by = past_miss(&a, &edit_pin, trials);
    arena_release(&a.arena);
    return by;
}

TEST(few_trials_give_the_worst_miss)
{
    struct past_trial t[] = {measured(0.15, 1), measured(0.07, 2), measured(0.21, 3)};
    size_t trials;
    ck_assert_double_eq_tol(miss(t, 1, &trials), 0, 1e-9);
    ck_assert_double_eq_tol(miss(t, 3, &trials), 0.03, 1e-9);
    ck_assert_uint_eq(trials, 3);
}

TEST(other_changes_and_other_kinds_of_gpu_say_nothing)
{
    struct past_trial t[] = {measured(0.01, 1), measured(0.02, 2)};
    size_t trials;
    memcpy(t[0].edit, "pins", 5);
    t[1].virtual_gpu = true;
    ck_assert_double_eq_tol(miss(t, 2, &trials), 0, 1e-9);
    ck_assert_uint_eq(trials, 0);
}

/* Misses of 0, 1, 2 ... points: with ten, ceil(0.8 * 11) = 9 of them must be inside. */
TEST(many_trials_give_the_quantile)
{
    struct past_trial t[20];
    size_t trials;
    for (int i = 0; i < 20; i++)
        t[i] = measured(0.20 + 0.01 * i, i);
    ck_assert_double_eq_tol(miss(t, 9, &trials), 0.08, 1e-9);
    ck_assert_double_eq_tol(miss(t, 10, &trials), 0.08, 1e-9);
    ck_assert_double_eq_tol(miss(t, 20, &trials), 0.16, 1e-9); /* the 17th */
}

TEST(trials_of_the_profile_count_once)
{
    struct rule rule = {.id = "pin-memory"};
    struct outcome o = {.rule = &rule, .edit = {.kind = &edit_pin}};
    const struct facts facts = {.step_ns = 1000000, .steps = {.median_ns = 1000000}};
    struct advice a = {.facts = &facts, .outcomes = &o, .outcome_count = 1};
    struct kept_trial own = {.rule = "pin-memory",
                             .verdict = "SMALLER",
                             .predicted_low_ns = 200000, /* as earlier trials had widened it */
                             .predicted_mid_ns = 500000,
                             .predicted_high_ns = 800000,
                             .own_low_ns = 400000,
                             .own_high_ns = 600000,
                             .measured_mid_ns = 100000,
                             .step_ns = 1000000,
                             .tried_realtime_ns = 77};
    struct past_trial same = {77, false, "pin", 0.4, 0.6, 0.1};
    struct err e = ERR_INIT;
    size_t trials;
    ck_assert_int_eq(past_learn(&a, &(struct past_trials){&same, 1, &own, 1}, &e), 0);
    ck_assert_double_eq_tol(past_miss(&a, &edit_pin, &trials), 0.3, 1e-9);
    ck_assert_uint_eq(trials, 1);
    own.tried_realtime_ns = 78;
    ck_assert_int_eq(past_learn(&a, &(struct past_trials){&same, 1, &own, 1}, &e), 0);
    ck_assert_double_eq_tol(past_miss(&a, &edit_pin, &trials), 0.3, 1e-9);
    ck_assert_uint_eq(trials, 2);
    memcpy(own.verdict, "UNDERPOWERED", 13);
    ck_assert_int_eq(past_learn(&a, &(struct past_trials){&same, 1, &own, 1}, &e), 0);
    past_miss(&a, &edit_pin, &trials);
    ck_assert_uint_eq(trials, 1);
    arena_release(&a.arena);
}

TEST(the_history_is_read_as_it_was_written)
{
    char path[] = "/tmp/gpuprof-history-XXXXXX";
    struct err e = ERR_INIT;
    size_t n;
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(history_add(path, &pin, &e), 0);
    FILE *f = fopen(path, "a");
    ck_assert_ptr_nonnull(f);
    fputs("a line of a newer gpuprof\n1\treal\tpin\tnan\t0\t0\n\n", f);
    fclose(f);
    struct past_trial second = {5, true, "keep-gradients", 0, 0.5, -0.25};
    ck_assert_int_eq(history_add(path, &second, &e), 0);
    struct past_trial *t = history_read(path, &n, &e);
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(t[0].tried_ns, pin.tried_ns);
    ck_assert_str_eq(t[0].edit, "pin");
    ck_assert(!t[0].virtual_gpu && t[1].virtual_gpu);
    ck_assert_double_eq_tol(t[1].measured, -0.25, 1e-6);
    ck_assert_str_eq(t[1].edit, "keep-gradients");
    free(t);
    unlink(path);
    ck_assert_ptr_null(history_read(path, &n, &e));
    ck_assert_uint_eq(n, 0);
    ck_assert_str_eq(e.text, "");
    ck_assert_int_eq(history_add("/nowhere/at/all", &pin, &e), -1);
}
