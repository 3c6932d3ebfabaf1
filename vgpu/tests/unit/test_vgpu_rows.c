/* Kernels in which each block has a row, estimated from their code: which blocks are sampled, and
 * loads that must wait for a store. */
#include "tests/unit/vgpu_code_work.h"

Suite *test_vgpu_rows_suite(void);

#define HEAD                                                                                       \
    ".version 8.0\n.target sm_80\n.address_size 64\n"                                              \
    ".visible .entry rows(.param .u64 rows_0, .param .u64 rows_1)\n"                               \
    "{ .reg .pred %p<3>; .reg .f32 %f<5>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"                    \
    "  ld.param.u64 %rd1, [rows_0]; ld.param.u64 %rd2, [rows_1];\n"                                \
    "  cvta.to.global.u64 %rd3, %rd1; cvta.to.global.u64 %rd4, %rd2;\n"

static struct code_work rows_work(const char *ptx, unsigned blocks)
{
    uint64_t out = (uint64_t)1 << 40, in = (uint64_t)2 << 40;
    void *all[] = {&out, &in};
    return work_of(ptx, "rows", blocks, 32, all);
}

/* A row of 1024 as far as its own place, as in causal attention: 48 times from none to all. */
START_TEST(places_in_a_row_are_all_looked_at)
{
    static const char causal[] =
        HEAD "  mov.u32 %r1, %ctaid.x; and.b32 %r2, %r1, 1023; mov.u32 %r3, 0;\n"
             "  mov.f32 %f1, 0f00000000; setp.eq.s32 %p1, %r2, 0; @%p1 bra $DONE;\n"
             "$LOOP: mul.wide.s32 %rd5, %r3, 4; add.s64 %rd6, %rd4, %rd5;\n"
             "  ld.global.f32 %f2, [%rd6]; fma.rn.f32 %f1, %f2, %f2, %f1;\n"
             "  add.s32 %r3, %r3, 1; setp.ne.s32 %p2, %r3, %r2; @%p2 bra $LOOP;\n"
             "$DONE: mul.wide.s32 %rd7, %r1, 4; add.s64 %rd8, %rd3, %rd7;\n"
             "  st.global.f32 [%rd8], %f1; ret;\n}\n";
    double turns = rows_work(causal, 48 * 1024).warp.fp32;
    ck_assert_double_ge(turns, 1024 * 0.3);
    ck_assert_double_le(turns, 1024 * 0.7);
}
END_TEST

#define ADD(at) "  ld.global.f32 %f1, [%rd4+" at "]; st.global.f32 [%rd3+" at "], %f1;\n"
#define ADD_CONSTANT(at)                                                                           \
    "  ld.global.nc.f32 %f1, [%rd4+" at "]; st.global.f32 [%rd3+" at "], %f1;\n"

/* The store may be to where the next load reads, unless the load says that nobody writes there. */
START_TEST(a_load_waits_for_the_store_before_it)
{
    static const char one[] = HEAD ADD("0") "ret;\n}\n";
    static const char three[] = HEAD ADD("0") ADD("4096") ADD("8192") "ret;\n}\n";
    static const char apart[] =
        HEAD ADD_CONSTANT("0") ADD_CONSTANT("4096") ADD_CONSTANT("8192") "ret;\n}\n";
    double alone = rows_work(one, 1).chain_cycles;
    ck_assert_double_gt(rows_work(three, 1).chain_cycles, 2.5 * alone);
    ck_assert_double_lt(rows_work(apart, 1).chain_cycles, 1.5 * alone);
}
END_TEST

Suite *test_vgpu_rows_suite(void)
{
    Suite *suite = suite_create("vgpu_rows");
    TCase *t = tcase_create("vgpu_rows");
    tcase_add_test(t, places_in_a_row_are_all_looked_at);
    tcase_add_test(t, a_load_waits_for_the_store_before_it);
    suite_add_tcase(suite, t);
    return suite;
}
