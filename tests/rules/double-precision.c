/* Cases of the rule double-precision: when it fires, when it is silent, and when it cannot tell. No
 * trainer plants it: the trainers compute in FP32 and below. */
#include "tests/rules/cpu.h"
#include "tests/rules/gpu.h"
#include "tests/unit/rule_case.h"

static void fill_products(struct builder *b, int64_t at)
{
    build_kernel(b, "ampere_dgemm_64x64_tn", at, at + US(10), MS(8));
    build_kernel(b, "vectorized_elementwise_kernel<4, CUDAFunctor_add<float> >", at + US(20),
                 at + US(8020), US(1900));
}

/* Names say nothing of these kernels. */
static void fill_update(struct builder *b, int64_t at)
{
    build_kernel(b, "multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, ...>", at,
                 at + US(10), MS(9));
}

static const char *kernel;

static void fill_kernel(struct builder *b, int64_t at)
{
    build_kernel(b, kernel, at, at + US(10), MS(9));
}

/* A fused optimizer takes its numbers as doubles, whatever the type of the weights. */
TEST(test_type_of_the_elements)
{
    static const struct {
        const char *name;
        enum verdict verdict;
    } cases[] = {
        {"multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, "
         "FusedAdamMathFunctor<float, "
         "4, (ADAM_MODE)1, false>, float const*, double, double, double, double, double, bool>",
         RULE_SILENT},
        {"multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, "
         "FusedAdamMathFunctor<double, "
         "4, (ADAM_MODE)1, false>, float const*, double, double, double, double, double, bool>",
         RULE_FIRES},
        {"reduce_kernel<512, 1, ReduceOp<double, MeanOps<double, double, double, double> > >",
         RULE_FIRES},
        {"ampere_scudnn_double_buffer_128x64", RULE_SILENT},
        {"_Z7kernel1iiddPKdS0_Pd", RULE_FIRES}, /* (int, int, double, double, double const*...) */
        {"_Z4stepddPKfPf", RULE_SILENT},        /* (double, double, float const*, float*) */
        {"_Z5mixedPKdPf", RULE_SILENT},         /* (double const*, float*) */
        {"_Z8mapPd_toPKiPii", RULE_SILENT},     /* mapPd_to(int const*, int*, int) */
        {"_ZN3app4sumsILi512EEEvPKdPdi", RULE_FIRES}, /* void app::sums<512>(double const*, ...) */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kernel = cases[i].name;
        case_verdict(case_advice(fill_kernel), "double-precision", cases[i].verdict);
    }
}

static const struct advice *with_weights(struct builder *b, case_fill *fill, const char *type)
{
    char text[64];
    snprintf(text, sizeof text, "6 tensors, 50343937 numbers, %s, on cuda", type);
    *b = build_start();
    build_meta(b, "torch.parameters", text);
    build_meta(b, "torch.float64.where", "train.py:6");
    case_loop(b, fill);
    return build_analyze(b);
}

TEST(test_double)
{
    struct builder b;
    const struct advice *a = with_weights(&b, fill_products, "float32");
    case_first(a, "double-precision", US(8000 * 0.55)); /* of the products alone */
    a = with_weights(&b, fill_update, "float64");
    const struct outcome *o = case_first(a, "double-precision", US(9000 * 0.55));
    ck_assert_str_eq(o->remedy.object.place, "train.py:6");
    case_verdict(with_weights(&b, fill_update, "float32"), "double-precision", RULE_SILENT);
    case_cannot_tell(fill_products, "api", "double-precision");
}

TEST(test_double_precision_on_a_cpu)
{
    struct builder b = cpu_training("12 tensors, 1000 numbers, float32, on cpu", 1);
    case_verdict(build_analyze(&b), "double-precision", RULE_SILENT);
    b = cpu_training("12 tensors, 1000 numbers, float64, on cpu", 1);
    const struct outcome *o = case_first(build_analyze(&b), "double-precision", MS(5));
    ck_assert(o->upper_bound);
    b = cpu_training(NULL, 1);
    case_verdict(build_analyze(&b), "double-precision", RULE_CANNOT_TELL);
}
