/* Runs without a GPU: which work belongs to loading, and which only lies inside it. */
#include "tests/rules/feed.h"

static struct builder start(void)
{
    struct builder b = build_start();
    build_meta(&b, "usable_cores", "4");
    build_meta(&b, "torch.version", "2.9.0");
    return b;
}

static void part(const struct advice *a, enum part p, double ms)
{
    ck_assert_msg(llabs(a->facts->breakdown_ns[p] - MS(ms)) <= 5, "%s is %lld, not %g ms",
                  part_key[p], (long long)a->facts->breakdown_ns[p], ms);
}

/* A loop over the loader begins in each step, for 4 ms of it. */
static struct builder loops(const char *settings)
{
    struct builder b = start();
    build_meta(&b, "torch.loader.1", settings);
    for (int i = 0; i < CASE_STEPS; i++) {
        double at = 100 + 10 * i;
        build_range_at(&b, "gpuprof.step", 0, MS(at), MS(at + 10));
        span_of(&b, SPOOL_LOADER_BEGIN, 1, -1, 1, at, 4, -1);
        span_of(&b, SPOOL_LOADER_WAIT, 1, -1, 1, at + 4, 1, -1);
        build_range(&b, "backward", MS(at + 7), MS(at + 9));
    }
    return b;
}

TEST(workers_start_where_there_are_any)
{
    struct builder b = loops("DataLoader(num_workers=2, batch_size=8)");
    const struct advice *a = build_analyze(&b);
    part(a, PART_WORKERS, 4);
    part(a, PART_DATA, 1);
    b = loops("DataLoader(num_workers=0, batch_size=8)");
    a = build_analyze(&b);
    part(a, PART_WORKERS, 0);
    part(a, PART_DATA, 5);
    ck_assert_ptr_null(strstr(a->verdict, "workers"));
}

/* An agent plays and learns inside the dataset that makes the next batch of its games. */
TEST(a_backward_pass_is_no_loading)
{
    static const int kinds[] = {SPOOL_LOADER_WAIT, SPOOL_LOADER_BEGIN};
    for (size_t k = 0; k < 2; k++) {
        struct builder b = start();
        for (int i = 0; i < CASE_STEPS; i++) {
            double at = 100 + 10 * i;
            build_range_at(&b, "gpuprof.step", 0, MS(at), MS(at + 10));
            span_of(&b, kinds[k], 1, -1, 1, at, 9, -1);
            build_range(&b, "backward", MS(at + 3), MS(at + 7));
        }
        const struct advice *a = build_analyze(&b);
        part(a, PART_BACKWARD, 4);
        part(a, PART_WORKERS, 0);
        part(a, PART_DATA, 0);
    }
}

/* No optimizer of PyTorch's steps. Validation asks for batches, but no backward pass follows those.
 */
TEST(batches_with_a_backward_pass)
{
    struct builder b = start();
    double at = 100;
    for (int i = 1; i <= 24; i++, at += 10) {
        span_of(&b, SPOOL_LOADER_WAIT, 1, -1, 1, at, 1, -1);
        build_range(&b, "backward", MS(at + 5), MS(at + 8));
        for (int v = 0; i % 8 == 0 && v < 4; v++, at += 5)
            span_of(&b, v == 3 ? SPOOL_LOADER_END : SPOOL_LOADER_WAIT, 1, -1, 2, at + 10, 1, -1);
    }
    const struct steps *s = &build_analyze(&b)->facts->steps;
    ck_assert_uint_eq(s->count, 24);
    ck_assert_int_eq(s->median_ns, MS(10));
    ck_assert_int_eq(s->at[7].end_ns - s->at[7].start_ns, MS(30));
    ck_assert(s->batches && strstr(s->source_text, "backward"));
}

/* A helper of PyTorch spins for 0.7 of the time in which the training thread mostly waits. */
TEST(a_helper_that_spins_leaves_its_core)
{
    for (int helper = 0; helper < 2; helper++) {
        struct program p = usual;
        p.cpu_ms = 1;
        p.cores = "2";
        p.trains = 0.3;
        p.idle_cores = 0.5; /* another program has the rest */
        struct builder b = feed_loop(&p);
        build_thread(&b, 5, "helper");
        samples(&b, 1, 5, 500, 0.7, 0.01);
        build_meta(&b, "torch.num_threads", helper ? "2" : "1");
        case_verdict(build_analyze(&b), "data-loading", helper ? RULE_FIRES : RULE_SUPPRESSED);
    }
}
