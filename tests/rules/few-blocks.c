/* Cases of the rule few-blocks: when it fires, when it is silent or suppressed, and when it cannot
 * tell. No trainer plants it: the trainers' own kernels fill the GPU. */
#include "tests/unit/rule_case.h"

static struct {
    int64_t grid, block;
    int streams;
    const char *name;
} launch;

/* A kernel of that grid and block at [at, at + length), on its stream. */
static void kernel_on(struct builder *b, int64_t stream, int64_t at, int64_t length)
{
    struct row_kernel r = {.id = ++b->next_id,
                           .process = 1,
                           .stream = stream,
                           .start_ns = at,
                           .end_ns = at + length,
                           .name = build_text(b, launch.name),
                           .correlation = build_api(b, "cudaLaunchKernel", at - US(50), CALL_NS),
                           .grid_x = launch.grid,
                           .grid_y = 1,
                           .grid_z = 1,
                           .block_x = launch.block,
                           .block_y = 1,
                           .block_z = 1};
    build_put(b, ROW_KERNEL, &r);
}

/* 9 ms of it in a step of 10. */
static void fill_launch(struct builder *b, int64_t at)
{
    for (int i = 0; i < launch.streams; i++)
        kernel_on(b, 1 + i, at + US(500) + US(10) * i, MS(9));
}

static struct builder loop_of(int64_t grid, int64_t block, int streams, const char *name)
{
    struct builder b = build_start();
    launch.grid = grid, launch.block = block, launch.streams = streams, launch.name = name;
    for (int i = 1; i < streams; i++)
        build_stream(&b, 1 + i, 1);
    case_loop(&b, fill_launch);
    return b;
}

TEST(test_one_thread)
{
    struct builder b = loop_of(1, 1, 1, "add(int, float*, float*)");
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "few-blocks", MS(9));
    case_measures(o, "time of 'add'", 9, 0.01);
    case_measures(o, "its blocks, in the longest launch", 1, 0);
    case_measures(o, "its threads per block", 1, 0);
    case_measures(o, "multiprocessors of the GPU", 108, 0);
    case_does(o, ACTION_FILL_GPU);
    ck_assert(o->upper_bound);
    ck_assert_int_lt(o->saves_high_ns, MS(9)); /* what the one thread does remains */
    ck_assert_int_eq((int)o->evidence[4].value, 1);
}

/* No step repeats: the one launch is all that there is. */
TEST(test_in_a_window)
{
    struct builder b = build_start();
    launch.grid = 1, launch.block = 256, launch.name = "add(int, float*, float*)";
    kernel_on(&b, 1, MS(1), MS(900));
    const struct advice *a = build_analyze(&b);
    ck_assert(analysis_of_window(a->facts));
    case_first(a, "few-blocks", MS(892));
}

/* Blocks enough, but of a thread each: 31 of 32 lanes idle. */
TEST(test_blocks_of_a_thread)
{
    struct builder b = loop_of(100000, 1, 1, "add(int, float*, float*)");
    case_first(build_analyze(&b), "few-blocks", MS(8.72));
    b = loop_of(100000, 32, 1, "add(int, float*, float*)");
    case_verdict(build_analyze(&b), "few-blocks", RULE_SILENT);
}

/* Kernels of 27 blocks: four at once fill 108 multiprocessors, two fill half of them. */
TEST(test_side_by_side)
{
    struct builder b = loop_of(27, 256, 4, "add(int, float*, float*)");
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "few-blocks", RULE_SILENT);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "few-blocks")->why, "beside them"));
    b = loop_of(27, 256, 2, "add(int, float*, float*)");
    case_first(build_analyze(&b), "few-blocks", MS(4.5));
}

/* More than half full, or communication: its blocks are few on purpose. */
TEST(test_not_few)
{
    struct builder b = loop_of(64, 256, 1, "add(int, float*, float*)");
    case_verdict(build_analyze(&b), "few-blocks", RULE_SILENT);
    b = loop_of(3, 128, 1, case_gemm); /* cuBLAS cut it */
    case_verdict(build_analyze(&b), "few-blocks", RULE_SILENT);
    b = loop_of(2, 256, 1, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
    case_verdict(build_analyze(&b), "few-blocks", RULE_SILENT);
}

static void fill_short(struct builder *b, int64_t at)
{
    for (int i = 0; i < 60; i++)
        kernel_on(b, 1, at + US(500) + US(100) * i, US(15));
}

/* Short kernels are mostly start and end: more blocks would not change that. */
TEST(test_short)
{
    struct builder b = build_start();
    launch.grid = 1, launch.block = 32, launch.name = "finish(float*)";
    case_loop(&b, fill_short);
    case_verdict(build_analyze(&b), "few-blocks", RULE_SILENT);
}

TEST(test_unknown_gpu)
{
    launch.grid = launch.block = launch.streams = 1, launch.name = "add(int, float*, float*)";
    case_cannot_tell(fill_launch, "kernels,copies,api,ranges", "few-blocks");
}
