/* The page's flame graphs: boxes of functions, lines and kernels, and of the frames of samples. */
#include "tests/unit/test.h"
#include "tests/unit/exported.h"
#include "wire/spool_format.h"

enum { STEPS = 24 };

static int64_t rows;

static int64_t frame(struct builder *b, int64_t caller, const char *file, const char *function,
                     int64_t line, uint32_t source)
{
    struct row_stack r = {++rows, caller, build_text(b, file), build_text(b, function),
                          line,   source};
    build_put(b, ROW_STACK, &r);
    return r.id;
}

static void launch_line(struct builder *b, int what, int64_t stack, int64_t from, int64_t to)
{
    struct row_launch_line r = {
        ++rows, 1, what == SPOOL_LINE_STRETCH ? -1 : b->thread, from, to, 1, what, stack};
    build_put(b, ROW_LAUNCH_LINE, &r);
}

/* Two lines launch 3 ms and 1 ms; for the other 6 ms of a step the host sleeps below a third. */
static char *page(struct builder *b)
{
    *b = build_start_on(NULL, 9, 0);
    build_meta(b, "have", "kernels,copies,memory_kinds,api,sync,ranges,device,memsets");
    rows = 0;
    int64_t nine = frame(b, 0, "/home/me/train.py", "Net.<b>", 9, build_text(b, "y = f(<x>)"));
    int64_t twelve = frame(b, 0, "/home/me/train.py", "loss", 12, 0);
    int64_t top = frame(b, 0, "/home/me/train.py", "<module>", 40, 0);
    int64_t run = frame(b, top, "/x/lib/python3.11/subprocess.py", "_wrapper", 548, 0);
    int64_t sleeps = frame(b, run, "/x/lib/python3.11/selectors.py", "select", 415, 0);
    for (int i = 0; i < STEPS; i++) {
        int64_t at = MS(10 * i);
        build_range(b, "step", at, at + MS(10));
        build_kernel(b, "gemm", at + US(10), at + US(20), MS(3));
        build_kernel(b, "add", at + US(30), at + MS(3) + US(20), MS(1));
        launch_line(b, SPOOL_LINE_OWN, nine, at + US(9), -1);
        launch_line(b, SPOOL_LINE_OWN, twelve, at + US(29), -1);
        for (int k = 5; k < 10; k++) {
            struct row_stack_sample s = {++rows,       1, b->thread, at + MS(k), at + MS(k), 1,
                                         STACK_ASLEEP, 0, sleeps};
            build_put(b, ROW_STACK_SAMPLE, &s);
        }
    }
    launch_line(b, SPOOL_LINE_STRETCH, 0, 0, MS(10 * STEPS));
    return exported("html", build_analyze(b));
}

TEST(gpu_time_by_function_line_and_kernel)
{
    static const char *const boxes[] = {
        "<i class=\"odd\" style=\"left:0.000%;width:75.000%;top:0.00rem\" "
        "title=\"Net.&lt;b&gt; train.py: 3.00 ms per step, 75.0 %\">Net.&lt;b&gt; train.py</i>",
        "<i class=\"even\" style=\"left:0.000%;width:75.000%;top:1.30rem\" data-findings=\"1",
        "<i class=\"work\" style=\"left:0.000%;width:75.000%;top:2.60rem\" title=\"gemm: ",
        "<i class=\"odd\" style=\"left:75.000%;width:25.000%;top:0.00rem\" title=\"loss train.py",
        "<i class=\"even\" style=\"left:75.000%;width:25.000%;top:1.30rem\" title=\"train.py:12: ",
        "<i class=\"work\" style=\"left:75.000%;width:25.000%;top:2.60rem\" title=\"add: ",
    };
    struct builder b;
    char *out = page(&b), *at = strstr(out, "<section id=\"lines\">");
    for (size_t i = 0; at && i < sizeof boxes / sizeof *boxes; i++) {
        at = strstr(at, boxes[i]); /* in this order */
        ck_assert_msg(at != NULL, "%s", boxes[i]);
    }
    ck_assert_ptr_nonnull(at);
    ck_assert_ptr_nonnull(strstr(out, "<pre>train.py:9  y = f(&lt;x&gt;)</pre>")); /* a finding's */
    ck_assert_ptr_nonnull(strstr(out, " title=\"train.py:9 y = f(&lt;x&gt;): 3.00 ms per step"));
    ck_assert_ptr_nonnull(strstr(out, " 100.0 % of it has a line."));
    free(out);
}

/* Wrappers of others are passed over; the innermost function stays. */
TEST(idle_time_by_frame)
{
    struct builder b;
    char *out = page(&b), *at = strstr(out, "Where the program is while the GPU idles");
    ck_assert_ptr_nonnull(at);
    at = strstr(at, "title=\"train.py:40 &lt;module&gt;: ");
    ck_assert_ptr_nonnull(at);
    ck_assert_ptr_nonnull(strstr(at, "title=\"select selectors.py: "));
    ck_assert_ptr_null(strstr(at, "title=\"_wrapper"));
    free(out);
}

TEST(nothing_without_lines)
{
    struct builder b;
    char *out = exported("html", exported_run(&b, NULL));
    ck_assert_ptr_null(strstr(out, "id=\"lines\""));
    free(out);
}
