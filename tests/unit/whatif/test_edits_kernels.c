/* Edits that join kernels into one, and edits that remove calls. */
#include "tests/unit/edit_case.h"
#include "tests/unit/rule_case.h"

/* ---- fusing ---- */

/* Of four kernels of 1 ms the first two are done by others on the way; the rest is all overhead, of
 * which one share stays, and at worst a quarter of the other. */
TEST(a_pass_that_others_do_on_the_way_goes_altogether)
{
    struct bench x = bench_start(MS(7), fill_mixed);
    bool *gone = calloc(x.b.a->facts->tl->op_count + 1, sizeof *gone);
    ck_assert_ptr_nonnull(gone);
    for (uint32_t i = 0, n = 0; i < x.b.a->facts->tl->op_count; i++)
        gone[i] = is_k(x.b.a->facts, i) && n++ % 4 < 2;
    struct edit edit = {.kind = &edit_fuse, .at.ops = is_k, .at.gone_marks = gone};
    ck_assert_int_le(llabs(with(&x, edit, &lucky) - MS(4)), US(20));
    ck_assert_int_le(llabs(with(&x, edit, &unlucky) - MS(4.25)), US(20));
    free(gone);
}

/* A short kernel and three of 1.1 ms: of what is not overhead, the fused kernel moves a part. */
static void fill_passes(struct builder *b, int64_t at)
{
    build_kernel(b, "k", at + US(10), at + US(20), US(100));
    for (int i = 0; i < 3; i++)
        build_kernel(b, "k", at + US(20 + 10 * i), at + US(120) + US(1100 * i), US(1100));
    build_kernel(b, "long_one", at + US(60), at + US(3420), US(2000));
    build_sync(b, at + US(100), US(5330));
}

TEST(what_is_done_on_the_way_moves_a_part_of_the_bytes)
{
    struct bench x = bench_start(US(5450), fill_passes);
    int64_t whole = with(&x, (struct edit){.kind = NULL}, &middle);
    struct edit edit = {.kind = &edit_fuse, .at.ops = is_k, .fuse.bad = 0.5};
    ck_assert_int_le(llabs(whole - with(&x, edit, &lucky) - US(3300)), US(20));
    ck_assert_int_le(llabs(whole - with(&x, edit, &unlucky) - US(3300 - 1537)), US(20));
}

/* A short kernel that is all overhead, and three of 1.1 ms that leave three of four multiprocessors
 * empty, or none. */
static int64_t grid;
static void fill_small_grids(struct builder *b, int64_t at)
{
    for (int i = 0; i < 4; i++) {
        int64_t correlation = build_api(b, "cudaLaunchKernel", at + US(10 + 10 * i), CALL_NS);
        build_kernel_of(b, "k", correlation, at + US(i ? 1100 * i - 980 : 20), US(i ? 1100 : 100),
                        grid);
    }
    build_kernel(b, "long_one", at + US(60), at + US(3420), US(2000));
    build_sync(b, at + US(100), US(5330));
}

TEST_EACH(one_kernel_fills_what_many_leave_empty, 0, 4)
{
    static const struct {
        int64_t grid, spared_ns;
    } at_best[] = {{27, US(300 + 2250)}, {54, US(300 + 1500)}, {108, US(300)}, {1000, US(300)}};
    grid = at_best[_i].grid;
    struct bench x = bench_start(US(5450), fill_small_grids);
    int64_t whole = with(&x, (struct edit){.kind = NULL}, &middle);
    struct edit edit = {.kind = &edit_fuse, .at.ops = is_k};
    int64_t spared = whole - with(&x, edit, &lucky);
    ck_assert_msg(llabs(spared - at_best[_i].spared_ns) <= US(20), "%lld", (long long)spared);
    ck_assert_int_le(llabs(whole - with(&x, edit, &unlucky) - US(225)), US(20));
}

/* ---- calls ---- */

static bool allocates(const struct facts *f, uint32_t api)
{
    return f->tl->apis[api].kind == API_ALLOC || f->tl->apis[api].kind == API_FREE;
}

/* 0.2 ms to allocate, 0.5 ms of the program's own, 0.2 ms to free; then a kernel and its wait. */
static void fill_allocations(struct builder *b, int64_t at)
{
    build_api(b, "cudaMalloc", at + US(100), US(200));
    build_api(b, "cudaFree", at + US(800), US(200));
    build_kernel(b, "k", at + US(1100), at + US(1110), MS(1));
    build_sync(b, at + US(1120), MS(1));
}

TEST(what_lies_between_two_calls_that_vanish_may_vanish_with_them)
{
    struct bench x = bench_start(US(2200), fill_allocations);
    int64_t whole = with(&x, (struct edit){.kind = NULL}, &middle);
    struct edit edit = {.kind = &edit_remove, .at.calls = allocates};
    ck_assert_int_eq(whole - with(&x, edit, &middle), US(400));
    edit.remove.pauses = true;
    ck_assert_int_eq(whole - with(&x, edit, &middle), US(900));
}

/* ---- layouts ---- */

/* The host sets the pace: it launches one of two kernels of a layer inside one call of a library,
 * 50 us after the program's last call. */
static void fill_late_layouts(struct builder *b, int64_t at)
{
    for (int i = 0; i < 10; i++) {
        int64_t t = at + US(100 * i);
        build_kernel(b, "void cudnn::engines_precompiled::nchwToNhwcKernel<float>()", t + US(50),
                     t + US(60), US(10));
        build_kernel(b, "k", t + US(90), t + US(95), US(5));
    }
    build_sync(b, at + US(1000), US(50));
}

TEST(the_call_that_converted_is_still_made)
{
    struct bench x = bench_start(US(1100), fill_late_layouts);
    int64_t whole = with(&x, (struct edit){.kind = NULL}, &middle);
    int64_t ns = whole - with(&x, (struct edit){.kind = &edit_layout}, &lucky);
    ck_assert_int_lt(ns, US(100)); /* the launches, and not the 50 us before each */
    ns = whole - with(&x, (struct edit){.kind = &edit_precision, .precision.layout = true}, &lucky);
    ck_assert_int_gt(ns, US(20));
    ck_assert_int_lt(ns, US(100));
}
