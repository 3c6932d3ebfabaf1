/* Kernels modelled from their code: reading PTX, what sampled warps do, and the resulting time. */
#include "tests/unit/vgpu_code_work.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *test_vgpu_code_suite(void);

/* out[i] = sum over k < n of in[i * step + k * jump]; one thread for each i. */
static const char sums[] =
    "// made by hand\n.version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry sums(.param .u64 sums_0, .param .u64 sums_1, .param .u32 sums_2,\n"
    "  .param .u32 sums_3, .param .u32 sums_4, .param .f32 sums_5)\n"
    "{ .reg .pred %p<3>; .reg .f32 %f<5>; .reg .b32 %r<12>; .reg .b64 %rd<9>;\n"
    "  ld.param.u64 %rd1, [sums_0]; ld.param.u64 %rd2, [sums_1];\n"
    "  ld.param.u32 %r1, [sums_2]; ld.param.u32 %r2, [sums_3]; ld.param.u32 %r3, [sums_4];\n"
    "  ld.param.f32 %f4, [sums_5];\n"
    "  cvta.to.global.u64 %rd3, %rd2; cvta.to.global.u64 %rd4, %rd1;\n"
    "  mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x; mov.u32 %r6, %tid.x;\n"
    "  mad.lo.s32 %r7, %r4, %r5, %r6; mul.lo.s32 %r8, %r7, %r2;\n"
    "  mov.f32 %f1, 0f00000000; mov.u32 %r9, 0; setp.lt.s32 %p1, %r1, 1; @%p1 bra $DONE;\n"
    "$LOOP: mul.wide.s32 %rd5, %r8, 4; add.s64 %rd6, %rd3, %rd5;\n"
    "  ld.global.f32 %f2, [%rd6]; fma.rn.f32 %f1, %f2, %f4, %f1;\n"
    "  add.s32 %r8, %r8, %r3; add.s32 %r9, %r9, 1;\n"
    "  setp.ne.s32 %p2, %r9, %r1; @%p2 bra $LOOP;\n"
    "$DONE: mul.wide.s32 %rd7, %r7, 4; add.s64 %rd8, %rd4, %rd7;\n"
    "  st.global.f32 [%rd8], %f1; ret;\n}\n";

struct sums_arguments {
    uint64_t out, in;
    int n, step, jump;
    float factor;
    void *all[6];
};

static struct code_work sums_work(unsigned blocks, int n, int step, int jump)
{
    struct sums_arguments a = {(uint64_t)1 << 40, (uint64_t)2 << 40, n, step, jump, 1, {NULL}};
    void *all[] = {&a.out, &a.in, &a.n, &a.step, &a.jump, &a.factor};
    return work_of(sums, "sums", blocks, 256, all);
}

START_TEST(loops_turn_as_often_as_the_arguments_say)
{
    ck_assert_double_eq(sums_work(64, 1, 1, 1).warp.fp32, 1);
    ck_assert_double_eq(sums_work(64, 100, 1, 1).warp.fp32, 100);
    ck_assert_double_eq(sums_work(64, 0, 1, 1).warp.fp32, 0);
    ck_assert_double_eq(sums_work(64, 0, 1, 1).store_bytes, 64 * 256 * 4);
}
END_TEST

/* A structure as the argument: compilers read its parts by a register. */
START_TEST(arguments_are_read_by_their_address_as_well)
{
    static const char turns[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry turns(.param .align 8 .b8 turns_0[64])\n"
        "{ .reg .pred %p<2>; .reg .f32 %f<2>; .reg .b32 %r<3>; .reg .b64 %rd<4>;\n"
        "  mov.b64 %rd1, turns_0; add.s64 %rd2, %rd1, 24; mov.u64 %rd3, %rd2;\n"
        "  ld.param.u32 %r1, [%rd3+-8]; mov.u32 %r2, 0; mov.f32 %f1, 0f00000000;\n"
        "$LOOP: fma.rn.f32 %f1, %f1, %f1, %f1; add.s32 %r2, %r2, 1;\n"
        "  setp.lt.s32 %p1, %r2, %r1; @%p1 bra $LOOP;\n  ret;\n}\n";
    uint32_t argument[16] = {0};
    void *all[] = {argument};
    argument[4] = 77; /* at 16 bytes */
    ck_assert_double_eq(work_of(turns, "turns", 4, 64, all).warp.fp32, 77);
}
END_TEST

START_TEST(a_loop_too_long_to_be_run_is_extrapolated)
{
    struct code_work w = sums_work(64, 5000000, 1, 1);
    ck_assert_double_eq_tol(w.warp.fp32 / 5000000, 1, 0.01);
}
END_TEST

/* Inline assembly that waits for a barrier, twice: each scope has labels of its own, and a barrier
 * is not waited for in vain. */
START_TEST(labels_of_a_scope_are_its_own)
{
#define WAIT                                                                                       \
    "  { .reg .pred P1; LAB_WAIT: mbarrier.try_wait.parity.shared::cta.b64 P1, [%r1], 0;\n"        \
    "  @P1 bra DONE; bra LAB_WAIT; DONE: }\n  fma.rn.f32 %f1, %f1, %f1, %f1;\n"
    static const char waits[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry waits(.param .u32 waits_0)\n"
        "{ .reg .f32 %f<2>; .reg .b32 %r<2>;\n"
        "  mov.u32 %r1, 0; mov.f32 %f1, 0f00000000;\n" WAIT WAIT WAIT "  ret;\n}\n";
    uint32_t unused = 0;
    void *all[] = {&unused};
    ck_assert_double_eq(work_of(waits, "waits", 4, 64, all).warp.fp32, 3);
}
END_TEST

/* Of 12 warps the first four bring data, the others compute. */
START_TEST(warps_of_different_tasks_are_weighed)
{
    static const char shares[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry shares(.param .u32 shares_0)\n"
        "{ .reg .f32 %f<2>; .reg .b32 %r<2>; .reg .pred %p<2>;\n"
        "  mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 128; @%p1 bra $END;\n"
        "  fma.rn.f32 %f1, %f1, %f1, %f1;\n$END: ret;\n}\n";
    uint32_t unused = 0;
    void *all[] = {&unused};
    ck_assert_double_eq_tol(work_of(shares, "shares", 4, 384, all).warp.fp32, 8 / 12.0, 1e-9);
}
END_TEST

/* A persistent kernel: 4 blocks take `tiles` tiles in turn. What stands first of an instruction
 * without a result is a number that others use as well: it stays what it is. */
START_TEST(blocks_of_a_small_grid_take_all_tiles)
{
    static const char takes[] =
        ".version 8.0\n.target sm_90a\n.address_size 64\n"
        ".visible .entry takes(.param .u32 takes_0)\n"
        "{ .reg .f32 %f<2>; .reg .b32 %r<5>; .reg .b16 %rs<3>; .reg .pred %p<3>;\n"
        "  ld.param.u32 %r1, [takes_0]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x;\n"
        "  setmaxnreg.inc.sync.aligned.u32 1;\n"
        "$TILE: fma.rn.f32 %f1, %f1, %f1, %f1; wgmma.wait_group.sync.aligned 1;\n"
        "  add.s32 %r2, %r2, %r3; mov.u16 %rs1, 0; setp.le.s32 %p1, %r1, %r2; @%p1 bra $LAST;\n"
        "  mov.u16 %rs1, 1;\n"
        "$LAST: and.b16 %rs2, %rs1, 255; setp.eq.s16 %p2, %rs2, 0; @%p2 bra $END; bra.uni $TILE;\n"
        "$END: ret;\n}\n";
    uint32_t tiles = 100;
    void *all[] = {&tiles};
    ck_assert_double_eq(work_of(takes, "takes", 4, 128, all).warp.fp32, 25);
}
END_TEST

/* Neighbours that read neighbours take four sectors of 32 bytes, those 128 bytes apart a line each.
 */
START_TEST(apart_costs_more_lines_than_side_by_side)
{
    struct code_work near = sums_work(64, 16, 1, 256 * 64), far = sums_work(64, 16, 32, 1);
    ck_assert_double_eq(near.warp.lines, 16 + 1);
    ck_assert_double_eq(far.warp.lines, 16 * 32 + 1);
    ck_assert_double_eq(near.read_bytes, 64 * 256 * 16 * 4);
}
END_TEST

/* The blocks whose number has one bit set end at once, the others copy a number for each thread. Of
 * some bits all blocks that are looked at first end. */
START_TEST(blocks_with_nothing_to_do_do_not_hide_the_others)
{
    static const char some[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry some(.param .u64 some_0, .param .u32 some_1)\n"
        "{ .reg .pred %p<2>; .reg .f32 %f<2>; .reg .b32 %r<8>; .reg .b64 %rd<5>;\n"
        "  ld.param.u64 %rd1, [some_0]; ld.param.u32 %r1, [some_1];\n"
        "  mov.u32 %r2, %ctaid.x; and.b32 %r3, %r2, %r1; setp.ne.s32 %p1, %r3, 0;\n"
        "  @%p1 bra $DONE; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, 256, %r4;\n"
        "  mul.wide.s32 %rd2, %r5, 4; cvta.to.global.u64 %rd3, %rd1; add.s64 %rd4, %rd3, %rd2;\n"
        "  ld.global.f32 %f1, [%rd4]; st.global.f32 [%rd4], %f1;\n$DONE: ret;\n}\n";
    const unsigned blocks = 4096;
    uint64_t data = (uint64_t)1 << 40;
    for (unsigned bit = 1; bit < blocks; bit *= 2) {
        void *args[] = {&data, &bit};
        struct code_work w = work_of(some, "some", blocks, 256, args);
        double half = blocks * 256 * 4 / 2;
        ck_assert_double_eq_tol(w.load_bytes / half, 1, 0.35);
        ck_assert_double_eq_tol(w.store_bytes / half, 1, 0.35);
    }
}
END_TEST

/* All warps read the same: the second finds it in the cache. */
START_TEST(what_a_block_shares_is_loaded_once)
{
    struct code_work w = sums_work(64, 1024, 0, 1);
    ck_assert_double_eq_tol(w.load_bytes, 64 * 1024 * 4, 1);
    ck_assert_double_eq(w.read_bytes, 1024 * 4);
}
END_TEST

/* Waits until `spin_0` cycles, or nanoseconds of the other timer, have passed. */
#define SPIN(timer)                                                                                \
    ".version 8.0\n.target sm_80\n.address_size 64\n"                                              \
    ".visible .entry spin(.param .u64 spin_0)\n"                                                   \
    "{ .reg .pred %p<2>; .reg .b64 %rd<9>;\n"                                                      \
    "  ld.param.u64 %rd1, [spin_0]; mov.u64 %rd2, %" timer ";\n"                                   \
    "$LOOP: mov.u64 %rd3, %" timer "; sub.s64 %rd4, %rd3, %rd2;\n"                                 \
    "  setp.lt.s64 %p1, %rd4, %rd1; @%p1 bra $LOOP;\n  ret;\n}\n"

static double spin_cycles(const char *ptx, uint64_t limit)
{
    struct ptx_kernel *k = ptx_read(ptx, "spin");
    struct ptx_launch l = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .clock_hz = 2e9};
    struct code_work w;
    void *args[] = {&limit};
    l.args = args;
    ck_assert_ptr_nonnull(k);
    ck_assert(vg_code_sample(k, &l, &w));
    ptx_free(k);
    return w.chain_cycles;
}

START_TEST(a_kernel_that_waits_by_the_clock_takes_so_long)
{
    static const char clock[] = SPIN("clock64"), timer[] = SPIN("globaltimer");
    for (uint64_t limit = 10000; limit <= 100000000; limit *= 100) {
        ck_assert_double_eq_tol(spin_cycles(clock, limit) / (double)limit, 1, 0.05);
        ck_assert_double_eq_tol(spin_cycles(timer, limit) / (2 * (double)limit), 1, 0.05);
    }
}
END_TEST

START_TEST(only_what_steers_is_asked_of_the_arguments)
{
    struct ptx_kernel *k = ptx_read(sums, "sums");
    int steering = 0;
    ck_assert_ptr_nonnull(k);
    for (int i = 0; i < k->slot_count; i++) {
        steering += k->slot[i].steers;
        ck_assert(k->slot[i].param != 5 || !k->slot[i].steers); /* the factor */
    }
    ck_assert_int_eq(steering, 5);
    ptx_free(k);
}
END_TEST

/* A branch that half of the lanes take, both ways of different length, and lanes that end early. */
static const char apart[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.entry apart(.param .u64 apart_0)\n{\n"
    " .reg .pred %p<4>; .reg .b32 %r<9>; .reg .f32 %f<9>;\n"
    " mov.u32 %r1, %tid.x; setp.gt.u32 %p3, %r1, 39; @%p3 ret;\n"
    " and.b32 %r2, %r1, 1; setp.eq.s32 %p1, %r2, 0; @!%p1 bra $ODD;\n"
    " add.f32 %f1, %f2, %f3; add.f32 %f1, %f1, %f3; bra.uni $MEET;\n"
    "$ODD: add.f32 %f1, %f2, %f3;\n"
    "$MEET: mul.f32 %f4, %f1, %f1; ret; }\n";

START_TEST(lanes_part_and_meet)
{
    uint64_t pointer = 0;
    void *args[] = {&pointer};
    /* 3 sums and 1 product in each of two warps, the second of them with 8 lanes */
    struct code_work w = work_of(apart, "apart", 1, 64, args);
    ck_assert_double_eq(w.warp.fp32, 4);
    w = work_of(apart, "apart", 1, 96, args); /* the third ends at once */
    ck_assert_double_eq_tol(w.warp.fp32 * 3, 8, 2);
}
END_TEST

/* Rates of A100's data sheet, dense and beside FP16: TF32 1/2, INT8 2, FP64 1/16; zeros in half of
 * the places 2. */
START_TEST(tensor_cores_take_as_long_as_the_operands_are_wide)
{
    static const struct {
        const char *opcode;
        double clocks; /* beside 16-bit operands */
    } cases[] = {
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 1},
        {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 1},
        {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 2},
        {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 16},
        {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 0.5},
        {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 0.5},
        {"mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", 0.5},
        {"mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", 1},
        {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double m, n, k;
        const char *shape = strstr(cases[i].opcode, ".m1") ? strstr(cases[i].opcode, ".m1")
                                                           : strstr(cases[i].opcode, ".m8");
        ck_assert_int_eq(sscanf(shape, ".m%lfn%lfk%lf", &m, &n, &k), 3);
        ck_assert_double_eq(ptx_matrix_flops(cases[i].opcode, strlen(cases[i].opcode)),
                            2 * m * n * k * cases[i].clocks);
    }
}
END_TEST

START_TEST(what_is_not_understood_is_no_kernel)
{
    ck_assert_ptr_null(ptx_read(sums, "sum"));
    ck_assert_ptr_null(ptx_read(".entry k() { bra $NOWHERE; }", "k"));
    ck_assert_ptr_null(ptx_read(".entry k() {", "k"));
    ck_assert_ptr_null(ptx_read(".entry k", "k"));
    ck_assert_ptr_null(ptx_read("", "k"));
}
END_TEST

/* No text makes the reader fail: every prefix and every lost character of one. */
START_TEST(damaged_text_is_survived)
{
    char text[sizeof sums];
    for (size_t cut = 0; cut < sizeof sums - 1; cut++) {
        memcpy(text, sums, sizeof sums);
        if (_i)
            text[cut] = ' ';
        else
            text[cut] = '\0';
        struct ptx_kernel *k = ptx_read(text, "sums");
        uint64_t zero[6] = {0};
        void *args[] = {&zero[0], &zero[1], &zero[2], &zero[3], &zero[4], &zero[5]};
        struct ptx_launch l = {.grid = {2, 1, 1}, .block = {32, 1, 1}, .args = args};
        struct code_work w;
        if (k && k->param_count <= 6)
            ck_assert(vg_code_sample(k, &l, &w));
        ptx_free(k);
    }
}
END_TEST

static int64_t time_on(const char *model, const struct code_work *w)
{
    struct vg_profile p;
    char why[256];
    struct code_needs needs = {32, 0};
    ck_assert_msg(vg_profile_load(model, &p, why, sizeof why) == 0, "%s", why);
    return vg_code_time(&p, w, &needs);
}

/* Reading 256 MB side by side takes what the memory needs, and longer on a slower one. */
START_TEST(time_is_that_of_the_narrowest_part)
{
    struct code_work w = sums_work(1 << 18, 1, 1, 1);
    double bytes = 2.0 * (1 << 18) * 256 * 4, ns = (double)time_on("h100", &w);
    ck_assert_double_eq_tol(ns / (bytes / 3352), 1, 0.3);
    ck_assert_int_gt(time_on("t4", &w), 6 * time_on("h100", &w));
    struct code_work far = sums_work(1 << 12, 64, 32, 1 << 20),
                     near = sums_work(1 << 12, 64, 1, 1 << 20);
    ck_assert_int_gt(time_on("h100", &far), 3 * time_on("h100", &near));
}
END_TEST

Suite *test_vgpu_code_suite(void)
{
    Suite *s = suite_create("vgpu_code");
    TCase *c = tcase_create("core");
    tcase_add_test(c, loops_turn_as_often_as_the_arguments_say);
    tcase_add_test(c, arguments_are_read_by_their_address_as_well);
    tcase_add_test(c, a_loop_too_long_to_be_run_is_extrapolated);
    tcase_add_test(c, labels_of_a_scope_are_its_own);
    tcase_add_test(c, blocks_of_a_small_grid_take_all_tiles);
    tcase_add_test(c, warps_of_different_tasks_are_weighed);
    tcase_add_test(c, apart_costs_more_lines_than_side_by_side);
    tcase_add_test(c, blocks_with_nothing_to_do_do_not_hide_the_others);
    tcase_add_test(c, what_a_block_shares_is_loaded_once);
    tcase_add_test(c, a_kernel_that_waits_by_the_clock_takes_so_long);
    tcase_add_test(c, only_what_steers_is_asked_of_the_arguments);
    tcase_add_test(c, lanes_part_and_meet);
    tcase_add_test(c, tensor_cores_take_as_long_as_the_operands_are_wide);
    tcase_add_test(c, what_is_not_understood_is_no_kernel);
    tcase_add_loop_test(c, damaged_text_is_survived, 0, 2);
    tcase_add_test(c, time_is_that_of_the_narrowest_part);
    suite_add_tcase(s, c);
    return s;
}
