/* The GPU's time by line: launches in steps that carry lines, and the same launches in others. */
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
