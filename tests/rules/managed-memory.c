/* Cases of the rule managed-memory: when it fires, when it is silent or suppressed, and when it
 * cannot tell. No trainer plants it: gpuprof does not record what the rule needs. */
#include "tests/unit/rule_case.h"

/* Pages that move because somebody touched them: no call launched it. */
static void migrations(struct builder *b, int64_t kind, int64_t at, int n)
{
    for (int i = 0; i < n; i++) {
        struct row_copy r = {.id = ++b->next_id,
                             .process = 1,
                             .stream = b->stream,
                             .start_ns = at + US(30) * i,
                             .end_ns = at + US(30) * i + US(20),
                             .kind = kind,
                             .src_kind = MEMORY_MANAGED,
                             .dst_kind = MEMORY_MANAGED,
                             .bytes = 65536,
                             .is_async = -1,
                             .peer_device = -1};
        build_put(b, ROW_COPY, &r);
    }
}

static int pages;

static void fill_touched(struct builder *b, int64_t at)
{
    build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 4096, at, US(5), at + US(10),
               US(3));
    build_kernel(b, "update_particles", at + US(20), at + US(50), MS(8));
    migrations(b, COPY_H2D, at + US(100), pages);
    migrations(b, COPY_D2H, at + MS(8.2), pages / 4);
}

TEST(test_touched)
{
    pages = 100;
    const struct advice *a = case_advice(fill_touched);
    const struct outcome *o = case_verdict(a, "managed-memory", RULE_FIRES);
    /* 20 us each and 50 for the fault; some lie on a border between steps. */
    ck_assert_int_ge(o->saves_high_ns, US(125 * 67));
    ck_assert_int_le(o->saves_high_ns, US(125 * 72));
    ck_assert_double_eq_tol(o->evidence[0].value, 125, 5);
    ck_assert_double_eq_tol(o->evidence[1].value, 6.5536, 0.2);
    case_does(o, ACTION_PREFETCH_MANAGED);
}

/* A prefetch moves pages before the kernel runs; a fault costs no more than the kernel. */
static void fill_prefetched(struct builder *b, int64_t at)
{
    build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 4096, at, US(5), at + US(10),
               US(3));
    migrations(b, COPY_H2D, at + US(20), 50);
    build_kernel(b, "update_particles", at + US(30), at + MS(2), MS(6));
    migrations(b, COPY_H2D, at + MS(3), pages);
}

TEST(test_prefetched)
{
    struct builder b = build_start();
    pages = 0;
    case_loop(&b, fill_prefetched);
    case_verdict(build_analyze(&b), "managed-memory", RULE_SILENT);
    b = build_start();
    pages = 150;
    case_loop(&b, fill_prefetched);
    const struct outcome *o = case_verdict(build_analyze(&b), "managed-memory", RULE_FIRES);
    ck_assert_double_eq_tol(o->evidence[0].value, 150, 1);
    ck_assert_int_le(o->saves_high_ns, MS(6.1));
}

TEST(test_little)
{
    struct builder b = build_start();
    pages = 1;
    case_loop(&b, fill_touched);
    case_verdict(build_analyze(&b), "managed-memory", RULE_SILENT);
    b = build_start();
    pages = 0;
    case_loop(&b, fill_touched);
    case_verdict(build_analyze(&b), "managed-memory", RULE_SILENT);
    pages = 100;
    case_cannot_tell(fill_touched, "kernels,api,ranges", "managed-memory");
}

/* What allocates managed memory may move it, and not every profiler records that. */
TEST(test_unseen)
{
    struct builder b = build_start();
    build_api(&b, "cudaMallocManaged_v6000", MS(1), US(100));
    pages = 0;
    case_loop(&b, fill_touched);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "managed-memory", RULE_CANNOT_TELL);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "managed-memory")->why, "`nsys profile` records"));
    b = build_start(); /* Nsight made it: then an option is missing */
    build_meta(&b, "source", "nsys");
    build_api(&b, "cudaMallocManaged_v6000", MS(1), US(100));
    case_loop(&b, fill_touched);
    a = build_analyze(&b);
    case_verdict(a, "managed-memory", RULE_CANNOT_TELL);
    ck_assert_ptr_nonnull(
        strstr(case_outcome(a, "managed-memory")->why, "--cuda-um-gpu-page-faults=true"));
}
