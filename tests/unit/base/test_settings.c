/* Settings as text: what the reader makes of them. The table of cases is also run against the other
 * readers of settings. */
#include "tests/unit/test.h"
#include "base/settings.h"

#include <stdio.h>
#include <string.h>

/* Calls `check` for each row of the table. */
static int each_case(void (*check)(const char *text, const char *want))
{
    char line[256];
    int n = 0;
    FILE *f = fopen(TEST_SOURCE_DIR "/tests/settings_cases.tsv", "r");
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f)) {
        char *tab = strchr(line, '\t');
        if (*line == '#')
            continue;
        ck_assert_ptr_nonnull(tab);
        *tab++ = '\0';
        tab[strcspn(tab, "\n")] = '\0';
        check(line, tab);
        n++;
    }
    fclose(f);
    return n;
}

static void read_one(const char *text, const char *want)
{
    char got[256] = "";
    size_t n = 0;
    struct setting_text s;
    for (const char *p = text; settings_next(&p, &s);)
        n += (size_t)snprintf(got + n, sizeof got - n, "%s%s%.*s%s%.*s", n ? "|" : "",
                              s.valid ? "" : "wrong ", (int)s.name_size, s.name, s.valid ? "=" : "",
                              (int)s.value_size, s.value);
    ck_assert_str_eq(got, want);
}

TEST(each_text_is_read_as_the_table_says)
{
    ck_assert_int_gt(each_case(read_one), 10);
}

TEST(a_setting_is_found_by_its_name)
{
    struct setting_text s;
    ck_assert(settings_find("num=1; num_workers = 4", "num_workers", 11, &s));
    ck_assert(s.value_size == 1 && *s.value == '4');
    ck_assert(!settings_find("num_workers=4", "num", 3, &s));
    ck_assert(!settings_find("", "num", 3, &s));
}

TEST(one_text_holds_another)
{
    ck_assert(settings_hold("a=1;b=2;c=3", "c=3,a=1"));
    ck_assert(settings_hold("a=1", ""));
    ck_assert(!settings_hold("a=1;b=2", "a=2"));
    ck_assert(!settings_hold("a=1;b=2", "a=1;d=2"));
    ck_assert(!settings_hold("a=1", "a=11"));
}

TEST(a_copy_has_one_separator_and_no_blanks)
{
    char out[8];
    ck_assert(settings_copy(out, sizeof out, " a=1, ;b = 2", ';'));
    ck_assert_str_eq(out, "a=1;b=2"); /* fits to the byte */
    ck_assert(settings_copy(out, sizeof out, "a=1;b=", ','));
    ck_assert_str_eq(out, "a=1,b=");
    ck_assert(!settings_copy(out, sizeof out, "a=1;b=22", ';'));
    ck_assert_str_eq(out, "");
    ck_assert(settings_copy(out, sizeof out, "", ';'));
    ck_assert_str_eq(out, "");
}
