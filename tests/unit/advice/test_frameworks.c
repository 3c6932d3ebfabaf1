/* Advice uses the words of the framework that drives the program. */
#include "tests/unit/rule_case.h"

#include <string.h>

static const char *kernel_name;

static void fill_pageable(struct builder *b, int64_t at)
{
    build_copy(b, 1, 1, 3, true, 8000000, at, MS(2), at + US(100), MS(1.8));
    build_kernel(b, kernel_name, at + MS(2.1), at + MS(2.2), MS(7.7));
}

/* `source`: who recorded; gpuprof's own hook would have told PyTorch's version. */
static void words_case(const char *source, const char *version, const char *kernel,
                       enum framework framework)
{
    struct builder b = build_start();
    build_meta(&b, "exe", "/usr/bin/python3.12");
    build_meta(&b, "command", "python3 train.py");
    build_meta(&b, "source", source);
    if (version)
        build_meta(&b, "torch.version", version);
    kernel_name = kernel;
    case_loop(&b, fill_pageable);
    const struct advice *a = build_analyze(&b);
    ck_assert_msg(dialect_framework(a->facts) == framework, "%s, %s", source, kernel);
    const struct outcome *o = case_outcome(a, "pin-memory");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    bool loader = strstr(outcome_remedy(a->facts, o), "DataLoader") != NULL;
    ck_assert_msg(loader == (framework == FRAMEWORK_PYTORCH), "%s", outcome_remedy(a->facts, o));
    ck_assert_int_eq(o->setting != NULL, loader);
}

TEST(words)
{
    words_case("run", NULL, "cupy_multiply__float_float_float", FRAMEWORK_CUDA);
    words_case("run", NULL, "saxpy_kernel", FRAMEWORK_CUDA);
    words_case("run", "2.14.1", "saxpy_kernel", FRAMEWORK_PYTORCH);
    words_case("run", NULL, "void at::native::vectorized_elementwise_kernel<4>", FRAMEWORK_PYTORCH);
    words_case("run", NULL, "void Eigen::internal::EigenMetaKernel<float>", FRAMEWORK_XLA);
    words_case("nsys", NULL, "saxpy_kernel", FRAMEWORK_PYTORCH); /* nothing says otherwise */
    words_case("nsys", NULL, "cupy_multiply__float_float_float", FRAMEWORK_CUDA);
    words_case("nsys", NULL, "_ZN6cudapy8__main__5saxpyB2v1", FRAMEWORK_CUDA);
    words_case("nsys", NULL, "void tensorflow::functor::FillPhiloxRandomKernel", FRAMEWORK_XLA);
}
