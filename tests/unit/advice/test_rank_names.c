/* Names of groups of ranks, as the hook tells what a program calls its process groups. */
#include "tests/unit/rule_case.h"

enum { RANKS = 4, STEPS = 7 };

struct job { /* a mesh of 2 x 2 ranks: 0 and 1, 2 and 3 along one axis, 0 and 2, 1 and 3 along the
                other */
    struct timeline *t;
    struct sink sink;
    int64_t id;
};

static void put(struct job *j, enum row_kind kind, const void *row)
{
    struct err e = ERR_INIT;
    ck_assert_int_eq(j->sink.put(j->sink.self, kind, row, &e), 0);
}

static uint32_t text(struct job *j, const char *s)
{
    return j->sink.intern(j->sink.self, s, strlen(s));
}

static void fact(struct job *j, int64_t process, const char *key, const char *value)
{
    struct row_meta m = {
        .id = ++j->id, .process = process, .key = text(j, key), .value = text(j, value)};
    put(j, ROW_META, &m);
}

static void kernel(struct job *j, int64_t rank, const char *name, int64_t from, int64_t to)
{
    int64_t at = ++j->id, place = rank + 1;
    struct row_api call = {.id = at,
                           .process = place,
                           .thread = place,
                           .start_ns = from - US(20),
                           .end_ns = from - US(10),
                           .name = text(j, "cudaLaunchKernel"),
                           .correlation = at};
    struct row_kernel k = {.id = at,
                           .process = place,
                           .stream = place,
                           .start_ns = from,
                           .end_ns = to,
                           .name = text(j, name),
                           .correlation = at};
    put(j, ROW_API, &call);
    put(j, ROW_KERNEL, &k);
}

static void exchange(struct job *j, int64_t rank, int64_t communicator, int64_t step, int64_t from)
{
    kernel(j, rank, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", from, from + MS(1));
    struct row_collective c = {.id = ++j->id,
                               .process = rank + 1,
                               .thread = rank + 1,
                               .start_ns = from - US(21),
                               .end_ns = from - US(9),
                               .name = text(j, "ncclAllReduce"),
                               .kernel = -1,
                               .communicator = communicator,
                               .sequence = step + 1,
                               .bytes = 4096,
                               .ranks = 2,
                               .rank = rank};
    put(j, ROW_COLLECTIVE, &c);
}

static void one_rank(struct job *j, int64_t rank)
{
    struct row_process p = {.id = rank + 1, .pid = 10 + rank, .rank = rank, .world_size = RANKS};
    struct row_thread th = {.id = rank + 1, .process = rank + 1, .tid = 10 + rank};
    struct row_device d = {.id = rank + 1, .process = rank + 1, .ordinal = rank};
    struct row_stream s = {
        .id = rank + 1, .process = rank + 1, .device = rank + 1, .context = 1, .stream = 7};
    put(j, ROW_PROCESS, &p);
    put(j, ROW_THREAD, &th);
    put(j, ROW_DEVICE, &d);
    put(j, ROW_STREAM, &s);
    for (int i = 0; i < STEPS; i++) {
        int64_t at = MS(10) * (i + 1);
        struct row_range step = {.id = ++j->id,
                                 .process = rank + 1,
                                 .thread = rank + 1,
                                 .start_ns = at - US(50),
                                 .end_ns = at + MS(9.9),
                                 .name = text(j, "ProfilerStep#1")};
        put(j, ROW_RANGE, &step);
        kernel(j, rank, "volta_sgemm_128x64_nn", at, at + MS(5));
        exchange(j, rank, 100 + rank / 2, i, at + MS(5));
        exchange(j, rank, 200 + rank % 2, i, at + MS(7));
    }
}

static struct advice *answer(struct job *j, const char *const *groups)
{
    struct err e = ERR_INIT;
    *j = (struct job){.t = timeline_new(&e)};
    ck_assert_ptr_nonnull(j->t);
    j->sink = timeline_sink(j->t);
    fact(j, 1, "have", "kernels,copies,memsets,api,ranges");
    for (int i = 0; groups[i]; i++)
        for (int64_t r = 0; r < RANKS; r++) {
            char key[32];
            snprintf(key, sizeof key, "torch.group.%d", i);
            fact(j, r + 1, key, groups[i]);
        }
    for (int64_t r = 0; r < RANKS; r++)
        one_rank(j, r);
    ck_assert_int_eq(timeline_finish(j->t, &e), 0);
    struct advice *a = advise(j->t, &e);
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

START_TEST(groups_have_the_programs_names)
{
    struct job j;
    struct advice *a = answer(&j, cases[_i].groups);
    ck_assert_str_eq(name_with(a, "0, 1"), cases[_i].along);
    ck_assert_str_eq(name_with(a, "0, 2"), cases[_i].across);
    advice_free(a);
    timeline_free(j.t);
}
END_TEST

/* The exchanges of the ranks of this process: of a model's parts, or of gradients? */
static size_t of_model(const struct advice *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->facts->tl->op_count; i++)
        n += a->facts->tl->ops[i].comm == COMM_MODEL;
    return n;
}

/* Of one size alone: the name says what its collectives exchange. */
START_TEST(a_name_says_what_is_exchanged)
{
    static const struct {
        const char *groups[3];
        size_t of_model;
    } said[] = {{{"2 1 mesh_tp", "2 2 mesh_dp"}, 0},
                {{"2 1 mesh_tp"}, 2 * RANKS * STEPS},
                {{"2 1 mesh_tp", "2 2 -"}, 0},
                {{"2 1 mesh_dp", "4 1 mesh_tp"}, 0}};
    struct job j;
    struct advice *a = answer(&j, said[_i].groups);
    ck_assert_int_eq(of_model(a), said[_i].of_model);
    advice_free(a);
    timeline_free(j.t);
}
END_TEST

Suite *test_rank_names_suite(void);
Suite *test_rank_names_suite(void)
{
    Suite *s = suite_create("rank_names");
    TCase *t = tcase_create("rank_names");
    tcase_add_loop_test(t, groups_have_the_programs_names, 0, sizeof cases / sizeof *cases);
    tcase_add_loop_test(t, a_name_says_what_is_exchanged, 0, 4);
    suite_add_tcase(s, t);
    return s;
}
