/* Cases of the rule storage-bound: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/rules/cores.h"
#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"

static void loader_case(struct share s, bool samples, enum verdict storage, enum verdict starved)
{
    struct builder b = start("8");
    case_loop(&b, fill_waits);
    if (samples)
        clocks(&b, 2, s);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "storage-bound", storage);
    case_verdict(a, "starved-workers", starved);
}

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
    build_kernel(b, case_gemm, at + MS(4), at + MS(4) + US(10), US(5980));
}

TEST(test_what_workers_wait_for)
{
    loader_case((struct share){0.1, 0.02, 0.8, 0, 0}, true, RULE_FIRES, RULE_SILENT);
    loader_case((struct share){0.95, 0.02, 0.0, 0, 0}, true, RULE_SILENT, RULE_SILENT);
    loader_case((struct share){0.35, 0.6, 0.0, 0, 0}, true, RULE_SILENT, RULE_FIRES);
    loader_case((struct share){0.9, -1, -1, 0, 0}, true, RULE_SILENT, RULE_CANNOT_TELL);
    loader_case((struct share){0, 0, 0, 0, 0}, false, RULE_CANNOT_TELL, RULE_CANNOT_TELL);
    case_cannot_tell(fill_waits, "kernels,api", "storage-bound");
}

TEST(test_a_disk_is_named)
{
    struct builder b = start("8");
    case_loop(&b, fill_waits);
    clocks(&b, 2, (struct share){0.1, 0.02, 0.8, 0, 0});
    const struct advice *a = build_analyze(&b);
    case_measures(case_outcome(a, "storage-bound"), "waiting for a local disk", 80, 0.5);
    ck_assert_int_le(llabs(case_outcome(a, "storage-bound")->saves_high_ns - MS(4)), US(50));
}

/* What a worker waits for is told by what served its reads. */
TEST_EACH(test_disk_and_page_cache, 0, 6)
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
        counted |= strncmp(o->evidence[i].text, "bytes that they read from storage", 33) == 0;
    ck_assert_int_eq(counted, cases[_i].storage >= 0);
}

TEST_EACH(test_workers_of_a_framework, 0, 2)
{
    struct builder b = start("2");
    case_loop(&b, fill_fetches);
    clocks(&b, 2,
           _i ? (struct share){0.3, 0.65, 0, 0, 0} : (struct share){0.1, 0.02, -1, 9000, 9000});
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "storage-bound", _i ? RULE_SILENT : RULE_FIRES);
    case_verdict(a, "starved-workers", _i ? RULE_FIRES : RULE_SILENT);
}

TEST(test_no_input_wait)
{
    struct builder b = start("8");
    case_loop(&b, case_busy);
    clocks(&b, 1, (struct share){0.5, 0.001, 0, 0, 0});
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "storage-bound", RULE_SILENT);
    case_verdict(a, "starved-workers", RULE_SILENT);
    case_verdict(a, "cpu-contention", RULE_SILENT);
}
