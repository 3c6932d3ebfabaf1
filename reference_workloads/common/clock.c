/* See clock.h. */
#include "reference_workloads/common/clock.h"

#include <stdlib.h>
#include <time.h>

int64_t clock_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void clock_spin_us(int us)
{
    if (us <= 0)
        return;
    int64_t end = clock_now_ns() + (int64_t)us * 1000;
    while (clock_now_ns() < end)
        ;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t median_ns(int64_t *values, size_t n)
{
    if (n == 0)
        return 0;
    qsort(values, n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

int64_t pace_ns(const int64_t *values, size_t n)
{
    enum { ROW = 4 };
    int64_t *mean = n < ROW ? NULL : malloc(n * sizeof *mean), pace;
    if (!mean)
        return 0;
    for (size_t i = 0; i + ROW <= n; i++)
        mean[i] = (values[i] + values[i + 1] + values[i + 2] + values[i + 3]) / ROW;
    pace = median_ns(mean, n - ROW + 1);
    free(mean);
    return pace;
}
