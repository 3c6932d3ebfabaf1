/* The median by selection equals that of the sorted values, for any order. */
#include "tests/unit/test.h"
#include "analyzer/measure/median.h"

#include <string.h>

enum { MOST = 300 };

static int64_t by_sorting(const int64_t *v, size_t n)
{
    int64_t w[MOST];
    memcpy(w, v, n * sizeof *v);
    sort_ns(w, n);
    return n % 2 ? w[n / 2] : w[n / 2 - 1] + (w[n / 2] - w[n / 2 - 1]) / 2;
}

static void fill(int64_t *v, size_t n, int order, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        int64_t any = (int64_t)(*seed >> 40);
        v[i] = order == 0   ? (int64_t)i                       /* rising */
               : order == 1 ? -(int64_t)i                      /* falling */
               : order == 2 ? any % 3                          /* mostly equal */
               : order == 3 ? (int64_t)(i < n / 2 ? i : n - i) /* a hill */
                            : any - (1 << 23);
    }
}

TEST(the_median_is_that_of_the_sorted_values)
{
    int64_t v[MOST];
    uint64_t seed = 7;
    for (size_t n = 1; n <= MOST; n++)
        for (int order = 0; order < 5; order++) {
            fill(v, n, order, &seed);
            int64_t want = by_sorting(v, n);
            ck_assert_int_eq(median_ns(v, n), want);
        }
    ck_assert_int_eq(median_ns(NULL, 0), 0);
}

TEST(selecting_loses_no_value)
{
    int64_t v[MOST], before[MOST];
    uint64_t seed = 11;
    for (int order = 0; order < 5; order++) {
        fill(v, MOST, order, &seed);
        memcpy(before, v, sizeof v);
        median_ns(v, MOST);
        sort_ns(v, MOST);
        sort_ns(before, MOST);
        ck_assert_mem_eq(v, before, sizeof v);
    }
}
