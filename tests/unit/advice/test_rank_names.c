/* Names of groups of ranks, made from what the hook records of a program's process groups. */
#include "tests/unit/rank_rows.h"
#include "tests/unit/rule_case.h"

enum { RANKS = 4, STEPS = 7 };

/* A mesh of 2 x 2: ranks 0 and 1, 2 and 3 along one axis, 0 and 2, 1 and 3 along the other. */
static void one_rank(struct rank_rows *r, int64_t rank)
{
    rank_rows_rank(r, rank, RANKS, NULL);
    for (int i = 0; i < STEPS; i++) {
        int64_t at = MS(10) * (i + 1), communicators[] = {100 + rank / 2, 200 + rank % 2};
        rank_rows_step(r, rank, at - US(50), at + MS(9.9));
        rank_rows_kernel(r, rank, "volta_sgemm_128x64_nn", at, at + MS(5), 0);
        for (int k = 0; k < 2; k++) {
            int64_t from = at + MS(5 + 2 * k);
            rank_rows_kernel(r, rank, RANK_ROWS_ALLREDUCE, from, from + MS(1), 0);
            rank_rows_collective(r, rank, communicators[k], 2, i + 1, from);
        }
    }
}

static struct advice *answer(struct rank_rows *r, const char *const *groups)
{
    struct err e = ERR_INIT;
    *r = rank_rows_start();
    rank_rows_fact(r, 0, "have", "kernels,copies,memsets,api,ranges");
    for (int i = 0; groups[i]; i++)
        for (int64_t rank = 0; rank < RANKS; rank++) {
            char key[32];
            snprintf(key, sizeof key, "torch.group.%d", i);
            rank_rows_fact(r, rank, key, groups[i]);
        }
    for (int64_t rank = 0; rank < RANKS; rank++)
        one_rank(r, rank);
    ck_assert_int_eq(timeline_finish(r->t, &e), 0);
    struct advice *a = advise(r->t, &e);
    ck_assert_ptr_nonnull(a);
    return a;
}

/* The name of the groups whose first has ranks 0 and `second`. */
static const char *name_with(const struct advice *a, const char *members)
{
    const struct ranks *r = &a->facts->ranks;
    for (size_t i = 0; i < r->group_kinds; i++)
        if (strcmp(r->groups[i].members, members) == 0)
            return r->groups[i].name ? r->groups[i].name : "";
    return "missing";
}

static const struct {
    const char *groups[4], *along, *across;
} cases[] = {
    {{"2 1 mesh_tp", "2 2 mesh_dp"}, "mesh_tp", "mesh_dp"},
    {{"2 1 mesh_tp", "4 1 world", "2 2 data parallel"}, "mesh_tp", "data parallel"},
    {{"2 1 mesh_tp", "2 1 mesh_ep", "2 2 mesh_dp"}, "", "mesh_dp"}, /* which of both? */
    {{"2 1 mesh_tp", "2 2 -"}, "mesh_tp", ""},
    {{"2 one", "x", ""}, "", ""},
};

TEST_EACH(groups_have_the_programs_names, 0, sizeof cases / sizeof *cases)
{
    struct rank_rows r;
    struct advice *a = answer(&r, cases[_i].groups);
    ck_assert_str_eq(name_with(a, "0, 1"), cases[_i].along);
    ck_assert_str_eq(name_with(a, "0, 2"), cases[_i].across);
    advice_free(a);
    timeline_free(r.t);
}

/* The exchanges of the ranks of this process: of a model's parts, or of gradients? */
static size_t of_model(const struct advice *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->facts->tl->op_count; i++)
        n += a->facts->tl->ops[i].comm == COMM_MODEL;
    return n;
}

/* Of one size alone: the name says what its collectives exchange. */
TEST_EACH(a_name_says_what_is_exchanged, 0, 4)
{
    static const struct {
        const char *groups[3];
        size_t of_model;
    } said[] = {{{"2 1 mesh_tp", "2 2 mesh_dp"}, 0},
                {{"2 1 mesh_tp"}, 2 * RANKS * STEPS},
                {{"2 1 mesh_tp", "2 2 -"}, 0},
                {{"2 1 mesh_dp", "4 1 mesh_tp"}, 0}};
    struct rank_rows r;
    struct advice *a = answer(&r, said[_i].groups);
    ck_assert_int_eq(of_model(a), said[_i].of_model);
    advice_free(a);
    timeline_free(r.t);
}
