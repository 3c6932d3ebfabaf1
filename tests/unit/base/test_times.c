/* Times written in words (base/size.h). */
#include "tests/unit/test.h"
#include "base/arena.h"
#include "base/size.h"

static const struct {
    int64_t ns;
    const char *time, *length;
} times[] = {{0, "0.00 ms", "0 ns"},
             {400, "0.4 us", "400 ns"},
             {9500, "9.5 us", "9.50 us"},
             {9994, "10.0 us", "9.99 us"},
             {70000, "0.070 ms", "70.0 us"},
             {796000, "0.796 ms", "796 us"},
             {999600, "1.00 ms", "1.00 ms"},
             {12340000, "12.3 ms", "12.3 ms"},
             {-12340000, "-12.3 ms", "-12.3 ms"},
             {INT64_C(1250000000), "1250 ms", "1.25 s"},
             {INT64_C(9999600000), "10.0 s", "10.0 s"},
             {INT64_C(123400000000), "123 s", "123 s"}};

TEST_EACH(times_in_words, 0, sizeof times / sizeof *times)
{
    char text[32];
    ck_assert_str_eq(time_words(text, sizeof text, times[_i].ns), times[_i].time);
    ck_assert_str_eq(length_words(text, sizeof text, times[_i].ns), times[_i].length);
    struct arena a = {0};
    ck_assert_str_eq(time_text(&a, times[_i].ns), times[_i].time);
    arena_release(&a);
}
