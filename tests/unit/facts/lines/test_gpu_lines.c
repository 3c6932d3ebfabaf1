/* The GPU's time by line of the program: launches in steps that record lines, and the same launches
 * in steps that do not. */
#include "analyzer/facts/lines.h"
#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"

enum { STEPS = 24, LINED = 5 }; /* the LINED-th carries lines */

static int64_t rows;

static int64_t stack(struct builder *b, int64_t id, const char *function, int64_t line)
{
    struct row_stack r = {id,   0, build_text(b, "/home/me/train.py"), build_text(b, function),
                          line, 0};
    build_put(b, ROW_STACK, &r);
    return id;
}

static void line(struct builder *b, int what, int64_t of, int64_t from, int64_t to)
{
    bool stretch = what == SPOOL_LINE_STRETCH;
    struct row_launch_line r = {++rows, 1, stretch ? -1 : b->thread, from, stretch ? to : -1, 1,
                                what,   of};
    build_put(b, ROW_LAUNCH_LINE, &r);
}

/* Four launches: "a" and "b" by line 9, "a" by line 12, "a" back through line 9. */
static struct builder start(bool lined)
{
    struct builder b = build_start();
    rows = 0;
    int64_t nine = stack(&b, 1, "Net.forward", 9), twelve = stack(&b, 2, "<module>", 12);
    for (int i = 0; i < STEPS; i++) {
        int64_t at = MS(10 * i);
        build_range(&b, "step", at, at + MS(10));
        build_kernel(&b, "a", at + US(10), at + US(20), MS(1));
        build_kernel(&b, "b", at + US(30), at + MS(2), MS(1));
        build_kernel(&b, "a", at + US(50), at + MS(4), MS(3));
        build_kernel(&b, "a", at + US(70), at + MS(8), MS(1));
        if (i != LINED || !lined)
            continue;
        line(&b, SPOOL_LINE_OWN, nine, at + US(9), 0);
        line(&b, SPOOL_LINE_OWN, twelve, at + US(49), 0);
        line(&b, SPOOL_LINE_FORWARD, nine, at + US(69), 0);
        line(&b, SPOOL_LINE_STRETCH, 0, at, at + MS(10) - 1);
    }
    return b;
}

TEST(time_goes_to_lines)
{
    struct builder b = start(true);
    const struct facts *f = build_analyze(&b)->facts;
    const struct gpu_lines *g = facts_gpu_lines(f);
    ck_assert_uint_eq(g->count, 2);
    ck_assert_uint_eq(g->steps, 1);
    ck_assert(g->ns == MS(6) && g->lined_ns == MS(6));
    ck_assert_str_eq(g->at[0].place, "train.py:9");
    ck_assert_str_eq(g->at[0].function, "Net.forward");
    ck_assert(g->at[0].ns == MS(3) && g->at[0].backward_ns == MS(1) && g->at[0].count == 3);
    ck_assert(g->at[1].ns == MS(3) && g->at[1].number == 12 && g->at[1].backward_ns == 0);
}

/* What is launched by several lines is told by what is launched around it. */
TEST(other_steps_are_matched)
{
    static const char *const wanted[] = {"train.py:9 (Net.forward)", "train.py:9 (Net.forward)",
                                         "train.py:12",
                                         "train.py:9 (Net.forward), its backward pass"};
    struct builder b = start(true);
    const struct timeline *t = build_finish(&b);
    /* the first step has nothing before it, the last launch nothing behind it */
    for (size_t i = 4; i + 1 < t->api_count; i++) {
        ck_assert_str_eq(tl_text(t, t->apis[i].caller), wanted[i % 4]);
        ck_assert_int_eq(t->apis[i].line_matched, i / 4 != LINED);
    }
}

/* One line runs in two modules. */
TEST(modules_have_their_time)
{
    struct builder b = build_start();
    rows = 0;
    for (int i = 1; i <= 2; i++) {
        struct row_stack m = {
            i, 0, 0, build_text(&b, i == 1 ? "blocks.0 (Block)" : "head (Linear)"), 0, 0};
        struct row_stack r = {
            i + 2, i, build_text(&b, "/home/me/train.py"), build_text(&b, "forward"), 9, 0};
        build_put(&b, ROW_STACK, &m);
        build_put(&b, ROW_STACK, &r);
    }
    for (int i = 0; i < STEPS; i++) {
        int64_t at = MS(10 * i);
        build_range(&b, "step", at, at + MS(10));
        build_kernel(&b, "a", at + US(10), at + US(20), MS(1));
        build_kernel(&b, "b", at + US(30), at + MS(2), MS(3));
        if (i == LINED) {
            line(&b, SPOOL_LINE_OWN, 3, at + US(9), 0);
            line(&b, SPOOL_LINE_OWN, 4, at + US(29), 0);
            line(&b, SPOOL_LINE_STRETCH, 0, at, at + MS(10) - 1);
        }
    }
    const struct gpu_lines *g = facts_gpu_lines(build_analyze(&b)->facts);
    ck_assert(g->count == 1 && g->at[0].ns == MS(4));
    ck_assert(g->module_count == 2 && g->module_ns == MS(4));
    ck_assert_str_eq(g->modules[0].name, "head (Linear)");
    ck_assert(g->modules[0].ns == MS(3) && g->modules[1].ns == MS(1));
}

/* Each of four modules launches a quarter of a chain in one line. */
TEST(a_finding_names_the_line_of_many_modules)
{
    static const char add[] = "void at::native::vectorized_elementwise_kernel<4, at::native::"
                              "CUDAFunctor_add<float>, at::detail::Array<char*, 3>>";
    struct builder b = build_start();
    rows = 0;
    for (int i = 1; i <= 4; i++) {
        char name[] = "blocks.0 (Block)";
        name[7] += (char)i;
        struct row_stack m = {i, 0, 0, build_text(&b, name), 0, 0};
        struct row_stack r = {
            i + 4, i, build_text(&b, "/home/me/train.py"), build_text(&b, "forward"), 9, 0};
        build_put(&b, ROW_STACK, &m);
        build_put(&b, ROW_STACK, &r);
    }
    for (int i = 0; i < STEPS; i++) {
        int64_t at = MS(10 * i);
        build_range(&b, "step", at, at + MS(10));
        for (int k = 0; k < 4; k++)
            build_kernel(&b, add, at + US(10 + 20 * k), at + US(20) + US(2400) * k, US(2300));
        for (int k = 0; k < 4 && i == LINED; k++)
            line(&b, SPOOL_LINE_OWN, 5 + k, at + US(9 + 20 * k), 0);
        if (i == LINED)
            line(&b, SPOOL_LINE_STRETCH, 0, at, at + MS(10) - 1);
    }
    const struct outcome *o = case_outcome(build_analyze(&b), "pointwise-fusion");
    ck_assert_msg(strstr(o->summary, "100 % of that work comes from train.py:9 (forward)"), "%s",
                  o->summary);
}

/* No module is known before the first step of the optimizer: the same line all the same. */
TEST(modules_known_later_are_the_same_line)
{
    struct builder b = build_start();
    rows = 0;
    struct row_stack m = {1, 0, 0, build_text(&b, "net (Net)"), 0, 0};
    build_put(&b, ROW_STACK, &m);
    int64_t early = stack(&b, 2, "forward", 9), late = 3;
    struct row_stack r = {late, 1, build_text(&b, "/home/me/train.py"), build_text(&b, "forward"),
                          9,    0};
    build_put(&b, ROW_STACK, &r);
    for (int i = 0; i < STEPS; i++) {
        int64_t at = MS(10 * i);
        build_range(&b, "step", at, at + MS(10));
        build_kernel(&b, "a", at + US(10), at + US(20), MS(1));
        if (i != LINED && i != LINED + 2)
            continue;
        line(&b, SPOOL_LINE_OWN, i == LINED ? early : late, at + US(9), 0);
        line(&b, SPOOL_LINE_STRETCH, 0, at, at + MS(10) - 1);
    }
    const struct timeline *t = build_finish(&b);
    for (size_t i = 0; i < t->api_count; i++) {
        ck_assert_str_eq(tl_text(t, t->apis[i].caller), "train.py:9 (forward)");
        if (t->apis[i].line_matched)
            ck_assert_int_eq(t->stacks[tl_line_stack(t->apis[i].line)].id, late);
    }
}

TEST(nothing_without_lines)
{
    struct builder b = start(false);
    const struct advice *a = build_analyze(&b);
    ck_assert_uint_eq(facts_gpu_lines(a->facts)->count, 0);
    for (size_t i = 0; i < a->facts->tl->api_count; i++)
        ck_assert(a->facts->tl->apis[i].line == 0 && a->facts->tl->apis[i].caller == 0);
}

/* One kernel takes most of the step: its line stands in the reason. */
TEST(one_kernel_has_its_line)
{
    struct builder b = build_start();
    rows = 0;
    int64_t nine = stack(&b, 1, "<module>", 9);
    for (int i = 0; i < STEPS; i++) {
        int64_t at = MS(10 * i);
        build_range(&b, "step", at, at + MS(10));
        build_kernel(&b, "cdist_kernel", at + US(10), at + US(20), MS(9));
        if (i == LINED) {
            line(&b, SPOOL_LINE_OWN, nine, at + US(9), 0);
            line(&b, SPOOL_LINE_STRETCH, 0, at, at + MS(10) - 1);
        }
    }
    const struct advice *a = build_analyze(&b);
    ck_assert_msg(strstr(a->why, "cdist_kernel, launched at train.py:9."), "%s", a->why);
}

/* ---- graphs ---- */

static void node(struct builder *b, const char *name, int64_t number, int64_t at)
{
    struct row_kernel r = {.id = ++b->next_id,
                           .process = 1,
                           .stream = b->stream,
                           .start_ns = at,
                           .end_ns = at + MS(1),
                           .name = build_text(b, name),
                           .correlation = b->correlation,
                           .grid_x = 64,
                           .grid_y = 1,
                           .grid_z = 1,
                           .block_x = 256,
                           .block_y = 1,
                           .block_z = 1,
                           .graph = 7,
                           .graph_node = (INT64_C(7) << 32) + number};
    build_put(b, ROW_KERNEL, &r);
}

/* Lines 9 and 12 are captured, with so many calls more, and line 20 replays them in each step. The
 * second node runs first. */
static const struct gpu_lines *captured(int more)
{
    struct builder b = build_start();
    rows = 0;
    int64_t nine = stack(&b, 1, "Net.forward", 9), twelve = stack(&b, 2, "loss", 12);
    int64_t twenty = stack(&b, 3, "<module>", 20);
    build_api(&b, "cudaStreamBeginCapture_v10000", US(10), US(5));
    for (int i = 0; i < 2 + more; i++)
        build_api(&b, "cudaLaunchKernel", US(20 + 20 * i), US(5));
    build_api(&b, "cudaStreamEndCapture", US(200), US(5));
    line(&b, SPOOL_LINE_OWN, nine, US(19), 0);
    line(&b, SPOOL_LINE_FORWARD, twelve, US(39), 0);
    line(&b, SPOOL_LINE_STRETCH, 0, 0, MS(1));
    for (int i = 1; i < STEPS; i++) {
        int64_t at = MS(10 * i);
        build_range(&b, "step", at, at + MS(10));
        build_api(&b, "cudaGraphLaunch", at + US(10), US(5));
        node(&b, "b", 2, at + US(30));
        node(&b, "a", 1, at + MS(2));
        if (i == LINED) {
            line(&b, SPOOL_LINE_OWN, twenty, at + US(9), 0);
            line(&b, SPOOL_LINE_STRETCH, 0, at, at + MS(10) - 1);
        }
    }
    return facts_gpu_lines(build_analyze(&b)->facts);
}

TEST(replays_have_the_lines_of_their_capture)
{
    const struct gpu_lines *g = captured(0);
    ck_assert_uint_eq(g->count, 2);
    for (int i = 0; i < 2; i++)
        ck_assert(g->at[i].ns == MS(1) &&
                  g->at[i].backward_ns == (g->at[i].number == 12 ? MS(1) : 0));
}

TEST(a_capture_of_other_work_says_nothing)
{
    const struct gpu_lines *g = captured(1);
    ck_assert_uint_eq(g->count, 1);
    ck_assert_int_eq(g->at[0].number, 20);
}
