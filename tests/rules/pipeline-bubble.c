/* Cases of the rule pipeline-bubble: when it fires and when it is silent; and that neither the
 * waits of a pipeline nor the collectives of a split model are exchanges of gradients. No trainer
 * plants it: none splits its model into stages (tests/golden/many_ranks.py). */
#include "tests/rules/comm.h"
#include "tests/unit/rule_case.h"

#include <string.h>

/* 4 ms of computing, then a stage that waits 6 ms for what the next one sends. */
static void fill_bubble(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + US(10), at + US(50), US(3900));
    exchange_in(b, "PIPELINE_MODEL_PARALLEL_GROUP", "recv", 2, 1 << 20, at + US(60), at + MS(4),
                US(5900));
}

static void fill_hidden(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + US(10), at + US(50), US(9900));
    exchange_in(b, "mesh_pp", "ncclRecv", 2, 1 << 20, at + US(60), at + MS(4), US(5000));
}

TEST(test_bubble)
{
    struct builder b;
    const struct advice *a = looked(&b, fill_bubble);
    case_verdict(a, "pipeline-bubble", RULE_FIRES);
    case_first(a, "pipeline-bubble", US(5900));
    const struct outcome *o = case_outcome(a, "pipeline-bubble");
    ck_assert_double_eq_tol(case_value(o, "time in them with nothing computed,"), 5.9, 0.05);
    case_verdict(a, "exposed-communication", RULE_SILENT);
    case_verdict(a, "bucket-size", RULE_SILENT);
}

TEST(test_hidden)
{
    struct builder b;
    const struct advice *a = looked(&b, fill_hidden);
    case_verdict(a, "pipeline-bubble", RULE_SILENT);
}

/* Older traces do not say what a kernel that sends and receives is for. */
static void fill_unnamed(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + US(10), at + US(50), US(3900));
    build_kernel(b, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage)", at + US(30), at + MS(4),
                 US(5900));
}

/* Nor does it help that the calls of other collectives were recorded. */
static void fill_unnamed_beside(struct builder *b, int64_t at)
{
    fill_unnamed(b, at);
    exchange(b, 2, 1 << 20, at + US(60), at + US(9900), US(50));
}

TEST_EACH(cannot_tell, 0, 2)
{
    struct builder b;
    const struct advice *a = looked(&b, _i ? fill_unnamed_beside : fill_unnamed);
    case_verdict(a, "pipeline-bubble", RULE_CANNOT_TELL);
}

/* NCCL launches the calls of a group at its end, where no call is any more: `peers`, the ranks that
 * rank 1 sends to, and one receive. */
static const char *peers;
static int64_t of_ranks;
static void fill_group(struct builder *b, int64_t at)
{
    int64_t call = at + US(60);
    build_kernel(b, case_gemm, at + US(10), at + US(50), US(3900));
    for (size_t i = 0; i <= strlen(peers); i++, call += US(10)) {
        struct row_collective c = {.id = ++b->next_id,
                                   .process = 1,
                                   .thread = b->thread,
                                   .start_ns = call,
                                   .end_ns = call + US(2),
                                   .name = build_text(b, peers[i] ? "ncclSend" : "ncclRecv"),
                                   .kernel = -1,
                                   .communicator = 77,
                                   .bytes = 1 << 20,
                                   .ranks = of_ranks,
                                   .rank = 1,
                                   .root = peers[i] ? peers[i] - '0' : 0};
        build_put(b, ROW_COLLECTIVE, &c);
    }
    build_range_in(b, "NCCL", "ncclGroupEnd", 1, call, call + US(40));
    b->stream = 2;
    build_kernel(b, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage)", call + US(5), at + MS(4),
                 US(5900));
    b->stream = 1;
}

static const struct {
    const char *peers;
    int64_t ranks;
    enum verdict stage;
} sent[] = {
    {"0", 2, RULE_FIRES},
    {"", 2, RULE_FIRES},   /* to the stage before it, or to none */
    {"02", 4, RULE_FIRES}, /* to both neighbours */
    {"01", 2, RULE_SILENT},
    {"023", 4, RULE_SILENT} /* all with all: with itself; with three */
};

TEST_EACH(test_groups, 0, sizeof sent / sizeof *sent)
{
    struct builder b;
    peers = sent[_i].peers;
    of_ranks = sent[_i].ranks;
    const struct advice *a = looked(&b, fill_group);
    case_verdict(a, "pipeline-bubble", sent[_i].stage);
    const struct outcome *o = case_outcome(a, "exposed-communication");
    ck_assert_int_eq(o->verdict == RULE_FIRES, sent[_i].stage == RULE_SILENT);
}

/* A rank by itself launches nothing, nor does what no group's end follows. */
TEST(test_no_group)
{
    struct builder b;
    peers = "";
    of_ranks = 1;
    const struct advice *a = looked(&b, fill_group);
    case_verdict(a, "pipeline-bubble", RULE_CANNOT_TELL);
}

/* Twenty all-reduces of a split layer, each of 0.2 ms, behind the kernel that they belong to. */
static const char *group_name;
static void fill_split_layers(struct builder *b, int64_t at)
{
    for (int i = 0; i < 20; i++) {
        int64_t start = at + US(500) * i;
        build_kernel(b, case_gemm, start, start + US(20), US(270));
        exchange_in(b, group_name, "allreduce", 2, 1 << 20, start + US(10), start + US(290),
                    US(200));
    }
}

static const struct {
    const char *group;
    bool model;
} groups[] = {
    {"TENSOR_MODEL_PARALLEL_GROUP", true},
    {"mesh_tp", true},
    {"tp0", true},
    {"EXPERT_MODEL_PARALLEL_GROUP", true},
    {"mesh_cp", true},
    {"DATA_PARALLEL_GROUP", false},
    {"EXPERT_DATA_PARALLEL_GROUP", false},
    {"mesh_dp_shard_cp", false},
    {"mesh_fsdp", false},
    {"default_pg", false},
    {"DATA_PARALLEL_GROUP_WITH_CP", false},
    {"undefined", false},
};

TEST_EACH(test_split_layers, 0, sizeof groups / sizeof *groups)
{
    struct builder b;
    group_name = groups[_i].group;
    const struct advice *a = looked(&b, fill_split_layers);
    const struct outcome *o = case_outcome(a, "exposed-communication");
    bool small = case_outcome(a, "bucket-size")->verdict == RULE_FIRES;
    ck_assert_msg(small != groups[_i].model, "%s", group_name);
    case_verdict(a, "pipeline-bubble", RULE_SILENT);
    if (groups[_i].model) {
        ck_assert_int_eq(o->verdict, RULE_FIRES);
        ck_assert_ptr_null(o->setting);
        ck_assert_ptr_nonnull(strstr(o->summary, "of groups that split the model"));
    }
}
