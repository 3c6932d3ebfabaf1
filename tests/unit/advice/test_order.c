/* The order of findings. No recording is behind them: the test sets what each saves. */
#include "tests/unit/test.h"

#include "analyzer/advice/passes.h"

#include <string.h>

enum { MOST = 128 }; /* at least as many as there are rules; those that are not given stay silent */

struct ranking {
    struct facts facts;
    struct outcome outcomes[MOST];
    const struct outcome *ranked[MOST];
    struct advice a;
};

static void fires(struct ranking *x, const char *rule, bool bound, int64_t low, int64_t mid,
                  int64_t high)
{
    struct outcome *o = &x->outcomes[x->a.outcome_count++];
    *o = (struct outcome){.rule = rule_find(rule),
                          .verdict = RULE_FIRES,
                          .upper_bound = bound,
                          .saves_low_ns = low,
                          .least_ns = low,
                          .saves_mid_ns = mid,
                          .saves_high_ns = high};
    ck_assert_ptr_nonnull(o->rule);
}

static void rank(struct ranking *x, enum part lost)
{
    ck_assert_uint_le(rule_count, MOST);
    x->facts.breakdown_ns[lost] = 100;
    x->a.facts = &x->facts;
    x->a.outcomes = x->outcomes;
    x->a.ranked = x->ranked;
    findings_rank(&x->a);
}

static void check_first(const struct ranking *x, const char *rule)
{
    ck_assert_str_eq(x->a.ranked[0]->rule->id, rule);
}

/* It would lead by its group, and halfway between least and middle the prediction is smaller. */
TEST(no_bound_stands_before_a_larger_prediction)
{
    struct ranking x = {0};
    fires(&x, "cuda-graphs", false, 31, 56, 68);
    fires(&x, "exposed-communication", true, 0, 55, 55);
    rank(&x, PART_COMM);
    check_first(&x, "cuda-graphs");
}

TEST(a_bound_stands_before_a_smaller_prediction)
{
    struct ranking x = {0};
    fires(&x, "cuda-graphs", false, 31, 54, 68);
    fires(&x, "exposed-communication", true, 0, 55, 55);
    rank(&x, PART_COMM);
    check_first(&x, "exposed-communication");
}

/* Not the first of the lost time alone. */
TEST(lost_time_stands_before_cheaper_computing)
{
    struct ranking x = {0};
    fires(&x, "cpu-contention", true, 0, 95, 95);
    fires(&x, "tensor-cores", false, 45, 80, 90);
    fires(&x, "pointwise-fusion", false, 10, 30, 40);
    fires(&x, "worker-startup", false, 9, 20, 21);
    rank(&x, PART_IDLE_HOST);
    check_first(&x, "cpu-contention");
    ck_assert_str_eq(x.a.ranked[1]->rule->id, "tensor-cores"); /* far more */
    ck_assert_str_eq(x.a.ranked[2]->rule->id, "worker-startup");
}

/* It says where most time is lost, but not what to do about it. */
TEST(host_work_without_a_place_stands_behind_what_says_more)
{
    for (int i = 0; i < 4; i++) {
        struct ranking x = {0};
        fires(&x, "host-work", true, 0, 50, 100);
        x.outcomes[0].remedy.action = ACTION_MOVE_HOST_WORK;
        x.outcomes[0].remedy.object.place = i == 1 ? "train.py:9" : NULL;
        if (i == 3)
            fires(&x, "tensor-cores", false, 20, 30, 40);
        else
            fires(&x, "piecewise-work", false, 10, i == 2 ? 20 : 30, 40);
        rank(&x, PART_IDLE_HOST);
        check_first(&x, i ? "host-work" : "piecewise-work");
    }
}

TEST(nor_does_the_bound_of_a_cause)
{
    struct ranking x = {0};
    fires(&x, "sync-in-loop", false, 31, 56, 68);
    fires(&x, "num-workers", true, 0, 55, 55);
    rank(&x, PART_IDLE_INPUT);
    check_first(&x, "sync-in-loop");
}

/* What others free waits for the late rank. */
TEST(a_late_rank_that_most_is_lost_by_leads)
{
    for (int most = 0; most < 2; most++) {
        struct ranking x = {0};
        fires(&x, "cuda-graphs", false, 32, 56, 68);
        fires(&x, "straggler", false, 0, 25, 50);
        rank(&x, most ? PART_COMM : PART_IDLE_LAUNCH);
        check_first(&x, most ? "straggler" : "cuda-graphs");
    }
}

/* Nothing is certain of either, and the larger one is likelier to save much; a small saving that is
 * certain does not hide it. */
TEST(what_may_be_nothing_competes_by_its_middle)
{
    struct ranking x = {0};
    fires(&x, "pin-memory", false, 0, 16, 16);
    fires(&x, "fused-optimizer", false, 2, 4, 6);
    fires(&x, "cuda-graphs", false, 0, 99, 124);
    rank(&x, PART_IDLE_LAUNCH);
    check_first(&x, "cuda-graphs");
    ck_assert_str_eq(x.a.ranked[2]->rule->id, "fused-optimizer");
}

/* A line that is only named stands behind what says what to do in it, and before all else. */
TEST(what_to_do_in_a_line_stands_before_its_name)
{
    for (int same = 0; same < 2; same++) {
        struct ranking x = {0};
        fires(&x, "host-work", true, 0, 100, 200);
        x.outcomes[0].remedy.action = ACTION_SHORTEN_LINE;
        x.outcomes[0].remedy.object.place = "train.py:4";
        fires(&x, "piecewise-work", false, 44, 82, 124);
        x.outcomes[1].remedy.object.place = same ? "train.py:4" : "train.py:9";
        rank(&x, PART_IDLE_HOST);
        check_first(&x, same ? "piecewise-work" : "host-work");
    }
}

static void fires_with(struct ranking *x, const char *rule, const struct edit_kind *kind,
                       bool bound, int64_t low, int64_t mid, int64_t high)
{
    fires(x, rule, bound, low, mid, high);
    x->outcomes[x->a.outcome_count - 1].edit.kind = kind;
}

/* No graph holds a wait: what takes it out goes first, unless it is next to nothing beside what the
 * graph saves. Then the graph's finding names it, and it comes next. */
TEST(waits_stand_before_a_graph)
{
    for (int small = 0; small < 2; small++) {
        struct ranking x = {0};
        fires_with(&x, "cuda-graphs", &edit_graph, false, 50, 70, 90);
        fires_with(&x, "fused-optimizer", &edit_join, false, 20, 30, 40);
        fires_with(&x, "sync-in-loop", &edit_unsync, false, 1, small ? 2 : 8, small ? 3 : 12);
        rank(&x, PART_IDLE_LAUNCH);
        check_first(&x, small ? "cuda-graphs" : "sync-in-loop");
        ck_assert(!small || x.a.ranked[1] == &x.outcomes[2]); /* it comes next */
        ck_assert_ptr_eq(x.outcomes[0].after, &x.outcomes[2]);
        ck_assert_ptr_null(x.outcomes[1].after);
    }
}

/* What the host does besides shows because a wait has emptied the queue. */
TEST(waits_stand_before_the_work_that_they_expose)
{
    for (int less = 0; less < 2; less++) {
        struct ranking x = {0};
        fires(&x, "host-work", true, 0, 30, 60);
        fires_with(&x, "sync-in-loop", &edit_unsync, true, 0, 10, less ? 20 : 40);
        rank(&x, PART_IDLE_HOST);
        check_first(&x, less ? "host-work" : "sync-in-loop");
    }
}
