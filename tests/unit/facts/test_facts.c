/* Totals, facts of the host, health and the verdict's sentences. */
#include "tests/unit/test.h"
#include "tests/unit/build_timeline.h"

static void step_with(struct builder *b, int i, const char *kernel, int64_t length)
{
    int64_t at = MS(10 * i);
    build_range(b, "step", at, at + MS(10));
    build_kernel(b, kernel, at + US(10), at + US(20), length);
}

TEST(kernels_are_summed_by_name_over_used_steps)
{
    struct builder b = build_start();
    for (int i = 0; i < 12; i++) {
        step_with(&b, i, "volta_sgemm_128x64_nn", MS(4) + US(i));
        build_kernel(&b, "nvjet_hsh_192x192_64x3_2x1_v_bz_coopB_NTN", MS(10 * i + 4),
                     MS(10 * i + 5), MS(1));
    }
    const struct totals *t = &build_analyze(&b)->facts->totals;
    int64_t used = (int64_t)b.a->facts->steps.used;
    ck_assert_int_eq(used, 11);
    ck_assert_uint_eq(t->kernel_count, 2);
    ck_assert_str_eq(tl_text(b.t, t->kernels[0].name), "volta_sgemm_128x64_nn");
    ck_assert_int_eq(t->kernels[0].count, used);
    ck_assert_int_eq(t->kernels[0].max_ns, MS(4) + US(11));
    ck_assert_int_eq(t->kernels[0].min_ns, MS(4) + US(1)); /* the first step does not count */
    ck_assert_int_eq(t->tensor_ns, used * MS(1));
    ck_assert_int_eq(t->matrix_ns, t->tensor_ns + t->fp32_matrix_ns);
    ck_assert_int_eq(t->family_ns[FAMILY_GEMM], t->kernel_ns);
    ck_assert_int_eq(t->launches, 2 * used);
}

/* PyTorch's templates have one short name for kernels of several kinds: the sums of a kind hold no
 * time of another. */
TEST(kernels_of_one_name_are_summed_by_kind)
{
#define LONG "_with_a_name_that_is_much_too_long_to_be_shown_whole_where_names_are_short"
#define OF(functor)                                                                                \
    "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<" functor LONG \
    ">>(int)"
    static const char *const kernels[] = {OF("at::native::direct_copy_kernel_cuda"),
                                          OF("at::native::CUDAFunctor_add")};
#undef OF
#undef LONG
    struct builder b = build_start();
    for (int i = 0; i < 12; i++) {
        step_with(&b, i, kernels[0], MS(2));
        build_kernel(&b, kernels[1], MS(10 * i + 3), MS(10 * i + 4), MS(3));
    }
    const struct totals *t = &build_analyze(&b)->facts->totals;
    ck_assert_uint_eq(t->kernel_count, 2);
    ck_assert_uint_eq(t->kernels[0].name, t->kernels[1].name);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(t->family_ns[t->kernels[i].class.family], t->kernels[i].total_ns);
}

TEST(copies_are_summed_by_kind_and_memory)
{
    struct builder b = build_start();
    for (int i = 0; i < 12; i++) {
        int64_t at = MS(10 * i);
        step_with(&b, i, "k", MS(4)); /* 0.02 .. 4.02 */
        build_copy(&b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 1000, at + US(30), US(5),
                   at + MS(3.02), MS(2)); /* half of it exposed */
        build_copy(&b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, false, 4, at + MS(6), US(40),
                   at + MS(6) + US(20), US(10));
    }
    const struct totals *t = &build_analyze(&b)->facts->totals;
    ck_assert_uint_eq(t->copy_count, 2);
    ck_assert_uint_eq(t->copies[0].kind, COPY_H2D);
    ck_assert_int_eq(t->copies[0].bytes, 11 * 1000);
    ck_assert_int_eq(t->copies[0].exposed_ns, 11 * MS(1));
    ck_assert_int_eq(t->copies[1].host_blocked_ns, 11 * US(40));
}

static void fill_loader(struct builder *b, int workers)
{
    for (int i = 0; i < 12; i++) {
        step_with(b, i, "k", MS(4));
        for (int w = 0; w < workers; w++) {
            b->thread = 10 + w;
            build_range(b, "data.decode", MS(10 * i), MS(10 * i) + MS(7));
            b->thread = 1;
        }
        build_range(b, "data.wait", MS(10 * i) + MS(5), MS(10 * i) + MS(6));
        if (workers == 0)
            build_range_at(b, "data.decode", 2, MS(10 * i) + MS(5), MS(10 * i) + MS(6));
    }
}

TEST(workers_are_counted_and_their_batches_timed)
{
    struct builder b = build_start();
    for (int w = 0; w < 3; w++)
        build_thread(&b, 10 + w, "loader");
    build_meta(&b, "usable_cores", "8");
    build_meta(&b, "cgroup_cpu_quota", "2.5");
    fill_loader(&b, 3);
    const struct host_facts *h = &build_analyze(&b)->facts->host;
    ck_assert_int_eq(h->usable_cores, 3);
    ck_assert_int_eq(h->loader_workers, 3);
    ck_assert(h->loader_parallel);
    ck_assert_int_eq(h->fetch_ns, MS(7));
    ck_assert_int_eq(h->fetch_cpu_ns, 0); /* not sampled: not known */
    ck_assert_int_eq(h->wait_ns, MS(1));
}

TEST(the_training_thread_may_make_batches_itself)
{
    struct builder b = build_start();
    fill_loader(&b, 0);
    const struct host_facts *h = &build_analyze(&b)->facts->host;
    ck_assert_int_eq(h->usable_cores, 0);
    ck_assert_int_eq(h->loader_workers, 0);
    ck_assert(!h->loader_parallel);
    ck_assert_int_eq(h->fetch_ns, MS(1));
}

TEST(sampled_cpu_time_says_what_a_batch_costs)
{
    struct builder b = build_start();
    build_thread(&b, 10, "loader");
    fill_loader(&b, 1);
    for (int i = 0; i <= 12; i++) { /* half of the 7 ms it takes to make one are CPU time */
        struct row_host_sample s = {
            .id = i + 1, .process = 1, .thread = 10, .time_ns = MS(10 * i), .cpu_ns = MS(3.5) * i};
        build_put(&b, ROW_HOST_SAMPLE, &s);
    }
    ck_assert_int_eq(build_analyze(&b)->facts->host.fetch_cpu_ns, MS(3.5));
}

TEST(losses_are_added_up)
{
    struct builder b = build_start();
    for (int i = 0; i < 3; i++)
        step_with(&b, i, "k", MS(4));
    build_health(&b, "cupti-dropped", "records dropped", 1, 40);
    build_health(&b, "ring-full", "events dropped", 1, 2);
    build_health(&b, "disk-full", "errno", 2, 28);        /* an error number, no count */
    build_health(&b, "buffer-starved", "requests", 1, 7); /* what they lost is in cupti-dropped */
    build_health(&b, "strings-full", "names", 1, 9);
    const struct health_facts *h = &build_analyze(&b)->facts->health;
    ck_assert_int_eq(h->dropped, 42);
    ck_assert_uint_eq(h->warnings, 5);
    ck_assert_double_eq(h->overhead_pct, -1);
}

/* Each step launches ten kernels; so many of them have no record. `source`: whose recording. */
TEST_EACH(launches_without_a_record_are_not_idle_time, 0, 5)
{
    static const struct {
        const char *source;
        int lost;
        bool captures;
        const char *says;
    } cases[] = {{"run", 5, false, "Not enough data: the GPU records of"},
                 {"run", 1, false, "launches in the steps are missing"},
                 {"run", 0, false, NULL},
                 {"run", 5, true, NULL},
                 {"nsys", 5, false, NULL}};
    struct builder b = build_start();
    build_meta(&b, "source", cases[_i].source);
    for (int i = 0; i < 12; i++) {
        int64_t at = MS(10 * i);
        build_range(&b, "step", at, at + MS(10));
        if (cases[_i].captures)
            build_api(&b, "cudaStreamBeginCapture", at, US(1));
        for (int k = 0; k < 10; k++) {
            int64_t correlation = build_api(&b, "cudaLaunchKernel", at + US(20 * k + 10), CALL_NS);
            if (k >= cases[_i].lost)
                build_kernel_of(&b, "k", correlation, at + MS(1) + US(500 * k), US(400), 64);
        }
    }
    const struct advice *a = build_analyze(&b);
    const char *text = cases[_i].lost > 2 ? a->verdict : a->why;
    bool says = strstr(text, cases[_i].says ? cases[_i].says : "missing") != NULL;
    ck_assert_msg(says == (cases[_i].says != NULL), "%d: %s %s", _i, a->verdict, a->why);
}

/* Of ten launches of each step so many return an error; the others have a kernel. */
TEST_EACH(launches_that_fail_are_not_lost, 0, 3)
{
    static const struct {
        int failed, error;
        const char *verdict, *why;
    } cases[] = {
        {10, 9, "Not enough data: 120 of 132 kernel launches failed (error 9, inv", "ask for"},
        {3, 12345, "Not enough data: 36 of 132 kernel launches failed (error 12345).", ""},
        {1, 701, "", " 12 of 132 kernel launches failed (error 701, too many"}};
    struct builder b = build_start();
    build_meta(&b, "source", "run");
    for (int i = 0; i < 12; i++) {
        int64_t at = MS(10 * i);
        build_range(&b, "step", at, at + MS(10));
        build_kernel(&b, "first", at + US(2), at + MS(0.5), US(100));
        for (int k = 0; k < 10; k++) {
            bool fails = k < cases[_i].failed;
            int64_t correlation = build_api_of(&b, "cudaLaunchKernel", at + US(20 * k + 10),
                                               CALL_NS, fails ? cases[_i].error : 0);
            if (!fails)
                build_kernel_of(&b, "k", correlation, at + MS(1) + US(500 * k), US(400), 64);
        }
    }
    const struct advice *a = build_analyze(&b);
    ck_assert_msg(strstr(a->verdict, cases[_i].verdict) != NULL, "%s", a->verdict);
    ck_assert_msg(strstr(a->why, cases[_i].why) != NULL, "%s", a->why);
    ck_assert_msg(!strstr(a->verdict, "missing") && !strstr(a->why, "missing"), "%s", a->why);
}

TEST(a_busy_gpu_is_the_verdict)
{
    struct builder b = build_start();
    for (int i = 0; i < 12; i++)
        step_with(&b, i, "volta_sgemm_128x64_nn", MS(9.9));
    const struct advice *a = build_analyze(&b);
    ck_assert_str_eq(a->verdict_class, "gpu");
    ck_assert_ptr_nonnull(strstr(a->verdict, "99 %"));
    ck_assert_ptr_nonnull(strstr(a->why, "compute 9.90 ms"));
    ck_assert_ptr_nonnull(a->next);
}

TEST(one_recording_without_steps_is_not_called_a_step)
{
    struct builder b = build_start();
    build_kernel(&b, "only", US(1), US(10), MS(5));
    const struct advice *a = build_analyze(&b);
    ck_assert_str_eq(a->verdict_class, "gpu");
    ck_assert_ptr_nonnull(strstr(a->verdict, "of the recorded window (5.00 ms, no step repeats)"));
    ck_assert_ptr_nonnull(strstr(a->why, "The window: compute"));
}

/* Without marks: the thread that runs backward launches twice as much as the loop's. */
TEST(the_loops_thread_takes_batches_and_updates_parameters)
{
    for (int i = 0; i < 2; i++) {
        struct builder b = build_start();
        build_thread(&b, 2, "backward");
        for (int step = 0; step < 8; step++) {
            int64_t at = MS(100) + MS(10) * step;
            if (i)
                build_range(&b, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                            at - MS(1), at);
            build_kernel(&b, "forward", at, at + US(10), MS(2));
            b.thread = 2;
            build_kernel(&b, "backward", at + MS(2), at + MS(2) + US(10), MS(2));
            build_kernel(&b, "backward_too", at + MS(4), at + MS(4) + US(10), MS(2));
            b.thread = 1;
            build_kernel(&b, "multi_tensor_apply_kernel", at + MS(6), at + MS(6) + US(10), US(50));
            b.thread = 2;
            build_kernel(&b, "more", at + MS(7), at + MS(7) + US(10), US(50));
            b.thread = 1;
        }
        const struct facts *f = build_analyze(&b)->facts;
        ck_assert_int_eq(f->tl->threads[f->steps.main_thread].row.id, i ? 1 : 2);
    }
}

TEST_EACH(an_absurd_cost_of_records_is_no_cost, 0, 5)
{
    static const char *const cost[] = {"1e999", "nan", "-5", "1e15", "100"};
    struct builder b = build_start();
    build_meta(&b, "cost.range_ns", cost[_i]);
    build_meta(&b, "cost.call_ns", "100");
    build_range(&b, "step", US(0), MS(5));
    build_kernel(&b, "only", US(1), US(10), MS(5));
    double pct = build_analyze(&b)->facts->health.overhead_pct;
    if (_i < 4)
        ck_assert_double_eq(pct, -1);
    else
        ck_assert_double_gt(pct, 0);
}

static void put_overhead(struct builder *b, const char *name, int64_t start, int64_t end)
{
    struct row_overhead o = {.id = ++b->next_id, .process = 1, .thread = b->thread};
    o.start_ns = start, o.end_ns = end, o.name = build_text(b, name);
    build_put(b, ROW_OVERHEAD, &o);
}

TEST(overhead_counts_once_and_within_the_recording)
{
    struct builder b = build_start();
    build_range(&b, "step", MS(100), MS(200));
    build_kernel(&b, "only", MS(101), MS(102), MS(5));
    put_overhead(&b, "CUPTI Buffer flush", MS(112), MS(114)); /* part of the next one */
    put_overhead(&b, "CUDA profiling data flush on context created", MS(110), MS(118));
    put_overhead(&b, "CUPTI Resource Management", MS(120), MS(122));
    put_overhead(&b, "CUDA profiling initialization", MS(130), MS(150));
    put_overhead(&b, "CUDA profiling data flush on process exit", MS(195), MS(300));
    build_thread(&b, 7, "flush");
    b.thread = 7; /* it calls nothing: CUPTI's own, or the agent's */
    put_overhead(&b, "CUPTI Buffer flush", MS(151), MS(190));
    ck_assert_double_eq_tol(build_analyze(&b)->facts->health.overhead_pct, 15, 0.01);
}
