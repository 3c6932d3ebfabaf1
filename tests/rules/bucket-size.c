/* Cases of the rule bucket-size: when it fires, when it is silent or suppressed, and when it cannot
 * tell. */
#include "tests/rules/comm.h"
#include "tests/unit/rule_case.h"

/* 40 MB in one, behind all computing, on a stream of its own. */
static int64_t one_bytes = 40000000;

static void fill_one(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + US(10), at + US(100), US(7900));
    exchange(b, 2, one_bytes, at + US(30), at + MS(8), US(1900));
    exchange(b, 2, one_bytes / 1000, at + US(50), at + US(9910), US(10));
}

/* The same on the stream of the kernels: it could not overlap whatever its size. */
static void fill_one_stream(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + US(10), at + US(100), US(7900));
    exchange(b, 1, 40000000, at + US(30), at + MS(8), US(1900));
}

/* 30 of 20 KB, 30 us each. */
static void fill_small(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + US(10), at + US(100), US(8900));
    for (int i = 0; i < 30; i++)
        exchange(b, 2, 20000, at + US(30) + US(20) * i, at + MS(9) + US(31) * i, US(30));
}

/* The same of weights that are shared out: gathered, and their gradients reduced. */
static void fill_sharded(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + US(10), at + US(100), US(8900));
    for (int i = 0; i < 30; i++)
        exchange_in(b, NULL, i < 20 ? "ncclAllGather" : "ncclReduceScatter", 2, 20000,
                    at + US(30) + US(20) * i, at + MS(9) + US(31) * i, US(30));
}

/* Four of 10 MB beside the kernels, the last one for 0.3 ms behind them. */
static void fill_buckets(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + US(10), at + US(100), US(9500));
    for (int i = 0; i < 4; i++)
        exchange(b, 2, 10000000, at + US(30) + US(20) * i, at + MS(7) + US(700) * i, US(700));
}

TEST(test_one_bucket)
{
    struct builder b;
    const struct advice *a = looked(&b, fill_one);
    const struct outcome *o = case_verdict(a, "bucket-size", RULE_FIRES);
    ck_assert_int_le(o->saves_high_ns, US(1920));
    ck_assert_double_eq_tol(case_value(o, "largest"), 40, 1e-9);
    case_verdict(a, "exposed-communication", RULE_SUPPRESSED);
    case_verdict(a, "no-sync", RULE_SILENT);
}

/* No cap splits what the first bucket holds: there is nothing to advise. */
TEST(test_small_model)
{
    struct builder b;
    one_bytes = 500000;
    case_verdict(looked(&b, fill_one), "bucket-size", RULE_SILENT);
    one_bytes = 40000000;
}

TEST(test_one_stream)
{
    struct builder b;
    const struct advice *a = looked(&b, fill_one_stream);
    case_verdict(a, "bucket-size", RULE_SILENT);
    case_verdict(a, "exposed-communication", RULE_FIRES);
}

TEST(test_small_buckets)
{
    struct builder b;
    const struct advice *a = looked(&b, fill_small);
    const struct outcome *o = case_verdict(a, "bucket-size", RULE_FIRES);
    ck_assert_double_eq_tol(case_value(o, "collectives"), 30, 1e-9);
    ck_assert_double_eq_tol(case_value(o, "bytes"), 0.6, 1e-9);
    ck_assert_str_eq(o->setting, "bucket_mb=25;first_bucket_mb=1");
    case_verdict(a, "exposed-communication", RULE_SUPPRESSED);
}

TEST(test_small_shards)
{
    struct builder b;
    const struct outcome *o = case_outcome(looked(&b, fill_sharded), "bucket-size");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    case_does(o, ACTION_SHARD_LARGER_GROUPS);
    ck_assert_ptr_null(o->setting);
}

TEST(test_good_buckets)
{
    struct builder b;
    const struct advice *a = looked(&b, fill_buckets);
    case_verdict(a, "bucket-size", RULE_SILENT);
    case_verdict(a, "no-sync", RULE_SILENT);
}

TEST(test_nothing_exchanged)
{
    struct builder b;
    const struct advice *a = looked(&b, case_busy);
    case_verdict(a, "bucket-size", RULE_SILENT);
    case_verdict(a, "no-sync", RULE_SILENT);
    case_verdict(a, "dp-instead-of-ddp", RULE_SILENT);
}

/* What all ranks send to all (embeddings, experts) is no gradient, and no bucket holds it: in a loop
 * and in a window of which nothing repeats, where this rule is not asked, exposed-communication does
 * not send there. */
TEST_EACH(test_all_with_all_is_in_no_bucket, 0, 4)
{
    struct builder b = build_start();
    bool window = _i & 1, to_all = _i & 2;
    build_stream(&b, 2, 1);
    build_meta(&b, "have", everything);
    moved_by = to_all ? "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)" : nccl;
    if (window)
        fill_small(&b, MS(100));
    else
        case_loop(&b, fill_small);
    moved_by = nccl;
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "bucket-size", window ? RULE_CANNOT_TELL : to_all ? RULE_SILENT : RULE_FIRES);
    ck_assert_int_eq(case_outcome(a, "exposed-communication")->verdict,
                     window || to_all ? RULE_FIRES : RULE_SUPPRESSED);
}

TEST(cannot_tell)
{
    case_cannot_tell(fill_unrecorded, everything, "bucket-size");
    case_cannot_tell(case_busy, "api,ranges", "bucket-size");
}
