/* Kernels modelled from their code: instructions on bits that decide what a warp does. */
#include "tests/unit/vgpu_code_work.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

Suite *test_vgpu_bits_suite(void);

/* Each makes %r5 of %r1, %r2 and %r3, or %rd5 of %rd1. Results by the PTX ISA. */
static const struct {
    const char *code;
    uint32_t a, b, c;
    uint64_t wide, is;
} cases[] = {
    {"brev.b32 %r5, %r1;", 1, 0, 0, 0, 0x80000000},
    {"brev.b32 %r5, %r1;", 0x12345678, 0, 0, 0, 0x1e6a2c48},
    {"brev.b64 %rd5, %rd1;", 0, 0, 0, 0x0000000100000006, 0x6000000080000000},
    {"bfind.u32 %r5, %r1;", 0x00012345, 0, 0, 0, 16},
    {"bfind.u32 %r5, %r1;", 0, 0, 0, 0, 0xffffffff},
    {"bfind.s32 %r5, %r1;", 0xfffffffb, 0, 0, 0, 2},
    {"bfind.shiftamt.u32 %r5, %r1;", 0x00012345, 0, 0, 0, 15},
    {"bfind.u64 %r5, %rd1;", 0, 0, 0, (uint64_t)1 << 40, 40},
    {"cnot.b32 %r5, %r1;", 0, 0, 0, 0, 1},
    {"cnot.b32 %r5, %r1;", 7, 0, 0, 0, 0},
    {"sad.u32 %r5, %r1, %r2, %r3;", 3, 10, 100, 0, 107},
    {"sad.s32 %r5, %r1, %r2, %r3;", 5, 0xfffffffe, 1, 0, 8},
    {"slct.b32.s32 %r5, %r1, %r2, %r3;", 4, 9, 0, 0, 4},
    {"slct.b32.s32 %r5, %r1, %r2, %r3;", 4, 9, 0x80000000, 0, 9},
    {"shf.l.wrap.b32 %r5, %r1, %r2, %r3;", 0x80000000, 1, 4, 0, 0x18},
    {"shf.r.wrap.b32 %r5, %r1, %r2, %r3;", 0x80000000, 1, 4, 0, 0x18000000},
    {"bmsk.clamp.b32 %r5, %r1, %r2;", 4, 3, 0, 0, 0x70},
    {"szext.clamp.s32 %r5, %r1, %r2;", 0xf, 4, 0, 0, 0xffffffff},
    {"szext.clamp.u32 %r5, %r1, %r2;", 0x1f, 4, 0, 0, 0xf},
    {"copysign.f32 %r5, %r1, %r2;", 0x80000000, 0x3f800000, 0, 0, 0xbf800000},
    {"dp4a.u32.u32 %r5, %r1, %r2, %r3;", 0x01020304, 0x01010101, 5, 0, 15},
    {"dp4a.s32.s32 %r5, %r1, %r2, %r3;", 0x000000ff, 0x00000002, 5, 0, 3},
    {"dp2a.lo.u32.u32 %r5, %r1, %r2, %r3;", 0x00020003, 0x04050607, 1, 0, 34},
    {"dp2a.hi.u32.u32 %r5, %r1, %r2, %r3;", 0x00020003, 0x04050607, 1, 0, 24},
};

/* The kernel adds a number if the result is the expected one. */
START_TEST(results_are_those_of_the_instruction_set)
{
    char ptx[2048];
    uint32_t a = cases[_i].a, b = cases[_i].b, c = cases[_i].c;
    uint64_t wide = cases[_i].wide, is = cases[_i].is;
    void *args[] = {&a, &b, &c, &wide, &is};
    bool long_one = cases[_i].code[0] == 'b' && strstr(cases[_i].code, "%rd5") != NULL;
    snprintf(ptx, sizeof ptx,
             ".version 8.0\n.target sm_80\n.address_size 64\n"
             ".visible .entry bits(.param .u32 bits_0, .param .u32 bits_1, .param .u32 bits_2,"
             " .param .u64 bits_3, .param .u64 bits_4)\n"
             "{ .reg .pred %%p<2>; .reg .f32 %%f<2>; .reg .b32 %%r<6>; .reg .b64 %%rd<6>;\n"
             "  ld.param.u32 %%r1, [bits_0]; ld.param.u32 %%r2, [bits_1];\n"
             "  ld.param.u32 %%r3, [bits_2]; ld.param.u64 %%rd1, [bits_3];\n"
             "  ld.param.u64 %%rd2, [bits_4]; mov.f32 %%f1, 0f00000000;\n  %s\n  %s"
             "  setp.ne.u64 %%p1, %%rd5, %%rd2; @%%p1 bra $DONE;\n"
             "  add.f32 %%f1, %%f1, %%f1;\n$DONE: ret;\n}\n",
             cases[_i].code, long_one ? "" : "cvt.u64.u32 %rd5, %r5;\n");
    ck_assert_msg(work_of(ptx, "bits", 1, 32, args).warp.fp32 > 0, "%s", cases[_i].code);
}
END_TEST

Suite *test_vgpu_bits_suite(void)
{
    Suite *s = suite_create("vgpu_bits");
    TCase *t = tcase_create("vgpu_bits");
    tcase_add_loop_test(t, results_are_those_of_the_instruction_set, 0,
                        (int)(sizeof cases / sizeof *cases));
    suite_add_tcase(s, t);
    return s;
}
