/* Cases of the rule padding: when it fires, when it is silent, and when it cannot tell. No trainer
 * plants it: the hook looks at what a Python program copies. */
#include "tests/rules/feed.h"
#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"

static int64_t positions; /* that the large product works on */

/* A product over all positions for 7 ms, one over as many rows as a batch has for 1 ms, an update. */
static void fill_step(struct builder *b, int64_t at)
{
    for (int i = 0; i < 2; i++) {
        int64_t call = at + US(20 * i);
        struct row_call r = {.family = SPOOL_CALL_GEMM,
                             .in_type = SPOOL_DT_F32,
                             .start_ns = call - US(1),
                             .end_ns = call + US(10),
                             .dim = {512, i ? 32 : positions, 768, 1}};
        build_kernel(b, case_gemm, call, at + US(30) + MS(7 * i), i ? MS(1) : MS(7));
        build_call(b, r, "cublasSgemm_v2");
    }
    build_kernel(b, "multi_tensor_apply_kernel<FusedSgdMathFunctor>", at + US(60), at + MS(8.1),
                 MS(1.8));
    build_sync(b, at + US(100), MS(9.8));
}

static const struct advice *with(struct builder *b, const char *padding, int64_t of)
{
    *b = build_start();
    build_meta(b, "torch.version", "2.14.1");
    if (padding)
        build_meta(b, "torch.padding", padding);
    positions = of;
    case_loop(b, fill_step);
    return build_predict(b);
}

/* Half of 7 ms, and a little more than nothing of it may stay. */
TEST(test_padding)
{
    struct builder b;
    const struct outcome *o =
        case_verdict(with(&b, "50 % of 32 x 128 at train.py:9", 32 * 128), "padding", RULE_FIRES);
    ck_assert_str_eq(o->remedy.object.place, "train.py:9");
    case_does(o, ACTION_PAD_TO_LONGEST);
    ck_assert_int_gt(case_replayed(o).low_ns, MS(2.4));
    ck_assert_int_le(case_replayed(o).high_ns, MS(3.5));
    ck_assert_ptr_nonnull(strstr(o->summary, "50 % of the 128 columns of a batch hold padding"));
}

static int64_t columns;

/* A recurrent layer: two kernels for each column, no library calls; and an update. */
static void fill_recurrent(struct builder *b, int64_t at)
{
    int64_t each = MS(7) / (2 * columns);
    for (int64_t i = 0; i < 2 * columns; i++)
        build_kernel(b, i % 2 ? "sm80_xmma_gemm" : "GRU_elementWise_fp", at + US(5 * i),
                     at + US(20) + each * i, each - 10);
    build_kernel(b, "multi_tensor_apply_kernel<FusedSgdMathFunctor>", at + US(600), at + MS(8.1),
                 MS(1.8));
    build_sync(b, at + US(700), MS(9.2));
}

TEST(test_padding_of_a_recurrent_layer)
{
    for (columns = 20; columns <= 40; columns += 20) {
        struct builder b = build_start();
        build_meta(&b, "torch.version", "2.14.1");
        build_meta(&b, "torch.padding", "80 % of 32 x 40 at train.py:9");
        case_loop(&b, fill_recurrent);
        const struct outcome *o =
            case_verdict(build_predict(&b), "padding", columns == 40 ? RULE_FIRES : RULE_SILENT);
        if (columns == 40)
            ck_assert_int_gt(case_replayed(o).mid_ns, MS(4));
    }
}

/* A matrix of another size is no batch of sequences: tags, for example. */
TEST(test_no_padding)
{
    struct builder b;
    static const char *const texts[] = {NULL, "1 % of 32 x 128 at train.py:9", "50 % of 4 x 4",
                                        "x % of 32 x 128", "50 % of 0 x -3 at"};
    for (int i = 0; i < 5; i++)
        case_verdict(with(&b, texts[i], 32 * 128), "padding", RULE_SILENT);
    for (int64_t of = 64; of <= 128; of += 64) /* 128: a layer as wide as there are tags */
        case_verdict(with(&b, "50 % of 32 x 128 at train.py:9", of), "padding", RULE_SILENT);
    case_verdict(case_advice(case_busy), "padding", RULE_CANNOT_TELL);
}

/* Where the program's own function makes the samples, padding begins there; a package's does not count. */
TEST(test_who_pads)
{
    for (int own = 0; own < 2; own++) {
        struct builder b = build_start();
        build_meta(&b, "torch.version", "2.14.1");
        build_meta(&b, "torch.padding", "50 % of 32 x 128 at train.py:9");
        build_meta(&b, "torch.loader.1", "DataLoader(num_workers=0)");
        build_meta(&b, "torch.loader.1.collate", "Collator.__call__ transformers/data.py:3");
        if (own)
            build_meta(&b, "torch.loader.1.dataset", "Data.__getitem__ train.py:4");
        positions = 32 * 128;
        for (int i = 0; i < CASE_STEPS; i++) {
            fill_step(&b, MS(100 + 10 * i));
            span_of(&b, SPOOL_LOADER_FETCH, 1, -1, 1, 100 + 10 * i, 0.001, 0.001);
            span_of(&b, SPOOL_LOADER_WAIT, 1, -1, 1, 100 + 10 * i, 0.001, -1);
            build_range(&b, "step", MS(100 + 10 * i), MS(110 + 10 * i));
        }
        const struct outcome *o = case_verdict(build_analyze(&b), "padding", RULE_FIRES);
        ck_assert_str_eq(o->remedy.object.place, own ? "train.py:4" : "train.py:9");
        ck_assert_int_eq(strstr(o->summary, "made by Data.__getitem__ train.py:4") != NULL, own);
    }
}
