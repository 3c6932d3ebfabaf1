/* A library that makes the program's loader names its own settings, and advice uses them. */
#include "tests/unit/rule_case.h"

#include <string.h>

static void fill_fp32(struct builder *b, int64_t at)
{
    build_kernel(b, "ampere_sgemm_128x64_nn", at + US(10), at + US(100), MS(6));
    build_kernel(b, case_gemm, at + US(15), at + MS(6) + US(101), US(3850));
}

START_TEST(precision)
{
    static const char *const said[][2] = {
        {"accelerate transformers", "TrainingArguments(..., bf16=True)"},
        {"ultralytics", "train(..., amp=True)"},
        {"lightning", "with torch.autocast('cuda'"}};
    for (int i = 0; i < 3; i++) {
        struct builder b = build_start_on("NVIDIA A100", 8, 0);
        build_meta(&b, "torch.loader.1.by", said[i][0]);
        case_loop(&b, fill_fp32);
        const char *remedy =
            case_first(build_analyze(&b), "tensor-cores", MS(6))->words[FRAMEWORK_PYTORCH];
        ck_assert_msg(strncmp(remedy, said[i][1], strlen(said[i][1])) == 0, "%s", remedy);
        build_end(&b);
    }
}
END_TEST

static void fill_foreach(struct builder *b, int64_t at)
{
    static const char *const name[] = {"multi_tensor_apply_kernel<BinaryOpScalarFunctor<float>>",
                                       "multi_tensor_apply_kernel<PointwiseOpScalarFunctor>"};
    build_kernel(b, case_gemm, at + US(10), at + US(30), US(7000));
    for (int i = 0; i < 8; i++)
        build_kernel(b, name[i % 2], at + US(7110 + 10 * i), at + US(7130 + 250 * i), US(250));
    build_range(b, "optimizer.step", at + US(7100), at + US(9200));
}

START_TEST(optimizer)
{
    struct builder b = build_start();
    build_meta(&b, "torch.loader.1.by", "accelerate transformers");
    build_meta(&b, "torch.optimizer", "AdamW(foreach=None, fused=None, capturable=False)");
    case_loop(&b, fill_foreach);
    const struct outcome *o = case_first(build_analyze(&b), "fused-optimizer", US(1300));
    ck_assert_msg(strstr(o->words[FRAMEWORK_PYTORCH], "optim='adamw_torch_fused')"), "%s",
                  o->words[FRAMEWORK_PYTORCH]);
    build_end(&b);
}
END_TEST

Suite *test_dialect_libraries_suite(void);
Suite *test_dialect_libraries_suite(void)
{
    Suite *s = suite_create("library words");
    TCase *t = tcase_create("library words");
    tcase_add_test(t, precision);
    tcase_add_test(t, optimizer);
    suite_add_tcase(s, t);
    return s;
}
