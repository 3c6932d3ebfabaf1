/* The bytes that machine code moves. The instruction words are those that ptxas writes for sm_90
 * and nvdisasm shows. */
#include "ptx/sass.h"

#include <check.h>
#include <stdint.h>

Suite *test_vgpu_sass_suite(void);

#define LOAD_128                                                                                   \
    {                                                                                              \
        0x0000000c0e088981, 0x0002a2000c0e1d00                                                     \
    } /* @!P0 LDG.E.EF.128 */
#define LOAD_16                                                                                    \
    {                                                                                              \
        0x000000061e0bb981, 0x000122000c2e1500                                                     \
    } /* @!P3 LDG.E.EL.U16 */
#define STORE_64                                                                                   \
    {                                                                                              \
        0x0000000c0e008986, 0x0002a2000c0e1b00                                                     \
    }
#define ADD_STEP                                                                                   \
    {                                                                                              \
        0x0000080004047810, 0x000fc80007f3e0ff                                                     \
    } /* IADD3 R4, P1, R4, 0x800, RZ */
#define COMPARE                                                                                    \
    {                                                                                              \
        0x0000bc510400780c, 0x000fe20003f26070                                                     \
    } /* ISETP.GE.U32.AND P1, PT, R4, 0xbc51 */
#define OTHER_ADD                                                                                  \
    {                                                                                              \
        0x0000080004057810, 0x000fc80007f3e0ff                                                     \
    } /* of another register */
#define MAKES                                                                                      \
    {                                                                                              \
        0x000000040c047c10, 0x000fc8000ff1e0ff                                                     \
    } /* IADD3 R4, P1, R12, UR4, RZ */
#define TENSOR                                                                                     \
    {                                                                                              \
        0x000000080404723c, 0x000fe20003f26070                                                     \
    } /* HMMA */
#define NOTHING                                                                                    \
    {                                                                                              \
        0x0000000000007918, 0x000fc00000000000                                                     \
    }
#define SELF_90                                                                                    \
    {                                                                                              \
        0xfffffffc00fc7947, 0x000fc0000383ffff                                                     \
    } /* BRA to itself: behind the end */
#define SELF_80                                                                                    \
    {                                                                                              \
        0xfffffff000007947, 0x000fc0000383ffff                                                     \
    }
#define BACK_4_90                                                                                  \
    {                                                                                              \
        0xfffffffc00f07947, 0x000fea000383ffff                                                     \
    }
#define BACK_4_80                                                                                  \
    {                                                                                              \
        0xffffffc000007947, 0x000fea000383ffff                                                     \
    }
#define BACK_5_80                                                                                  \
    {                                                                                              \
        0xffffffb000007947, 0x000fea000383ffff                                                     \
    }

typedef uint64_t instruction[2];

START_TEST(straight_code)
{
    static const instruction code[] = {LOAD_128, LOAD_16, NOTHING, STORE_64, SELF_90};
    ck_assert_double_eq(sass_bytes(code, sizeof code), 16 + 2 + 8);
    ck_assert_double_eq(sass_bytes(code + 2, sizeof *code), -1);
    ck_assert_double_eq(sass_bytes(code, 0), -1);
    ck_assert_double_eq(sass_bytes(code, 17), 16); /* what is cut off does not count */
}
END_TEST

/* 0xbc51 / 0x800: 23 steps and the last; both ways to write an address. */
START_TEST(loops_with_a_counter)
{
    static const instruction hopper[] = {STORE_64, LOAD_128, ADD_STEP, COMPARE, BACK_4_90, SELF_90};
    static const instruction ampere[] = {STORE_64, LOAD_128, ADD_STEP, COMPARE, BACK_4_80, SELF_80};
    ck_assert_double_eq(sass_bytes(hopper, sizeof hopper), 8 + 24 * 16);
    ck_assert_double_eq(sass_bytes(ampere, sizeof ampere), 8 + 24 * 16);
}
END_TEST

START_TEST(what_cannot_be_told)
{
    static const instruction before[] = {LOAD_128, BACK_4_80};
    static const instruction product[] = {LOAD_128, TENSOR, STORE_64, SELF_80};
    static const instruction beside[] = {LOAD_128, NOTHING, NOTHING, OTHER_ADD, COMPARE, BACK_4_80};
    ck_assert_double_eq(sass_bytes(before, sizeof before), 16); /* a branch out of the code */
    ck_assert_double_eq(sass_bytes(product, sizeof product), -1);
    ck_assert_double_eq(sass_bytes(beside, sizeof beside), 16); /* its load is outside the loop */
    static const instruction computed[] = {LOAD_128, MAKES, ADD_STEP, COMPARE, BACK_5_80};
    ck_assert_double_eq(sass_bytes(computed, sizeof computed), -1); /* anew in each turn */
    static const instruction unknown[] = {NOTHING, LOAD_128, OTHER_ADD, COMPARE, BACK_4_80};
    ck_assert_double_eq(sass_bytes(unknown, sizeof unknown), -1);
}
END_TEST

Suite *test_vgpu_sass_suite(void)
{
    Suite *s = suite_create("vgpu_sass");
    TCase *t = tcase_create("vgpu_sass");
    tcase_add_test(t, straight_code);
    tcase_add_test(t, loops_with_a_counter);
    tcase_add_test(t, what_cannot_be_told);
    suite_add_tcase(s, t);
    return s;
}
