/* Kernels for Hopper that are modelled from their code: bulk copies (TMA), which count with all
 * their bytes although one lane starts them, whichever lane and warp that is; and loops of
 * persistent kernels. */
#include "code/tensor.h"
#include "tests/unit/vgpu_code_work.h"

#include <check.h>

Suite *test_vgpu_bulk_suite(void);

/* Warp `tiles_2` of each block loads `tiles_1` boxes along a row of boxes; the others wait. */
static const char tiles[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry tiles(.param .align 64 .b8 tiles_0[128], .param .u32 tiles_1,\n"
    "  .param .u32 tiles_2)\n"
    "{ .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<4>;\n"
    "  mov.b64 %rd1, tiles_0; cvta.param.u64 %rd2, %rd1;\n"
    "  ld.param.u32 %r1, [tiles_1]; ld.param.u32 %r9, [tiles_2];\n"
    "  mov.u32 %r2, %tid.x; shr.u32 %r3, %r2, 5; setp.ne.s32 %p1, %r3, %r9; @%p1 bra $DONE;\n"
    "  mov.u32 %r4, %ctaid.x; shl.b32 %r5, %r4, 6; mov.u32 %r6, 0; mov.u32 %r7, 0;\n"
    "$LOOP: elect.sync _|%p2, -1;\n"
    "  @%p2 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes\n"
    "    [%r10], [%rd2, {%r6, %r5}], [%r11];\n"
    "  add.s32 %r6, %r6, 64; add.s32 %r7, %r7, 1;\n"
    "  setp.lt.s32 %p3, %r7, %r1; @%p3 bra $LOOP;\n"
    "$DONE: ret;\n}\n";

/* A block copies 4096 bytes to shared memory, and 2048 back from there. */
static const char ranges[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry ranges(.param .u64 ranges_0, .param .u64 ranges_1)\n"
    "{ .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<8>;\n"
    "  ld.param.u64 %rd1, [ranges_0]; ld.param.u64 %rd2, [ranges_1];\n"
    "  mov.u32 %r1, %tid.x; setp.ne.s32 %p1, %r1, 0; @%p1 bra $DONE;\n"
    "  mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd3, %r2, 4096; add.s64 %rd4, %rd1, %rd3;\n"
    "  mul.wide.u32 %rd5, %r2, 2048; add.s64 %rd6, %rd2, %rd5; mov.u32 %r4, 4096;\n"
    "  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd4], %r4, "
    "[%r5];\n"
    "  cp.async.bulk.global.shared::cta.bulk_group [%rd6], [%r3], 2048;\n"
    "  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"
    "$DONE: ret;\n}\n";

/* A long loop inside of one whose number triples at each turn until it reaches 10^9: 19 turns. */
static const char triples[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry triples(.param .u32 triples_0)\n"
    "{ .reg .pred %p<3>; .reg .f32 %f<2>; .reg .b32 %r<6>;\n"
    "  ld.param.u32 %r1, [triples_0]; mov.u32 %r2, 1; mov.f32 %f1, 0f00000000;\n"
    "$OUT: mov.u32 %r3, 0;\n"
    "$IN: fma.rn.f32 %f1, %f1, %f1, %f1; add.s32 %r3, %r3, 1;\n"
    "  setp.lt.s32 %p1, %r3, %r1; @%p1 bra $IN;\n"
    "  mul.lo.s32 %r2, %r2, 3; setp.lt.s32 %p2, %r2, 1000000000; @%p2 bra $OUT;\n  ret;\n}\n";

static void tensor_of(void *map, uint64_t columns, uint64_t rows)
{
    uint64_t dim[] = {columns, rows}, stride[] = {columns * 2};
    uint32_t box[] = {64, 64}, step[] = {1, 1};
    struct vg_tensor t = {(uint64_t)1 << 40, 2, 16, dim, stride, box, step};
    ck_assert(vg_tensor_write(map, &t));
}

static struct code_work tiles_work(uint64_t columns, uint64_t rows, int count, int warp)
{
    char map[128];
    void *args[] = {map, &count, &warp};
    tensor_of(map, columns, rows);
    return work_of(tiles, "tiles", 16, 384, args);
}

START_TEST(an_elected_lane_copies_for_all)
{
    double tensor = 16 * 64 * 640 * 2.0;
    for (int warp = 0; warp < 12; warp++) {
        struct code_work w = tiles_work(640, 16 * 64, 10, warp);
        ck_assert_double_eq_tol(w.load_bytes / tensor, 1, 1e-9);
        ck_assert_double_eq_tol(w.read_bytes / tensor, 1, 0.01);
        ck_assert_double_eq(w.store_bytes, 0);
        ck_assert_double_eq_tol(w.warp.shared * 12 * 16, tensor / 128, 1);
    }
}
END_TEST

/* Of the last box in a row half is outside of the tensor, of the last blocks all. */
START_TEST(what_is_outside_of_the_tensor_is_not_read)
{
    struct code_work w = tiles_work(96, 16 * 64, 2, 0);
    ck_assert_double_eq_tol(w.load_bytes, 16 * 64 * 96 * 2.0, 1e-6);
    ck_assert_double_eq(tiles_work(64, 16 * 64, 2, 0).load_bytes, 16 * 64 * 64 * 2.0);
}
END_TEST

START_TEST(ranges_are_loaded_and_stored)
{
    uint64_t from = (uint64_t)1 << 40, to = (uint64_t)2 << 40;
    void *args[] = {&from, &to};
    struct code_work w = work_of(ranges, "ranges", 64, 128, args);
    ck_assert_double_eq(w.load_bytes, 64 * 4096);
    ck_assert_double_eq(w.store_bytes, 64 * 2048);
    ck_assert_double_eq(w.read_bytes, 64 * 4096);
    ck_assert_double_eq(w.written_bytes, 64 * 2048);
}
END_TEST

START_TEST(a_description_that_nobody_wrote_counts_nothing)
{
    char map[128] = {0};
    int count = 10, warp = 0;
    void *args[] = {map, &count, &warp};
    ck_assert_double_eq(work_of(tiles, "tiles", 16, 384, args).load_bytes, 0);
}
END_TEST

START_TEST(no_description_of_what_no_card_takes)
{
    char map[128];
    uint64_t dim[] = {64, 64, 64, 64, 64, 64}, stride[] = {128, 128, 128, 128, 128};
    uint32_t box[] = {64, 257, 1, 1, 1, 1};
    struct vg_tensor t = {4096, 2, 16, dim, stride, box, NULL};
    ck_assert(!vg_tensor_write(map, &t));
    box[1] = 256;
    ck_assert(vg_tensor_write(map, &t));
    ck_assert(vg_tensor_move(map, 8192));
    t.rank = 6;
    ck_assert(!vg_tensor_write(map, &t));
    t.rank = 0;
    ck_assert(!vg_tensor_write(map, &t));
}
END_TEST

/* Such a loop is stopped before its end, and what was left at its first turns says nothing. */
START_TEST(a_loop_of_uneven_steps_is_not_extrapolated)
{
    int turns = 3000;
    void *args[] = {&turns};
    struct code_work w = work_of(triples, "triples", 4, 32, args);
    ck_assert_double_le(w.warp.fp32, 19.0 * turns);
    ck_assert_double_ge(w.warp.fp32, 2.0 * turns);
}
END_TEST

Suite *test_vgpu_bulk_suite(void)
{
    Suite *s = suite_create("vgpu_bulk");
    TCase *c = tcase_create("bulk");
    tcase_add_test(c, an_elected_lane_copies_for_all);
    tcase_add_test(c, what_is_outside_of_the_tensor_is_not_read);
    tcase_add_test(c, ranges_are_loaded_and_stored);
    tcase_add_test(c, a_description_that_nobody_wrote_counts_nothing);
    tcase_add_test(c, no_description_of_what_no_card_takes);
    tcase_add_test(c, a_loop_of_uneven_steps_is_not_extrapolated);
    suite_add_tcase(s, c);
    return s;
}
