/* Folded stacks, the input of flame graphs. */

#include "tests/unit/test.h"
#include "tests/unit/exported.h"

/* Ten steps: a kernel under two ranges, the same kernel under one, a copy under none. */
static struct advice *run_in_ranges(struct builder *b)
{
    *b = build_start_on(NULL, 9, 0);
    build_meta(b, "have", "kernels,copies,memory_kinds,api,sync,ranges,device,memsets");
    for (int i = 0; i < 10; i++) {
        int64_t at = MS(10) * i + MS(1);
        build_range(b, "step", at, at + MS(10) - US(5));
        build_range(b, "forward; first", at + US(10), at + MS(2));
        build_range(b, "mm", at + US(20), at + US(90));
        build_kernel(b, "gemm", at + US(30), at + US(100), MS(2));
        build_kernel(b, "gemm", at + US(100), at + US(100) + MS(2), MS(3));
        build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, 1 << 20, at + MS(5), US(100),
                   at + MS(6), MS(1));
        build_sync(b, at + MS(6), MS(3));
    }
    return build_analyze(b);
}

static int64_t time_of(const char *out, const char *stack)
{
    const char *line = strstr(out, stack);
    return line ? strtoll(line + strlen(stack), NULL, 10) : -1;
}

TEST(test_stacks)
{
    struct builder b;
    struct advice *a = run_in_ranges(&b);
    char *out = exported("folded", a);
    int64_t used = (int64_t)a->facts->steps.used, sum = 0;
    ck_assert_int_gt(used, 5);
    ck_assert_int_eq(time_of(out, "GPU;forward: first;mm;gemm "), used * MS(2));
    ck_assert_int_eq(time_of(out, "GPU;forward: first;gemm "), used * MS(3));
    int lines = 0;
    for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n"), lines++)
        sum += strtoll(strrchr(line, ' '), NULL, 10);
    ck_assert_int_eq(lines, 3);
    ck_assert_int_eq(sum, used * MS(6));
    free(out);
}

/* A file without a line would look like a whole one. */
TEST(test_nothing_to_fold)
{
    struct builder b = build_start_on(NULL, 9, 0);
    struct err e = ERR_INIT;
    struct export_options o = {.title = "train"};
    build_meta(&b, "have", "kernels,api");
    struct advice *a = build_analyze(&b);
    FILE *f = tmpfile();
    ck_assert_int_eq(exporter_find("folded")->analysis(a, &o, f, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "no GPU work"));
    fclose(f);
}
