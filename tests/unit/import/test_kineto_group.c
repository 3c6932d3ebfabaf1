/* The process groups of a Kineto trace: which collectives belong together on all ranks. */
#include "tests/unit/kineto_case.h"

/* The collective that a rank's trace with these args of a kernel makes. */
static struct row_collective collective(int rank, const char *args, char *name, size_t size)
{
    char info[64] = "";
    if (rank >= 0)
        snprintf(info, sizeof info, "'distributedInfo': {'rank': %d, 'world_size': 8}, ", rank);
    struct memory *m = kineto("{'schemaVersion': 1, %s'traceEvents': [{'ph': 'X', 'cat': 'kernel', "
                              "'name': 'ncclDevKernel_x', "
                              "'pid': 0, 'tid': 7, 'ts': 1, 'dur': 9, 'args': {'device': 0, "
                              "'stream': 7, 'correlation': 5, %s}}]}",
                              info, args);
    ck_assert_int_eq(m->count[ROW_COLLECTIVE], 1);
    struct row_collective c = *MEMORY_ROW(m, collective, ROW_COLLECTIVE, 0);
    snprintf(name, size, "%s", memory_text(m, c.group_name));
    return c;
}

#define ALLREDUCE   "'Collective name': 'allreduce'"
#define NAME(name)  ", 'Process Group Name': '" name "'"
#define RANKS(list) ", 'Process Group Ranks': " list

static const struct {
    int rank, other_rank;
    const char *args, *other;
    bool same;
} pairs[] = {
    {0, 1, ALLREDUCE NAME("3") RANKS("[0, 1]"), ALLREDUCE NAME("3") RANKS("[0, 1]"), true},
    /* a list, a text, another order of keys */
    {0, 1, ALLREDUCE NAME("3") RANKS("[0, 11]"),
     "'Process Group Ranks': '[0, 11]'" NAME("3") ", " ALLREDUCE, true},
    {0, 2, ALLREDUCE NAME("3") RANKS("[0, 1]"), ALLREDUCE NAME("4") RANKS("[0, 1]"), false},
    {0, 2, ALLREDUCE NAME("3") RANKS("[0, 1]"), ALLREDUCE NAME("3") RANKS("[2, 3]"), false},
    {0, 2, ALLREDUCE NAME("3") RANKS("[0, 1]"), ALLREDUCE NAME("3") RANKS("[1, 0]"), false},
    {0, 2, ALLREDUCE NAME("3") RANKS("[0, 1]"), ALLREDUCE NAME("3") RANKS("[01]"), false},
    /* the two ends of a pair; another pair of the group; an end without a number */
    {2, 5, "'Collective name': 'send', 'Dst Rank': 5" NAME("pp"),
     "'Collective name': 'recv', 'Src Rank': 2" NAME("pp"), true},
    {2, 6, "'Collective name': 'send', 'Dst Rank': 5" NAME("pp"),
     "'Collective name': 'recv', 'Src Rank': 2" NAME("pp"), false},
    {2, -1, "'Collective name': 'send', 'Dst Rank': 5" NAME("pp"),
     "'Collective name': 'recv', 'Src Rank': 2" NAME("pp"), false},
    {2, -1, "'Collective name': 'send', 'Dst Rank': 5" NAME("pp"),
     "'Collective name': 'recv', 'Rank': 5, 'Src Rank': 2" NAME("pp"), true},
};

TEST_EACH(one_number_on_all_ranks, 0, sizeof pairs / sizeof *pairs)
{
    char name[64];
    struct row_collective a = collective(pairs[_i].rank, pairs[_i].args, name, sizeof name);
    struct row_collective b = collective(pairs[_i].other_rank, pairs[_i].other, name, sizeof name);
    ck_assert_int_gt(a.communicator, 0);
    ck_assert_int_gt(b.communicator, 0);
    ck_assert_int_eq(a.communicator == b.communicator, pairs[_i].same);
}

TEST(what_is_told_of_it)
{
    char name[64];
    struct row_collective c =
        collective(3,
                   ALLREDUCE NAME("7") RANKS("[3, 4]") ", 'Process Group Description': 'mesh_tp', "
                                                       "'Seq': 41, 'Rank': 1, 'Group size': 2",
                   name, sizeof name);
    ck_assert_str_eq(name, "mesh_tp");
    ck_assert_int_eq(c.sequence, 41);
    ck_assert_int_eq(c.rank, 1);
    ck_assert_int_eq(c.root, -1);
    ck_assert_int_eq(c.ranks, 2);
}

/* Older traces do not name the group, and others write what nobody expects there. */
TEST_EACH(nothing_told, 0, 4)
{
    static const char *const args[] = {ALLREDUCE, ALLREDUCE NAME("") RANKS("[]"),
                                       ALLREDUCE RANKS("{'a': [1, 2]}"),
                                       ALLREDUCE ", 'Process Group Name': [1]" RANKS("7")};
    char name[64];
    struct row_collective c = collective(0, args[_i], name, sizeof name);
    ck_assert_int_eq(c.communicator, -1);
    ck_assert_int_eq(c.sequence, -1);
    ck_assert_str_eq(name, "");
}
