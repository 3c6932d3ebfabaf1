/* The arithmetic of calls and operators, beside figures that others published; and the table of
 * peaks. */
#include "analyzer/measure/arithmetic.h"
#include "analyzer/measure/peaks.h"
#include "tests/unit/test.h"
#include "wire/call_types.h"

#include <math.h>

static void near(double is, double should)
{
    ck_assert_msg(fabs(is - should) <= 1e-9 * should, "%.12g in place of %.12g", is, should);
}

TEST(calls)
{
    /* the first convolution of ResNet-50: 118 million multiplications for a picture */
    struct row_call c = {.family = SPOOL_CALL_CONV_FWD,
                         .dim = {1, 3, 224, 224, 64, 7, 7, 2, 3, 1, 1}};
    near(arithmetic_of_call(&c), 2 * 118013952.0);
    c.family = SPOOL_CALL_CONV_WGRAD;
    near(arithmetic_of_call(&c), 2 * 118013952.0);
    c = (struct row_call){.family = SPOOL_CALL_CONV_FWD,
                          .dim = {8, 32, 14, 14, 64, 3, 3, 1, 1, 1, 4}};
    near(arithmetic_of_call(&c), 2.0 * 8 * 64 * 14 * 14 * 8 * 3 * 3);
    c = (struct row_call){.family = SPOOL_CALL_GEMM, .dim = {512, 256, 1024, 0}};
    near(arithmetic_of_call(&c), 2.0 * 512 * 256 * 1024);
    c.dim[3] = 12;
    near(arithmetic_of_call(&c), 24.0 * 512 * 256 * 1024);
    c.dim[1] = 0;
    ck_assert(arithmetic_of_call(&c) == 0);
    c = (struct row_call){.family = SPOOL_CALL_NORM, .dim = {8, 64, 56, 56}};
    ck_assert(arithmetic_of_call(&c) == 0);
}

static double of(const char *name, const char *shapes, double out)
{
    return arithmetic_of_operator(arithmetic_operator_of(name), shapes, out);
}

TEST(operators)
{
    near(of("aten::mm", "4096 x 768 BFloat16, 768 x 3072 BFloat16", 0), 2.0 * 4096 * 768 * 3072);
    near(of("aten::addmm", "3072 float, 4096 x 768 float, 768 x 3072 float", 0),
         2.0 * 4096 * 768 * 3072);
    near(of("aten::bmm", "12 x 64 x 32 Half, 12 x 32 x 16 Half", 0), 2.0 * 12 * 64 * 32 * 16);
    ck_assert(of("aten::mm", "4096 x 768 float, 512 x 3072 float", 0) == 0);
    near(of("aten::bmm", "7 x 96 x 768, [3 x 5], 7 x 768 x 57", 0), 2.0 * 7 * 96 * 768 * 57);
    ck_assert(of("aten::mm", "4096 x 768 float", 0) == 0);
    ck_assert(of("aten::mm", "[3 x", 0) == 0);
    ck_assert(of("aten::mm", "", 0) == 0);
    ck_assert(of("aten::mm", "2 x 2 x 2 x 2 x 2 x 2 float, 2 x 2 float", 0) == 0);
    ck_assert(of("aten::relu", "4096 x 768 float", 0) == 0);
    /* 4 x length x length x width for each of 16 x 12 heads */
    near(of("aten::_scaled_dot_product_flash_attention",
            "16 x 12 x 1024 x 64 Half, 16 x 12 x 512 x 64 Half, 16 x 12 x 512 x 64 Half", 0),
         4.0 * 16 * 12 * 1024 * 512 * 64);
    near(of("flash_attn::_flash_attn_forward",
            "16 x 1024 x 12 x 64 Half, 16 x 512 x 12 x 64 Half, 16 x 512 x 12 x 64 Half", 0),
         4.0 * 16 * 12 * 1024 * 512 * 64);
    near(of("aten::_scaled_dot_product_efficient_attention_backward",
            "16 x 12 x 1024 x 64 Half, 16 x 12 x 1024 x 64 Half, 16 x 12 x 512 x 64 Half", 0),
         10.0 * 16 * 12 * 1024 * 512 * 64);
    ck_assert_int_eq(arithmetic_operator_dtype("4096 x 768 BFloat16, 3 float"), SPOOL_DT_BF16);
    ck_assert_int_eq(arithmetic_operator_dtype("4096 x 768, 3 float"), SPOOL_DT_UNKNOWN);
    ck_assert_int_eq(arithmetic_operator_dtype(""), SPOOL_DT_UNKNOWN);
}

/* The forward pass does not say how large its output is; its backward pass does. */
TEST(convolutions_of_operators)
{
    const char *there = "32 x 3 x 224 x 224 float, 64 x 3 x 7 x 7 float, 64 float",
               *back = "32 x 64 x 112 x 112 float, 32 x 3 x 224 x 224 float, 64 x 3 x 7 x 7 float";
    uint64_t a = 0, b = 1;
    double out = 0, none = 1;
    ck_assert(arithmetic_conv_output(OPERATOR_CONV, there, &none, &a));
    ck_assert(arithmetic_conv_output(OPERATOR_CONV_BACKWARD, back, &out, &b));
    ck_assert_uint_eq(a, b);
    ck_assert(none == 0 && out == 32.0 * 64 * 112 * 112);
    near(of("aten::cudnn_convolution", there, out), 32 * 2 * 118013952.0);
    near(of("aten::convolution_backward", back, 0), 2 * 32 * 2 * 118013952.0);
    ck_assert(of("aten::cudnn_convolution", there, 0) == 0);
    ck_assert(!arithmetic_conv_output(OPERATOR_CONV_BACKWARD, "64 float", &out, &b));
    /* its lists tell the size: padding 3, stride 2 */
    near(of("aten::cudnn_convolution",
            "32 x 3 x 224 x 224 float, 64 x 3 x 7 x 7 float, [3, 3], [2, 2], [1, 1]", 0),
         32 * 2 * 118013952.0);
    near(of("aten::miopen_convolution",
            "512 x 4 x 8256 Half, 64 x 4 x 5 Half, 64 Half, [0], [1], [2]", 0),
         2.0 * 512 * 64 * 8248 * 4 * 5);
    ck_assert(of("aten::cudnn_convolution", "32 x 3 x 9 x 9, 64 x 3 x 7 x 7, [3, 3], [2, 2]", 0) ==
              0);
    ck_assert(of("aten::cudnn_convolution", "32 x 3 x 9 x 9, 64 x 3 x 7 x 7, [3], [2], [1]", 0) ==
              0);
    ck_assert(of("aten::cudnn_convolution", "3 x 9, 4 x 3, [3, [2, [1", 0) == 0);
    ck_assert(of("aten::cudnn_convolution", "8 x 3 x 9, 4 x 3 x 7, [9223372036854775807], [1], [1]",
                 0) == 0);
}

TEST(peaks)
{
    static const struct {
        const char *name, *is;
    } devices[] = {{"NVIDIA A100-SXM4-80GB", "A100"},
                   {"Tesla T4", "T4"},
                   {"Virtual NVIDIA H100 80GB HBM3", "H100"},
                   {"NVIDIA H100 PCIe", "H100 PCIe"},
                   {"Tesla V100-PCIE-16GB", "V100-PCIE"},
                   {"Tesla V100-SXM2-32GB", "V100"},
                   {"NVIDIA L40S", "L40S"},
                   {"NVIDIA L4", "L4"},
                   {"NVIDIA A10", "A10"},
                   {"NVIDIA GH200 480GB", "GH200"},
                   {"AMD Instinct MI300X", "MI300X"},
                   {"NVIDIA GeForce RTX 4090", "RTX 4090"},
                   {"NVIDIA T400", NULL},
                   {"NVIDIA A10G", NULL},
                   {"NVIDIA H2000", NULL},
                   {"", NULL}};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        const struct peak *p = peak_of(devices[i].name);
        ck_assert_msg(!p == !devices[i].is, "%s", devices[i].name);
        if (p)
            ck_assert_str_eq(p->device, devices[i].is);
    }
    ck_assert(peak_of(NULL) == NULL);
    ck_assert(peak_of("NVIDIA A100-SXM4-40GB")->tflops[PEAK_16_BITS] == 312);
}
