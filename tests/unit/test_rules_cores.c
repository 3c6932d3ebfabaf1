/* Rules about what holds up the host: files, cores. Told by the clocks of its threads. */
#include "rule_case.h"

static const char gemm[] = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_tn";

struct share { /* of a thread's time; below 0: not recorded */
    double cpu, queue, io;
};

static int64_t part(double share, int64_t ns)
{
    return share < 0 ? -1 : (int64_t)(share * (double)ns);
}

/* Samples of a thread over the whole loop. */
static void clocks(struct builder *b, int64_t thread, struct share s)
{
    for (int i = 0; i <= CASE_STEPS; i++) {
        int64_t ns = MS(10) * i;
        struct row_host_sample r = {.id = ++b->next_id,
                                    .process = 1,
                                    .thread = thread,
                                    .time_ns = MS(100) + ns,
                                    .cpu_ns = part(s.cpu, ns),
                                    .run_queue_ns = part(s.queue, ns),
                                    .io_wait_ns = part(s.io, ns),
                                    .major_faults = 0};
        build_put(b, ROW_HOST_SAMPLE, &r);
    }
}

static struct builder start(const char *cores)
{
    struct builder b = build_start();
    build_thread(&b, 2, "loader");
    build_meta(&b, "usable_cores", cores);
    return b;
}

/* A worker that makes a batch all the time; the GPU waits 4 ms of 10 for it. */
static void fill_waits(struct builder *b, int64_t at)
{
    build_range(b, "data.wait", at, at + MS(4));
    b->thread = 2;
    build_range_at(b, "data.decode", 0, at, at + MS(10));
    b->thread = 1;
    build_kernel(b, gemm, at + MS(4), at + MS(4) + US(10), US(5980));
}

static void loader_case(struct share s, bool samples, enum verdict storage, enum verdict starved)
{
    struct builder b = start("8");
    case_loop(&b, fill_waits);
    if (samples)
        clocks(&b, 2, s);
    const struct analysis *a = build_analyze(&b);
    case_verdict(a, "storage-bound", storage);
    case_verdict(a, "starved-workers", starved);
    build_end(&b);
}

START_TEST(test_what_workers_wait_for)
{
    loader_case((struct share){0.1, 0.02, 0.8}, true, RULE_FIRES, RULE_SILENT);
    loader_case((struct share){0.95, 0.02, 0.0}, true, RULE_SILENT, RULE_SILENT);
    loader_case((struct share){0.35, 0.6, 0.0}, true, RULE_SILENT, RULE_FIRES);
    loader_case((struct share){0.9, -1, -1}, true, RULE_SILENT, RULE_CANNOT_TELL);
    loader_case((struct share){0, 0, 0}, false, RULE_CANNOT_TELL, RULE_CANNOT_TELL);
    case_cannot_tell(fill_waits, "kernels,api", "storage-bound");
    case_cannot_tell(fill_waits, "kernels,api", "starved-workers");
}
END_TEST

START_TEST(test_a_disk_is_named)
{
    struct builder b = start("8");
    case_loop(&b, fill_waits);
    clocks(&b, 2, (struct share){0.1, 0.02, 0.8});
    const struct analysis *a = build_analyze(&b);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "storage-bound")->summary, "a disk"));
    ck_assert_int_le(llabs(case_outcome(a, "storage-bound")->saves_high_ns - MS(4)), US(50));
    build_end(&b);
}
END_TEST

START_TEST(test_no_input_wait)
{
    struct builder b = start("8");
    case_loop(&b, case_busy);
    clocks(&b, 1, (struct share){0.5, 0.001, 0});
    const struct analysis *a = build_analyze(&b);
    case_verdict(a, "storage-bound", RULE_SILENT);
    case_verdict(a, "starved-workers", RULE_SILENT);
    case_verdict(a, "cpu-contention", RULE_SILENT);
    build_end(&b);
}
END_TEST

/* ---- cpu-contention ---------------------------------------------------------------------------
 */

/* The host is away for 2 ms of every 10, without a call. */
static void fill_away(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at, at + US(10), MS(4));
    build_kernel(b, gemm, at + MS(6), at + MS(6) + US(10), US(3980));
}

static void contention_case(const char *cores, double busy, double queue, enum verdict v)
{
    struct builder b = start(cores);
    case_loop(&b, fill_away);
    clocks(&b, 1, (struct share){0.5, queue, 0});
    clocks(&b, 2, (struct share){busy, 0.2, 0});
    case_verdict(build_analyze(&b), "cpu-contention", v);
    build_end(&b);
}

START_TEST(test_cpu_contention)
{
    contention_case("1", 0.8, 0.2, RULE_FIRES);  /* wants 1.7 cores of 1 */
    contention_case("8", 0.8, 0.2, RULE_SILENT); /* somebody else's work */
    contention_case("1", 0.8, 0.01, RULE_SILENT);
    contention_case("1", 0.8, -1, RULE_CANNOT_TELL);
}
END_TEST

Suite *test_rules_cores_suite(void);
Suite *test_rules_cores_suite(void)
{
    Suite *s = suite_create("rules_cores");
    TCase *c = tcase_create("host");
    tcase_add_test(c, test_what_workers_wait_for);
    tcase_add_test(c, test_a_disk_is_named);
    tcase_add_test(c, test_no_input_wait);
    tcase_add_test(c, test_cpu_contention);
    suite_add_tcase(s, c);
    return s;
}
