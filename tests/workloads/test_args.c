/* The trainers' settings: every way to set one, and every way to set it wrongly. */
#include "tests/unit/test.h"
#include "reference_workloads/common/args.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct config {
    int count, on, mode, flag;
    float rate;
};

static const struct setting rows[] = {
    {"count", SETTING_INT, offsetof(struct config, count), 1, 10, NULL, "a number"},
    {"pin-memory", SETTING_BOOL, offsetof(struct config, on), 0, 1, NULL, "a switch"},
    {"mode", SETTING_CHOICE, offsetof(struct config, mode), 0, 0, "fast|faster|best", "a choice"},
    {"no-marks", SETTING_FLAG, offsetof(struct config, flag), 0, 1, NULL, "a flag"},
    {"rate", SETTING_FLOAT, offsetof(struct config, rate), 0, 1, NULL, "a fraction"},
};

TEST(options_and_applied_text_set_the_same_fields)
{
    struct config s = {0};
    const struct settings k = {rows, 5, &s};
    char *argv[] = {"x", "--count", "3", "--pin-memory=1", "--mode", "best", "--no-marks", NULL};
    settings_parse(&k, 7, argv, "");
    ck_assert_int_eq(s.count, 3);
    ck_assert_int_eq(s.on, 1);
    ck_assert_int_eq(s.mode, 2);
    ck_assert_int_eq(s.flag, 1);
    settings_apply(&k, "pin_memory=false; rate=0.25,mode=fast;", "test");
    ck_assert_int_eq(s.on, 0);
    ck_assert_int_eq(s.mode, 0);
    ck_assert_float_eq(s.rate, 0.25f);
    settings_apply(&k, NULL, "test");
    ck_assert_int_eq(s.count, 3);
}

/* The table that gpuprof's own reader is held to. */
TEST(applied_text_is_read_as_gpuprof_reads_it)
{
    char line[256];
    int cases = 0;
    FILE *f = fopen(TEST_SOURCE_DIR "/tests/settings_cases.tsv", "r");
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f)) {
        char got[256] = "", *rest = line, *want = strchr(line, '\t'), *value;
        size_t n = 0;
        if (*line == '#')
            continue;
        *want++ = '\0';
        want[strcspn(want, "\n")] = '\0';
        for (char *name; (name = settings_next(&rest, &value));)
            n +=
                (size_t)snprintf(got + n, sizeof got - n, "%s%s%s%s%s", n ? "|" : "",
                                 value ? "" : "wrong ", name, value ? "=" : "", value ? value : "");
        ck_assert_str_eq(got, want);
        cases++;
    }
    fclose(f);
    ck_assert_int_gt(cases, 10);
}

TEST(values_print_as_they_are_written)
{
    struct config s = {.count = 4, .mode = 1, .rate = 0.5f};
    const struct settings k = {rows, 5, &s};
    char text[32];
    setting_text(&k, "mode", text, sizeof text);
    ck_assert_str_eq(text, "faster");
    setting_text(&k, "count", text, sizeof text);
    ck_assert_str_eq(text, "4");
    setting_text(&k, "rate", text, sizeof text);
    ck_assert_str_eq(text, "0.5");
}

static char *const wrong[] = {"count=0",  "count=11",   "count=2.5",    "count=",  "count=x",
                              "mode=fas", "mode=fastt", "pin_memory=2", "other=1", "count"};

TEST_EXIT(wrong_settings_end_with_status_2, 2, 0, sizeof wrong / sizeof *wrong)
{
    struct config s = {0};
    const struct settings k = {rows, 5, &s};
    settings_apply(&k, wrong[_i], "test");
}

TEST(defect_is_found_before_the_rest_is_parsed)
{
    char *argv[] = {"x", "--count", "3", "--defect", "name", NULL};
    char *joined[] = {"x", "--defect=other", NULL};
    ck_assert_str_eq(args_find(5, argv, "defect"), "name");
    ck_assert_str_eq(args_find(2, joined, "defect"), "other");
    ck_assert_ptr_null(args_find(3, argv, "defect"));
}
