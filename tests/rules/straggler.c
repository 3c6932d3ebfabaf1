/* Cases of the rule straggler: when it fires, when it is silent, and when it cannot tell; and what
 * it relies on: the collectives of several ranks are matched by their order, clocks are corrected,
 * the late rank is named. */
#include "tests/unit/rank_rows.h"
#include "tests/unit/rule_case.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 3, STEPS = 7 }; /* the first does not count: nobody knows where it begins */

struct fleet {
    struct rank_rows r;
    struct advice *a;
    bool alone;    /* nothing but collectives was recorded: no step repeats */
    bool once;     /* work differs in the first step alone */
    bool in_turns; /* ranks 0 and 1 swap their work in every other step */
    bool numbered; /* calls were recorded; all transfers are alike */
    int64_t nodes; /* hosts that the ranks run on in turn; 0 = not recorded */
    double ahead;  /* ms that launches are ahead of the GPU */
};

static void kernel(struct fleet *f, int64_t rank, const char *name, int64_t from, int64_t to)
{
    rank_rows_kernel(&f->r, rank, name, from, to, MS(f->ahead));
}

/* Steps of 10 ms. Rank r computes work[r] and then meets the others, 1 ms of transfer. */
static void one_rank(struct fleet *f, int64_t rank, const double *work, int64_t clock, int skipped)
{
    double last = 0;
    for (int r = 0; r < RANKS; r++)
        last = work[r] > last ? work[r] : last;
    rank_rows_rank(&f->r, rank, RANKS, f->nodes ? rank % f->nodes ? "node1" : "node0" : NULL);
    for (int i = 0; i < STEPS; i++) {
        int64_t at = MS(10) * (i + 1) + clock;
        if (!f->alone)
            rank_rows_step(&f->r, rank, at - US(50), at + MS(9.95));
        double own = work[f->in_turns && rank < 2 && i % 2 ? 1 - rank : rank];
        double transfer = f->numbered ? 1 : 1 + 0.1 * (i * i % 7);
        own = f->once && i ? last : own;
        if (!f->alone)
            kernel(f, rank, "volta_sgemm_128x64_nn", at, at + MS(own));
        if (i < skipped) /* the recording begins amid a step */
            continue;
        kernel(f, rank, RANK_ROWS_ALLREDUCE, at + MS(own), at + MS(last + transfer));
        if (f->numbered)
            rank_rows_collective(&f->r, rank, 99, RANKS, i + 1, at + MS(own));
    }
}

static struct fleet start(void)
{
    struct fleet f = {.r = rank_rows_start()};
    rank_rows_fact(&f.r, 0, "have", "kernels,copies,memsets,api,ranges");
    return f;
}

static void look(struct fleet *f)
{
    struct err e = ERR_INIT;
    ck_assert_int_eq(timeline_finish(f->r.t, &e), 0);
    f->a = advise(f->r.t, &e);
    ck_assert_ptr_nonnull(f->a);
}

static void end(struct fleet *f)
{
    advice_free(f->a);
    timeline_free(f->r.t);
}

TEST(late_rank_is_named)
{
    struct fleet f = start();
    const double work[RANKS] = {4, 7, 4};
    one_rank(&f, 0, work, 0, 0);
    one_rank(&f, 1, work, MS(5000), 0);
    one_rank(&f, 2, work, MS(-3), 0);
    look(&f);
    const struct ranks *r = &f.a->facts->ranks;
    ck_assert_uint_eq(r->count, 3);
    ck_assert_int_eq(r->at[r->late].rank, 1);
    ck_assert_int_eq(r->at[1].late_count, r->collectives);
    ck_assert_int_eq(r->at[1].offset_ns, MS(5000));
    ck_assert_int_eq(r->at[2].offset_ns, MS(-3));
    ck_assert_int_eq(r->late_ns, MS(3));
    ck_assert_int_eq(r->at[0].wait_ns, MS(3));
    ck_assert_int_eq(r->at[1].wait_ns, 0);
    ck_assert_int_ge(r->transfer_ns, MS(1));
    const struct outcome *o = case_verdict(f.a, "straggler", RULE_FIRES);
    ck_assert_int_eq(o->saves_high_ns, MS(3));
    ck_assert_uint_eq(r->wait_count, STEPS - 1); /* rank 0 is the one analysed */
    ck_assert_int_eq(r->waits[0].spare_ns, MS(3));
    case_text(o, PARAM_RANKS, "rank 1");
    end(&f);
}

/* The host is named where there are several. */
TEST_EACH(the_host_of_the_late_rank, 0, 3)
{
    static const char *const said[] = {
        "rank 1 is late: ", "rank 1 is late: ", "rank 1 is late (on node1): "};
    struct fleet f = start();
    const double work[RANKS] = {4, 7, 4};
    f.nodes = _i;
    for (int r = 0; r < RANKS; r++)
        one_rank(&f, r, work, 0, 0);
    look(&f);
    const char *summary = case_outcome(f.a, "straggler")->summary;
    ck_assert_msg(strstr(summary, said[_i]) == summary, "%s", summary);
    ck_assert_msg(strstr(summary, "; beside rank 0 the same kernels take 3.00 ms more") != NULL,
                  "%s", summary);
    end(&f);
}

/* Threads of the late rank stand in the run queue for this share of the time, on its own clock. */
static void queue(struct fleet *f, int64_t rank, double share, int64_t clock)
{
    for (int i = 0; i <= STEPS + 1; i++) {
        struct row_host_sample s = {.id = ++f->r.id,
                                    .process = rank + 1,
                                    .thread = rank + 1,
                                    .time_ns = MS(10) * i + clock,
                                    .run_queue_ns = (int64_t)(share * (double)MS(10)) * i};
        rank_rows_put(&f->r, ROW_HOST_SAMPLE, &s);
    }
}

/* Late by 3 ms of 10: 2 ms without a core explain it, 0.5 do not; another rank's are beside it. */
TEST(a_rank_without_a_core_is_no_straggler)
{
    static const struct {
        int64_t rank;
        double share;
        double ahead;
        enum verdict verdict;
    } cases[] = {{1, 0.2, 0, RULE_SUPPRESSED},
                 {1, 0.05, 0, RULE_FIRES},
                 {2, 0.2, 0, RULE_FIRES},
                 {1, 0.2, 0.5, RULE_FIRES}}; /* its GPU takes longer: the host was there in time */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fleet f = start();
        const double work[RANKS] = {4, 7, 4};
        f.ahead = cases[i].ahead;
        for (int r = 0; r < RANKS; r++)
            one_rank(&f, r, work, r == 1 ? MS(5000) : 0, 0);
        queue(&f, cases[i].rank, cases[i].share, cases[i].rank == 1 ? MS(5000) : 0);
        look(&f);
        case_verdict(f.a, "straggler", cases[i].verdict);
        if (cases[i].verdict == RULE_SUPPRESSED)
            ck_assert_ptr_nonnull(strstr(case_outcome(f.a, "straggler")->why,
                                         "threads of its process had no core for"));
        end(&f);
    }
}

TEST(recordings_may_begin_at_different_collectives)
{
    struct fleet f = start();
    const double work[RANKS] = {4, 7, 4};
    one_rank(&f, 0, work, 0, 1);
    one_rank(&f, 1, work, 0, 0);
    one_rank(&f, 2, work, 0, 2);
    look(&f);
    ck_assert_uint_eq(f.a->facts->ranks.count, 3);
    ck_assert_int_eq(f.a->facts->ranks.at[1].offset_ns, 0);
    ck_assert_int_eq(f.a->facts->ranks.at[2].offset_ns, 0);
    ck_assert_int_eq(f.a->facts->ranks.at[f.a->facts->ranks.late].rank, 1);
    end(&f);
}

/* Steps that are all alike fit each other under any shift; recorded numbers do not. */
TEST(recorded_numbers_match_whatever_the_clocks_say)
{
    struct fleet f = start();
    f.numbered = true;
    const double work[RANKS] = {4, 7, 4};
    one_rank(&f, 0, work, 0, 0);
    one_rank(&f, 1, work, MS(21), 1);
    one_rank(&f, 2, work, MS(-19), 0);
    look(&f);
    ck_assert_uint_eq(f.a->facts->ranks.count, 3);
    ck_assert_int_eq(f.a->facts->ranks.at[1].offset_ns, MS(21));
    ck_assert_int_eq(f.a->facts->ranks.at[2].offset_ns, MS(-19));
    case_verdict(f.a, "straggler", RULE_FIRES);
    end(&f);
}

/* Collectives that nothing marks as steps: the same is true of all that was recorded. */
TEST(a_window_has_a_late_rank_too)
{
    for (int once = 0; once < 2; once++) {
        struct fleet f = start();
        const double work[RANKS] = {4, 7, 4};
        f.alone = true;
        f.once = once;
        for (int r = 0; r < RANKS; r++)
            one_rank(&f, r, work, 0, 0);
        look(&f);
        ck_assert(analysis_of_window(f.a->facts));
        case_verdict(f.a, "straggler", once ? RULE_SILENT : RULE_FIRES);
        const struct outcome *o = case_outcome(f.a, "straggler");
        if (!once) {
            case_text(o, PARAM_RANKS, "rank 1");
            ck_assert_ptr_null(strstr(o->summary, "step"));
            ck_assert_ptr_null(strstr(o->summary, "idles")); /* nobody knows between what */
            ck_assert_int_le(llabs(o->saves_high_ns - STEPS * MS(3)), MS(0.1));
        }
        end(&f);
    }
}

TEST(ranks_that_are_late_in_turns_are_no_straggler)
{
    struct fleet f = start();
    f.in_turns = true;
    const double work[RANKS] = {4, 7, 4};
    for (int r = 0; r < RANKS; r++)
        one_rank(&f, r, work, 0, 0);
    look(&f);
    ck_assert_int_ge(f.a->facts->ranks.late_ns, MS(2));
    const struct rank_heat *h = &f.a->facts->ranks.by_step;
    const struct steps *s = &f.a->facts->steps;
    ck_assert_uint_eq(h->columns, STEPS);
    ck_assert_uint_eq(f.a->facts->ranks.by_place.columns, 1);
    for (size_t i = 0; i < STEPS; i++) /* who is late when */
        for (size_t rank = 0; rank < RANKS; rank++)
            ck_assert_int_eq(h->late_ns[rank * h->columns + i],
                             s->at[i].used && rank == (i % 2 ? 0 : 1) ? MS(3) : 0);
    case_verdict(f.a, "straggler", RULE_SILENT);
    end(&f);
}

TEST(punctual_ranks_have_no_straggler)
{
    struct fleet f = start();
    const double work[RANKS] = {4, 4, 4};
    for (int r = 0; r < RANKS; r++)
        one_rank(&f, r, work, 0, 0);
    look(&f);
    ck_assert_int_eq(f.a->facts->ranks.late_ns, 0);
    case_verdict(f.a, "straggler", RULE_SILENT);
    case_verdict(f.a, "exposed-communication", RULE_FIRES);
    end(&f);
}

TEST(one_rank_cannot_tell)
{
    struct fleet f = start();
    const double work[RANKS] = {4, 7, 4};
    one_rank(&f, 0, work, 0, 0);
    look(&f);
    ck_assert_uint_eq(f.a->facts->ranks.count, 0);
    const struct outcome *o = case_verdict(f.a, "straggler", RULE_CANNOT_TELL);
    ck_assert_ptr_nonnull(strstr(o->why, "all ranks"));
    end(&f);
}

static void passes(struct fleet *f, int64_t rank, const char *call, int64_t from, int64_t to)
{
    struct row_collective c = {.id = ++f->r.id,
                               .process = rank + 1,
                               .thread = rank + 1,
                               .start_ns = from - MS(0.021),
                               .end_ns = from - MS(0.009),
                               .name = rank_rows_text(&f->r, call),
                               .kernel = -1,
                               .communicator = 98,
                               .ranks = 2,
                               .rank = rank,
                               .root = 1 - rank};
    rank_rows_put(&f->r, ROW_COLLECTIVE, &c);
    kernel(f, rank, "ncclDevKernel_SendRecv(ncclDevComm*)", from, to);
}

/* Two stages send and receive in different orders: each send meets its receive. */
TEST(sends_meet_receives)
{
    struct fleet f = start();
    for (int64_t r = 0; r < RANKS; r++)
        one_rank(&f, r, (const double[]){8.9, 8.9, 8.9}, 0, 0);
    for (int64_t at = MS(10); at <= MS(10) * STEPS; at += MS(10)) {
        passes(&f, 0, "ncclSend", at + MS(1), at + MS(1.1));
        passes(&f, 0, "ncclSend", at + MS(2), at + MS(2.1));
        passes(&f, 0, "ncclRecv", at + MS(4), at + MS(4.1));
        passes(&f, 0, "ncclRecv", at + MS(4.1), at + MS(7.1));
        passes(&f, 1, "ncclRecv", at + MS(0.2), at + MS(1.1));
        passes(&f, 1, "ncclSend", at + MS(1.5), at + MS(4.1));
        passes(&f, 1, "ncclRecv", at + MS(1.8), at + MS(2.1));
        passes(&f, 1, "ncclSend", at + MS(7), at + MS(7.1));
    }
    look(&f);
    const struct ranks *r = &f.a->facts->ranks;
    ck_assert_uint_eq(r->count, RANKS);
    ck_assert_msg(llabs(r->at[0].wait_ns - MS(2.9)) < US(20), "%lld", (long long)r->at[0].wait_ns);
    ck_assert_msg(llabs(r->at[1].wait_ns - MS(0.8 + 2.5 + 0.2)) < US(20), "%lld",
                  (long long)r->at[1].wait_ns);
    case_verdict(f.a, "straggler", RULE_SILENT);
    end(&f);
}
