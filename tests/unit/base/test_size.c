/* Sizes as users write them: 500M, 4G. */
#include "tests/unit/test.h"
#include <string.h>

#include "base/size.h"

static const struct {
    const char *text;
    int64_t bytes; /* -1: refused */
} sizes[] = {
    {"500M", 500LL << 20},
    {"4G", 4LL << 30},
    {"4GiB", 4LL << 30},
    {"64mb", 64LL << 20},
    {"1.5g", 3LL << 29},
    {"67108864", 64LL << 20},
    {"2T", 2LL << 40},
    {"0", 0},
    {"100K", 102400},
    {"1", 1},
    {"-1G", -1},
    {"", -1},
    {"G", -1},
    {"4X", -1},
    {"4G4", -1},
    {"nan", -1},
    {"1e30", -1},
};

TEST_EACH(test_sizes, 0, sizeof sizes / sizeof *sizes)
{
    struct err e = ERR_INIT;
    int64_t bytes = -2;
    int rc = size_parse(sizes[_i].text, &bytes, &e);
    ck_assert_msg(rc == (sizes[_i].bytes < 0 ? -1 : 0), "%s: %d", sizes[_i].text, rc);
    if (rc == 0)
        ck_assert_int_eq(bytes, sizes[_i].bytes);
    else
        ck_assert_msg(e.text[0] && !strchr(e.text, '\n'), "%s", sizes[_i].text);
}
