/* Rules about what holds up the host: files, cores. Told by the clocks of its threads. */
#include "rule_case.h"

#include "wire/spool_format.h"

static const char gemm[] = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_tn";

struct share { /* of a thread's time; below 0: not recorded */
    double cpu, queue, io;
    int64_t read, storage; /* bytes per step */
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
                                    .major_faults = 0,
                                    .read_bytes = s.read < 0 ? -1 : s.read * i,
                                    .storage_bytes = s.storage < 0 ? -1 : s.storage * i};
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
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "storage-bound", storage);
    case_verdict(a, "starved-workers", starved);
    build_end(&b);
}

START_TEST(test_what_workers_wait_for)
{
    loader_case((struct share){0.1, 0.02, 0.8, 0, 0}, true, RULE_FIRES, RULE_SILENT);
    loader_case((struct share){0.95, 0.02, 0.0, 0, 0}, true, RULE_SILENT, RULE_SILENT);
    loader_case((struct share){0.35, 0.6, 0.0, 0, 0}, true, RULE_SILENT, RULE_FIRES);
    loader_case((struct share){0.9, -1, -1, 0, 0}, true, RULE_SILENT, RULE_CANNOT_TELL);
    loader_case((struct share){0, 0, 0, 0, 0}, false, RULE_CANNOT_TELL, RULE_CANNOT_TELL);
    case_cannot_tell(fill_waits, "kernels,api", "storage-bound");
    case_cannot_tell(fill_waits, "kernels,api", "starved-workers");
}
END_TEST

START_TEST(test_a_disk_is_named)
{
    struct builder b = start("8");
    case_loop(&b, fill_waits);
    clocks(&b, 2, (struct share){0.1, 0.02, 0.8, 0, 0});
    const struct advice *a = build_analyze(&b);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "storage-bound")->summary, "a disk"));
    ck_assert_int_le(llabs(case_outcome(a, "storage-bound")->saves_high_ns - MS(4)), US(50));
    build_end(&b);
}
END_TEST

/* What a worker waits for is told by what served its reads. */
START_TEST(test_disk_and_page_cache)
{
    static const struct {
        int64_t read, storage;
        const char *says;
    } cases[] = {
        {8000000, 8000000, "for storage, which serves"},
        {8000000, 2000000, "for storage, which serves"},
        {0, 4000000, "for storage, which serves"}, /* mapped: no read call */
        {8000000, 4096, "a network, FUSE files or a lock"},
        {0, 0, "a network or a lock (they read no files)"},
        {-1, -1, "no wait for a local disk was counted"},
    };
    struct builder b = start("8");
    case_loop(&b, fill_waits);
    clocks(&b, 2, (struct share){0.1, 0.02, -1, cases[_i].read, cases[_i].storage});
    const struct outcome *o = case_outcome(build_analyze(&b), "storage-bound");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert_msg(strstr(o->summary, cases[_i].says) != NULL, "%s", o->summary);
    bool counted = false;
    for (size_t i = 0; i < o->evidence_count; i++)
        counted |= strncmp(o->evidence[i].text, "read from storage", 17) == 0;
    ck_assert_int_eq(counted, cases[_i].storage >= 0);
    build_end(&b);
}
END_TEST

/* The workers of a framework are processes of their own, told by loader rows and not by ranges. */
static void fill_fetches(struct builder *b, int64_t at)
{
    struct row_loader l = {.id = ++b->next_id,
                           .process = 1,
                           .thread = 2,
                           .worker = 0,
                           .what = SPOOL_LOADER_FETCH,
                           .start_ns = at,
                           .end_ns = at + MS(10),
                           .cpu_ns = -1};
    build_range(b, "data.wait", at, at + MS(4));
    build_put(b, ROW_LOADER, &l);
    build_kernel(b, gemm, at + MS(4), at + MS(4) + US(10), US(5980));
}

START_TEST(test_workers_of_a_framework)
{
    struct builder b = start("2");
    case_loop(&b, fill_fetches);
    clocks(&b, 2,
           _i ? (struct share){0.3, 0.65, 0, 0, 0} : (struct share){0.1, 0.02, -1, 9000, 9000});
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "storage-bound", _i ? RULE_SILENT : RULE_FIRES);
    case_verdict(a, "starved-workers", _i ? RULE_FIRES : RULE_SILENT);
    build_end(&b);
}
END_TEST

START_TEST(test_no_input_wait)
{
    struct builder b = start("8");
    case_loop(&b, case_busy);
    clocks(&b, 1, (struct share){0.5, 0.001, 0, 0, 0});
    const struct advice *a = build_analyze(&b);
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
    clocks(&b, 1, (struct share){0.5, queue, 0, 0, 0});
    clocks(&b, 2, (struct share){busy, 0.2, 0, 0, 0});
    case_verdict(build_analyze(&b), "cpu-contention", v);
    build_end(&b);
}

START_TEST(test_cpu_contention)
{
    contention_case("1", 0.8, 0.2, RULE_FIRES);  /* wants 1.7 cores of 1 */
    contention_case("8", 0.8, 0.2, RULE_SILENT); /* somebody else's work */
    contention_case("2", 0.6, 0.9, RULE_SILENT); /* wants 2.2 of 2, but has 1.1: crowded out */
    contention_case("1", 0.8, 0.01, RULE_SILENT);
    contention_case("1", 0.8, -1, RULE_CANNOT_TELL);
}
END_TEST

/* The GPU waits 4 ms of 10 for the workers, and half a millisecond for the training thread. */
static void fill_waits_more(struct builder *b, int64_t at)
{
    build_range(b, "data.wait", at, at + MS(4));
    b->thread = 2;
    build_range_at(b, "data.decode", 0, at, at + MS(10));
    b->thread = 1;
    build_kernel(b, gemm, at + MS(4.5), at + MS(4.5) + US(10), US(5480));
}

START_TEST(test_workers_are_worse_off)
{
    struct builder b = start("1");
    case_loop(&b, fill_waits_more);
    clocks(&b, 1, (struct share){0.4, 0.1, 0, 0, 0});
    clocks(&b, 2, (struct share){0.45, 0.5, 0, 0, 0});
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "cpu-contention", RULE_SUPPRESSED);
    case_first(a, "starved-workers", MS(4)); /* all of the waiting */
    build_end(&b);
}
END_TEST

/* A container's CPU limit, used up in `throttled` of 200 periods. */
static void limit_case(const char *throttled, double queue, enum verdict v, const char *says)
{
    struct builder b = start("8");
    build_meta(&b, "cgroup_cpu_quota", "2.00");
    build_meta(&b, "cgroup_cpu_periods", "200");
    build_meta(&b, "cgroup_cpu_throttled_periods", throttled);
    case_loop(&b, fill_away);
    clocks(&b, 1, (struct share){0.5, queue, 0, 0, 0});
    clocks(&b, 2, (struct share){0.4, 0.1, 0, 0, 0});
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "cpu-contention", v);
    const struct outcome *o = case_outcome(a, "cpu-contention");
    ck_assert_msg(strstr(v == RULE_FIRES ? o->summary : o->why, says) != NULL, "%s / %s",
                  o->summary ? o->summary : "-", o->why ? o->why : "-");
    build_end(&b);
}

START_TEST(test_limit_of_the_container)
{
    limit_case("80", 0.2, RULE_FIRES, "limit of 2.00 cores was used up in 40 %");
    limit_case("1", 0.2, RULE_SILENT, "another program took it");
    limit_case("80", 0.001, RULE_SILENT, "had no core for");
}
END_TEST

/* ---- a busy machine ----------------------------------------------------------------------------
 */

/* 4 ms of 10 in which the host does not launch; the queue is dry. */
static void fill_absence(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at + MS(4), at + MS(4) + US(10), US(5980));
}

static int step_number;

/* The wait of one step in four costs 4 ms; a step later the host is ahead again. */
static void fill_rare_wait(struct builder *b, int64_t at)
{
    int64_t ready = step_number++ % 4 ? at + US(20) : at + MS(4);
    build_kernel(b, gemm, ready, ready + US(10), at + MS(10) - ready - US(30));
    build_sync(b, ready + US(10), at + MS(10) - ready - US(15));
}

/* 100 launches, one each 100 us, with the queue always dry. */
static void fill_slow_launches(struct builder *b, int64_t at)
{
    for (int i = 0; i < 100; i++)
        build_kernel(b, "vectorized_elementwise_kernel<4>", at + US(100 * i), at + US(100 * i + 8),
                     US(5));
}

/* Samples of the training thread, which stands in the run queue for this share of the time. */
static void starve(struct builder *b, double share)
{
    for (int i = 0; i < 4; i++) {
        struct row_host_sample r = {.id = ++b->next_id,
                                    .process = 1,
                                    .thread = 1,
                                    .time_ns = MS(100) + MS(40) * i,
                                    .cpu_ns = MS(10) * i,
                                    .run_queue_ns = (int64_t)(share * (double)MS(40)) * i};
        build_put(b, ROW_HOST_SAMPLE, &r);
    }
}

START_TEST(test_no_core_is_no_host_work)
{
    static const double shares[] = {0.01, 0.4};
    for (int i = 0; i < 2; i++) {
        struct builder b = build_start();
        case_loop(&b, fill_absence);
        starve(&b, shares[i]);
        const struct advice *a = build_analyze(&b);
        ck_assert_int_eq(a->facts->host.starved_ns, (int64_t)(shares[i] * (double)MS(10)));
        case_verdict(a, "host-work", i ? RULE_SUPPRESSED : RULE_FIRES);
        ck_assert(i == 0 || strstr(case_outcome(a, "host-work")->why, "core"));
        build_end(&b);
    }
}
END_TEST

START_TEST(test_no_core_is_not_launch_bound)
{
    static const double shares[] = {0.01, 0.6};
    for (int i = 0; i < 2; i++) {
        struct builder b = build_start();
        case_loop(&b, fill_slow_launches);
        starve(&b, shares[i]);
        const struct advice *a = build_analyze(&b);
        case_verdict(a, "cuda-graphs", i ? RULE_SUPPRESSED : RULE_FIRES);
        ck_assert(i == 0 || strstr(case_outcome(a, "cuda-graphs")->why, "core"));
        build_end(&b);
    }
}
END_TEST

START_TEST(test_no_core_is_no_synchronisation)
{
    static const double shares[] = {0.01, 0.4};
    for (int i = 0; i < 2; i++) {
        struct builder b = build_start();
        step_number = 0;
        case_loop(&b, fill_rare_wait);
        starve(&b, shares[i]);
        const struct advice *a = build_analyze(&b);
        case_verdict(a, "sync-in-loop", i ? RULE_SILENT : RULE_FIRES);
        build_end(&b);
    }
}
END_TEST

Suite *test_rules_cores_suite(void);
Suite *test_rules_cores_suite(void)
{
    Suite *s = suite_create("rules_cores");
    TCase *c = tcase_create("host");
    tcase_add_test(c, test_what_workers_wait_for);
    tcase_add_test(c, test_a_disk_is_named);
    tcase_add_loop_test(c, test_disk_and_page_cache, 0, 6);
    tcase_add_loop_test(c, test_workers_of_a_framework, 0, 2);
    tcase_add_test(c, test_limit_of_the_container);
    tcase_add_test(c, test_no_input_wait);
    tcase_add_test(c, test_cpu_contention);
    tcase_add_test(c, test_workers_are_worse_off);
    tcase_add_test(c, test_no_core_is_no_host_work);
    tcase_add_test(c, test_no_core_is_not_launch_bound);
    tcase_add_test(c, test_no_core_is_no_synchronisation);
    suite_add_tcase(s, c);
    return s;
}
