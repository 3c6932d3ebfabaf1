/* OpenMetrics: labels of a profile that an untrusted program wrote. */

#include "tests/unit/test.h"
#include "tests/unit/exported.h"

/* A job that is longer than the labels may be: cut between two characters, and the rank stays. */
TEST_EACH(test_long_job, 0, 8)
{
    struct builder b = build_start_on(NULL, 9, 0);
    char job[2048];
    size_t n = (size_t)snprintf(job, sizeof job, "%.*s", _i, "aaaaaaaa");
    for (int i = 0; i < 300; i++, n += 4)
        memcpy(job + n, "\xf0\x9f\x98\x80", 5);
    build_meta(&b, "command", "python train.py");
    build_meta(&b, "have", "kernels,api,ranges,ranks");
    build_meta(&b, "job", job);
    for (int i = 0; i < 4; i++) {
        build_range(&b, "step", MS(10) * i + MS(1), MS(10) * i + MS(11) - US(5));
        build_kernel(&b, "gemm", MS(10) * i + MS(2), MS(10) * i + MS(3), MS(2));
    }
    struct advice *a = build_analyze(&b);
    b.t->processes[0].rank = 7;
    char *out = exported("openmetrics", a);
    static const char last[] = "\x80\",rank=\"7\"";
    const char *line = strstr(out, "\ngpuprof_running{program=\"train.py\",job=\"");
    const char *end = line ? strstr(line, "} 0\n") : NULL;
    ck_assert_ptr_nonnull(end);
    ck_assert_int_lt(end - line, 512 + 32);
    ck_assert_int_eq(strncmp(end - strlen(last), last, strlen(last)), 0);
    free(out);
}
