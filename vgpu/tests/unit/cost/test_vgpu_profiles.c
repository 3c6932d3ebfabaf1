/* The readers of profiles and of kernels.ini, which must refuse invalid files, and the names of
 * kernels. */
#include "tests/unit/vgpu_profile.h"

#include <unistd.h>

Suite *test_vgpu_profiles_suite(void);

START_TEST(test_every_profile_reads)
{
    static const char *const models[] = {"t4",    "v100",    "a100-40", "a100-80", "a100-pcie",
                                         "h100",  "h200",    "l4",      "l40s",    "b200",
                                         "gb200", "rtx3090", "rtx4090", "rtx5090"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        struct vg_profile p = load(models[i]);
        ck_assert_msg(strncmp(p.name, "Virtual ", 8) == 0, "%s: %s", models[i], p.name);
        ck_assert_double_gt(p.memory_bytes_per_s, 1e11);
        int sources = p.from[VG_GUESS] + p.from[VG_TRACE] + p.from[VG_DATASHEET];
        ck_assert_int_gt(sources + p.from[VG_MEASURED], 50);
    }
    char why[512] = "";
    ck_assert_msg(vg_kernels_read(PROFILES "all/kernels.ini", why, sizeof why) == 0, "%s", why);
}
END_TEST

#define COMMON PROFILES "all/common.ini"
static char scratch[] = "/tmp/test_vgpu_cost.XXXXXX";

/* Copies `from` with the first line that starts with `drop` replaced by `line` ("" = left out). */
static void edit(const char *from, const char *drop, const char *line)
{
    char text[1024];
    FILE *in = fopen(from, "r"), *out = fopen(scratch, "w");
    bool done = false;
    ck_assert(in && out);
    while (fgets(text, sizeof text, in)) {
        bool hit = !done && strncmp(text, drop, strlen(drop)) == 0;
        fputs(hit ? line : text, out);
        done = done || hit;
    }
    ck_assert(done);
    fclose(in);
    fclose(out);
}

START_TEST(test_profile_faults)
{
    static const struct {
        const char *drop, *line, *says;
    } faults[] = {
        {"fp32 =", "", "fp32 is missing"},
        {"fp32 =", "fp33 = 1 TFLOP/s ; guess, x\n", "unknown key `fp33`"},
        {"fp32 =", "fp32 = much TFLOP/s ; guess, x\n", "not a number"},
        {"fp32 =", "fp32 = nan TFLOP/s ; guess, x\n", "not a number"},
        {"fp32 =", "fp32 = 19.5 GB/s ; guess, x\n", "unit `GB/s` does not fit"},
        {"fp32 =", "fp32 = 19.5 TFLOP/s ; rumour, x\n", "`rumour` is not one of"},
        {"fp32 =", "fp32 = 19.5 TFLOP/s ; guess\n", "has no source"},
        {"fp32 =", "fp32 = 19.5 TFLOP/s\n", "not `key = value unit"},
        {"fp32 =", "tf32 = 1 TFLOP/s ; guess, x\n", "is given twice"},
        {"sm_count =", "sm_count = 1.5 count ; guess, x\n", "not a whole number"},
    };
    int fd = mkstemp(scratch);
    ck_assert_int_ge(fd, 0);
    close(fd);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct vg_profile p;
        char why[512] = "";
        edit(PROFILES "a100-40.ini", faults[i].drop, faults[i].line);
        ck_assert_int_eq(vg_profile_read(COMMON, scratch, &p, why, sizeof why), -1);
        ck_assert_msg(strstr(why, faults[i].says) != NULL, "%s", why);
        ck_assert_ptr_null(strchr(why, '\n'));
    }
    struct vg_profile p;
    char why[512] = "";
    edit(COMMON, "module_link =", "");
    ck_assert_int_eq(vg_profile_read(scratch, PROFILES "a100-40.ini", &p, why, sizeof why), -1);
    ck_assert_ptr_nonnull(strstr(why, "module_link is missing"));
    unlink(scratch);
    ck_assert_int_eq(vg_profile_read(COMMON, scratch, &p, why, sizeof why), -1);
    ck_assert_ptr_nonnull(strstr(why, "No such file"));
}
END_TEST

/* A card's own number comes before the one that holds for all. */
START_TEST(test_a_card_says_otherwise)
{
    struct vg_profile a100 = load("a100-80"), h200 = load("h200");
    ck_assert_double_eq_tol(a100.launch_host_ns, 4000, 1e-6);
    ck_assert_double_eq_tol(h200.launch_host_ns, 3100, 1e-6);
    ck_assert_double_eq_tol(a100.module_link_ns, 2e6, 1e-6);
}
END_TEST

START_TEST(test_user_kernels)
{
    struct vg_profile p = load("a100-80");
    char why[512] = "";
    const unsigned grid[3] = {100000, 1, 1}, more[3] = {200000, 1, 1}, block[3] = {256, 1, 1};
    FILE *out;
    int fd = mkstemp(scratch);
    ck_assert_int_ge(fd, 0);
    out = fdopen(fd, "w");
    fputs("*heavy* = 64 B 1 F pointwise ; guess, test\n* = 16 B 1 F pointwise ; guess, test\n",
          out);
    fclose(out);
    ck_assert_msg(vg_kernels_read(scratch, why, sizeof why) == 0, "%s", why);
    int64_t light = vg_cost_user_kernel(&p, "_Z5otherPf", grid, block);
    int64_t heavy = vg_cost_user_kernel(&p, "_Z5heavyPf", grid, block);
    ck_assert_int_gt(heavy, light * 3);
    ck_assert_int_gt(vg_cost_user_kernel(&p, "_Z5otherPf", more, block), light * 18 / 10);
    out = fopen(scratch, "w");
    fputs("*heavy* = 64 B 1 F pointwise ; guess, test\n", out);
    fclose(out);
    ck_assert_int_eq(vg_kernels_read(scratch, why, sizeof why), -1);
    ck_assert_ptr_nonnull(strstr(why, "the default"));
    unlink(scratch);
}
END_TEST

START_TEST(test_names)
{
    struct vg_profile v100 = load("v100"), a100 = load("a100-80"), h200 = load("h200");
    struct vg_conv c = {.n = 32,
                        .c = 64,
                        .h = 56,
                        .w = 56,
                        .k = 64,
                        .r = 3,
                        .s = 3,
                        .p = 56,
                        .q = 56,
                        .stride = 1,
                        .pad = 1,
                        .dilation = 1,
                        .groups = 1};
    ck_assert_ptr_nonnull(strstr(vg_name_conv(&v100, &c, VG_FWD, false), "volta_scudnn"));
    ck_assert_ptr_nonnull(strstr(vg_name_conv(&a100, &c, VG_FWD, false), "ampere_scudnn"));
    c.type = VG_BF16;
    c.layout = VG_NHWC;
    ck_assert_ptr_nonnull(strstr(vg_name_conv(&a100, &c, VG_FWD, false), "sm80_xmma_fprop"));
    ck_assert_ptr_nonnull(strstr(vg_name_conv(&h200, &c, VG_FWD, false), "sm90_xmma_fprop"));
    ck_assert_ptr_nonnull(strstr(vg_name_conv(&h200, &c, VG_WGRAD, false), "sm80_xmma_wgrad"));
    ck_assert_str_ne(vg_name_conv(&h200, &c, VG_FWD, false), vg_name_conv(&h200, &c, VG_FWD, true));
    unsigned m, n;
    vg_name_tile("sm80_xmma_fprop_implicit_gemm_x_tilesize128x64x32_stage5", &m, &n);
    ck_assert_uint_eq(m, 128);
    ck_assert_uint_eq(n, 64);
    struct vg_product g = {VG_BF16, true, false, 4096, 4096, 4096, 1, 8};
    ck_assert_ptr_nonnull(strstr(vg_name_gemm(&h200, &g, 0), "nvjet_sm90_tst_"));
    ck_assert_ptr_nonnull(strstr(vg_name_gemm(&a100, &g, 0), "ampere_bf16_s16816gemm_bf16_"));
    g.type = VG_F32;
    ck_assert_str_eq(vg_name_gemm(&v100, &g, 0), "volta_sgemm_128x128_tn");
    g.type = VG_F16;
    g.align = 1;
    ck_assert_ptr_nonnull(strstr(vg_name_gemm(&h200, &g, 0), "_align1"));
    ck_assert_int_eq(vg_alignment((void *)0x1000, 5185, 2), 1);
    ck_assert_int_eq(vg_alignment((void *)0x1000, 4096, 2), 8);
}
END_TEST

Suite *test_vgpu_profiles_suite(void)
{
    Suite *suite = suite_create("vgpu_profiles");
    TCase *t = tcase_create("vgpu_profiles");
    tcase_add_test(t, test_every_profile_reads);
    tcase_add_test(t, test_profile_faults);
    tcase_add_test(t, test_a_card_says_otherwise);
    tcase_add_test(t, test_user_kernels);
    tcase_add_test(t, test_names);
    suite_add_tcase(suite, t);
    return suite;
}
