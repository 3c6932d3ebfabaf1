/* Kernels modelled from their code: how often their loops run. */
#include "tests/unit/vgpu_code_work.h"
#include "tests/unit/vgpu_profile.h"

#include <check.h>

Suite *test_vgpu_loops_suite(void);

/* 40 times 10,000 turns: the second one of the outer loop is beyond what one warp may take. */
START_TEST(a_loop_of_long_turns_is_extrapolated)
{
    static const char nested[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry nested(.param .u32 nested_0, .param .u32 nested_1)\n"
        "{ .reg .pred %p<3>; .reg .f32 %f<2>; .reg .b32 %r<5>;\n"
        "  ld.param.u32 %r1, [nested_0]; ld.param.u32 %r2, [nested_1];\n"
        "  mov.u32 %r3, 0; mov.f32 %f1, 0f00000000;\n"
        "$OUTER: mov.u32 %r4, 0;\n"
        "$INNER: fma.rn.f32 %f1, %f1, %f1, %f1; add.s32 %r4, %r4, 1;\n"
        "  setp.lt.s32 %p1, %r4, %r2; @%p1 bra $INNER;\n"
        "  add.s32 %r3, %r3, 1; setp.lt.s32 %p2, %r3, %r1; @%p2 bra $OUTER;\n  ret;\n}\n";
    uint32_t outer = 40, inner = 10000;
    void *all[] = {&outer, &inner};
    double turns = work_of(nested, "nested", 4, 32, all).warp.fp32;
    ck_assert_double_eq_tol(turns / (outer * inner), 1, 0.1);
}
END_TEST

/* Three loops, the outermost of which ends by a break. */
static const char three[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry three(.param .u64 three_0, .param .u32 three_1, .param .u32 three_2,"
    " .param .u32 three_3)\n"
    "{ .reg .pred %p<5>; .reg .f32 %f<5>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
    "  ld.param.u64 %rd1, [three_0]; ld.param.u32 %r1, [three_1]; ld.param.u32 %r2, [three_2];\n"
    "  ld.param.u32 %r3, [three_3]; mov.u32 %r8, %tid.x; mul.wide.u32 %rd2, %r8, 4;\n"
    "  add.s64 %rd3, %rd1, %rd2; mov.u32 %r4, 0; mov.f32 %f1, 0f00000000;\n"
    "$A: mov.u32 %r5, 0;\n"
    "$B: mov.u32 %r6, 0; mov.b64 %rd4, %rd3;\n"
    "$C: ld.global.f32 %f2, [%rd4]; fma.rn.f32 %f1, %f1, %f2, %f1; add.s64 %rd4, %rd4, 128;\n"
    "  add.s32 %r6, %r6, 1; setp.lt.s32 %p1, %r6, %r3; @%p1 bra $C;\n"
    "  add.s32 %r5, %r5, 1; setp.lt.s32 %p2, %r5, %r2; @%p2 bra $B;\n"
    "  add.s32 %r4, %r4, 1; setp.ge.s32 %p3, %r4, %r1; @%p3 bra $END; bra.uni $A;\n"
    "$END: ret;\n}\n";

START_TEST(loops_in_loops_are_counted_to_their_end)
{
    static const uint32_t turns[6][3] = {{1, 1, 20000},   {1, 20000, 10}, {3, 50, 100000},
                                         {5000, 3, 7000}, {40, 40, 40},   {1000000, 100, 3}};
    uint64_t data = (uint64_t)1 << 40;
    uint32_t a = turns[_i][0], b = turns[_i][1], c = turns[_i][2];
    void *all[] = {&data, &a, &b, &c};
    struct code_work w = work_of(three, "three", 4, 32, all);
    ck_assert_double_eq_tol(w.warp.fp32 / ((double)a * b * c), 1, 0.02);
    ck_assert_double_eq_tol(w.warp.requests / ((double)a * b * c), 1, 0.02);
    ck_assert_double_eq_tol(w.read_bytes / (128.0 * c), 1, 0.02);
    ck_assert_int_lt(w.ran, 500000);
}
END_TEST

/* One kernel whose length is another one at each launch: more of it than one kernel's estimates may
 * cost. */
START_TEST(each_launch_takes_its_own_time)
{
    struct vg_profile p = load("a100-80");
    struct vg_code *code = vg_code_read(three, "three");
    uint64_t data = (uint64_t)1 << 40;
    uint32_t a = 2, b = 3;
    ck_assert_ptr_nonnull(code);
    for (uint32_t c = 1000; c < 5000000; c += 1000) {
        void *all[] = {&data, &a, &b, &c};
        struct vg_kernel k = {.grid = {c % 2000 ? 216 : 432, 1, 1}, .block = {256, 1, 1}};
        double ns = (double)vg_cost_code(&p, code, &k, all);
        ck_assert_double_gt(ns, 1e9 * a * b * c * 4 / 1.41e9); /* four clocks for each sum */
        ck_assert_double_lt(ns, 1e9 * a * b * c * 400 / 1.41e9 + 1e5);
    }
}
END_TEST

/* for i < n: for k < i, as a triangle's rows grow. */
START_TEST(rows_that_grow_are_counted)
{
    static const char rows[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry rows(.param .u32 rows_0)\n"
        "{ .reg .pred %p<3>; .reg .f32 %f<2>; .reg .b32 %r<5>;\n"
        "  ld.param.u32 %r1, [rows_0]; mov.u32 %r2, 1; mov.f32 %f1, 0f00000000;\n"
        "$ROW: mov.u32 %r3, 0;\n"
        "$K: fma.rn.f32 %f1, %f1, %f1, %f1; add.s32 %r3, %r3, 1;\n"
        "  setp.lt.s32 %p1, %r3, %r2; @%p1 bra $K;\n"
        "  add.s32 %r2, %r2, 1; setp.lt.s32 %p2, %r2, %r1; @%p2 bra $ROW;\n  ret;\n}\n";
    uint32_t n = 20000;
    void *all[] = {&n};
    double turns = work_of(rows, "rows", 4, 32, all).warp.fp32;
    ck_assert_double_eq_tol(turns / ((double)n * n / 2), 1, 0.02);
}
END_TEST

/* Half of the turns do more, and from the 5,000th on all do. */
START_TEST(a_loop_that_changes_is_counted)
{
    static const char change[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry change(.param .u32 change_0)\n"
        "{ .reg .pred %p<4>; .reg .f32 %f<3>; .reg .b32 %r<5>;\n"
        "  ld.param.u32 %r1, [change_0]; mov.u32 %r2, 0; mov.f32 %f1, 0f00000000;\n"
        "$K: setp.ge.u32 %p2, %r2, 5000; @%p2 bra $MORE;\n"
        "  and.b32 %r3, %r2, 1; setp.eq.u32 %p1, %r3, 0; @%p1 bra $NEXT;\n"
        "$MORE: fma.rn.f32 %f1, %f1, %f1, %f1;\n"
        "$NEXT: add.s32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, %r1; @%p3 bra $K;\n  ret;\n}\n";
    uint32_t n = 20000;
    void *all[] = {&n};
    double turns = work_of(change, "change", 4, 32, all).warp.fp32;
    ck_assert_double_eq_tol(turns, 2500 + 15000, 200);
}
END_TEST

/* A block that fetches its next tile notes whether there is one, and goes on by the note. */
START_TEST(a_loop_that_ends_by_a_note_is_extrapolated)
{
    static const char tiles[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry tiles(.param .u32 tiles_0, .param .u32 tiles_1)\n"
        "{ .reg .pred %p<4>; .reg .b16 %rs<2>; .reg .f32 %f<2>; .reg .b32 %r<6>;\n"
        "  ld.param.u32 %r1, [tiles_0]; ld.param.u32 %r2, [tiles_1];\n"
        "  mov.u32 %r3, 0; mov.f32 %f1, 0f00000000;\n"
        "$TILE: mov.u32 %r4, 0;\n"
        "$INNER: fma.rn.f32 %f1, %f1, %f1, %f1; add.s32 %r4, %r4, 1;\n"
        "  setp.lt.s32 %p1, %r4, %r2; @%p1 bra $INNER;\n"
        "  add.s32 %r3, %r3, 132; mov.u16 %rs1, 0;\n"
        "  setp.ge.s32 %p2, %r3, %r1; @%p2 bra $NONE;\n"
        "  mov.u16 %rs1, 1;\n"
        "$NONE: setp.eq.s16 %p3, %rs1, 0; @%p3 bra $DONE;\n"
        "  bra.uni $TILE;\n$DONE: ret;\n}\n";
    uint32_t end = 132 * 60, inner = 2000;
    void *all[] = {&end, &inner};
    double turns = work_of(tiles, "tiles", 4, 32, all).warp.fp32;
    ck_assert_double_eq_tol(turns / (60 * inner), 1, 0.1);
}
END_TEST

/* Block (x, y) turns x times: sampled blocks must not all have the same x. */
START_TEST(blocks_of_a_triangle_are_not_alike)
{
    static const char triangle[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry triangle(.param .u32 triangle_0)\n"
        "{ .reg .pred %p<3>; .reg .f32 %f<2>; .reg .b32 %r<5>;\n"
        "  mov.u32 %r1, %ctaid.x; mov.u32 %r2, 0; mov.f32 %f1, 0f00000000;\n"
        "$LOOP: setp.ge.s32 %p1, %r2, %r1; @%p1 bra $DONE;\n"
        "  fma.rn.f32 %f1, %f1, %f1, %f1; add.s32 %r2, %r2, 1; bra.uni $LOOP;\n"
        "$DONE: ret;\n}\n";
    uint32_t unused = 0;
    void *all[] = {&unused};
    struct ptx_kernel *k = ptx_read(triangle, "triangle");
    struct ptx_launch l = {.grid = {64, 16, 16}, .block = {32, 1, 1}, .args = all};
    struct code_work w;
    ck_assert_ptr_nonnull(k);
    ck_assert(vg_code_sample(k, &l, &w));
    ck_assert_double_eq_tol(w.warp.fp32, 32, 1);
    ptx_free(k);
}
END_TEST

/* The compiler tests before a loop whether it turns at all. How often is in memory that nobody
 * wrote, or the argument. */
START_TEST(a_loop_whose_length_is_in_memory_is_not_skipped)
{
    static const char rows[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry rows(.param .u64 rows_0, .param .u32 rows_1)\n"
        "{ .reg .pred %p<4>; .reg .f32 %f<2>; .reg .b32 %r<5>; .reg .b64 %rd<3>;\n"
        "  ld.param.u64 %rd1, [rows_0]; cvta.to.global.u64 %rd2, %rd1;\n"
        "  ld.param.u32 %r3, [rows_1]; mov.f32 %f1, 0f00000000;\n"
        "  ld.global.u32 %r1, [%rd2]; setp.lt.s32 %p1, %r1, 1; mov.u32 %r2, 0;\n"
        "  @%p1 bra $NEXT;\n"
        "$LOOP: fma.rn.f32 %f1, %f1, %f1, %f1; add.s32 %r2, %r2, 1;\n"
        "  setp.lt.s32 %p2, %r2, %r1; @%p2 bra $LOOP;\n"
        "$NEXT: setp.lt.s32 %p3, %r3, 1; @%p3 bra $DONE;\n"
        "$MORE: add.f32 %f1, %f1, %f1; add.s32 %r3, %r3, -1;\n"
        "  setp.gt.s32 %p3, %r3, 0; @%p3 bra $MORE;\n"
        "$DONE: ret;\n}\n";
    uint64_t unwritten = (uint64_t)1 << 40;
    uint32_t more = 0;
    void *all[] = {&unwritten, &more};
    ck_assert_double_eq(work_of(rows, "rows", 4, 32, all).warp.fp32, 1);
    more = 5;
    ck_assert_double_eq(work_of(rows, "rows", 4, 32, all).warp.fp32, 1 + 5);
}
END_TEST

Suite *test_vgpu_loops_suite(void)
{
    Suite *s = suite_create("vgpu_loops");
    TCase *c = tcase_create("core");
    tcase_add_test(c, a_loop_of_long_turns_is_extrapolated);
    tcase_add_loop_test(c, loops_in_loops_are_counted_to_their_end, 0, 6);
    tcase_add_test(c, each_launch_takes_its_own_time);
    tcase_add_test(c, rows_that_grow_are_counted);
    tcase_add_test(c, a_loop_that_changes_is_counted);
    tcase_add_test(c, a_loop_that_ends_by_a_note_is_extrapolated);
    tcase_add_test(c, blocks_of_a_triangle_are_not_alike);
    tcase_add_test(c, a_loop_whose_length_is_in_memory_is_not_skipped);
    suite_add_tcase(s, c);
    return s;
}
