/* How batches reach the loop: which loader is meant, how many workers it wants, what starting them
 * costs; and pauses of Python's garbage collector. */
#include "rule_case.h"

#include "wire/spool_format.h"

enum { STEPS = 40 };

struct program { /* each step: the wait for a batch, then the rest */
    double wait_ms, rest_ms, fetch_ms, cpu_ms;
    int workers;                       /* 0: the training thread makes the batches */
    int loop;                          /* steps in one loop over the loader; 0: all in one */
    double begin_ms, first_ms, end_ms; /* of each loop: starting, its first wait, stopping */
    double cpu, line;                  /* of a worker's time: computing; in line for a core */
    double trains;                     /* cores on which the training thread computes */
    double idle_cores;                 /* -1: not recorded */
    const char *cores;
    int loader; /* its number */
};

static const struct program usual = {.wait_ms = 8,
                                     .rest_ms = 2,
                                     .fetch_ms = 8,
                                     .cpu_ms = 8,
                                     .cpu = -1,
                                     .trains = -1,
                                     .idle_cores = -1,
                                     .cores = "4",
                                     .loader = 1};

static void span_of(struct builder *b, int what, int64_t thread, int worker, int loader, double at,
                    double length, double cpu)
{
    struct row_loader r = {.id = ++b->next_id,
                           .process = 1,
                           .thread = thread,
                           .start_ns = MS(at),
                           .end_ns = MS(at + length),
                           .what = what,
                           .worker = worker,
                           .batch = loader,
                           .cpu_ns = cpu < 0 ? -1 : MS(cpu)};
    build_put(b, ROW_LOADER, &r);
}

static void samples(struct builder *b, int64_t process, int64_t thread, double end, double cpu,
                    double line)
{
    for (double at = 100; at <= end; at += 100) {
        struct row_host_sample r = {.id = ++b->next_id,
                                    .process = process,
                                    .thread = thread,
                                    .time_ns = MS(at),
                                    .cpu_ns = MS((at - 100) * cpu) + 1,
                                    .run_queue_ns = MS((at - 100) * line),
                                    .io_wait_ns = -1,
                                    .major_faults = -1,
                                    .storage_bytes = -1,
                                    .read_bytes = -1};
        build_put(b, ROW_HOST_SAMPLE, &r);
    }
}

/* Another process with a thread: workers are processes of their own. */
static void worker_process(struct builder *b)
{
    struct row_process p = {
        .id = 2, .pid = 43, .rank = -1, .local_rank = -1, .world_size = -1, .sealed = 1};
    p.end_ns = MS(10000);
    build_put(b, ROW_PROCESS, &p);
    struct row_thread t = {.id = 9, .process = 2, .tid = 900, .name = build_text(b, "worker")};
    build_put(b, ROW_THREAD, &t);
}

static void one_step(struct builder *b, const struct program *p, int i, double *at)
{
    double begin = *at, wait = p->wait_ms;
    bool makes = p->workers == 0;
    if (p->loop && i % p->loop == 0) {
        span_of(b, SPOOL_LOADER_BEGIN, 1, -1, p->loader, *at, p->begin_ms, -1);
        *at += p->begin_ms;
        wait = p->first_ms > 0 ? p->first_ms : wait;
    }
    span_of(b, SPOOL_LOADER_FETCH, makes ? 1 : 9, makes ? -1 : i % p->workers, p->loader, *at,
            p->fetch_ms, p->cpu_ms);
    span_of(b, SPOOL_LOADER_WAIT, 1, -1, p->loader, *at, wait, -1);
    *at += wait + p->rest_ms;
    if (p->loop && i % p->loop == p->loop - 1) {
        span_of(b, SPOOL_LOADER_END, 1, -1, p->loader, *at - 0.001, p->end_ms, -1);
        *at += p->end_ms;
    }
    build_range_at(b, "gpuprof.step", 0, MS(begin), MS(*at));
}

static struct builder loop(const struct program *p)
{
    struct builder b = build_start();
    worker_process(&b);
    build_meta(&b, "usable_cores", p->cores);
    if (p->idle_cores >= 0) {
        char text[32];
        snprintf(text, sizeof text, "%.2f", p->idle_cores);
        build_meta(&b, "idle_cores", text);
    }
    double at = 100;
    for (int i = 0; i < STEPS; i++)
        one_step(&b, p, i, &at);
    if (p->trains >= 0)
        samples(&b, 1, 1, at, p->trains, 0.01);
    if (p->cpu >= 0)
        samples(&b, 2, 9, at, p->cpu, p->line);
    return b;
}

static const struct outcome *data_loading(struct builder *b, enum verdict v)
{
    const struct advice *a = b->a ? b->a : build_analyze(b);
    case_verdict(a, "data-loading", v);
    return case_outcome(a, "data-loading");
}

START_TEST(a_cheap_batch_wants_no_worker)
{
    struct program p = usual;
    p.wait_ms = p.fetch_ms = p.cpu_ms = 0.07;
    p.rest_ms = 0.28;
    struct builder b = loop(&p);
    ck_assert_ptr_nonnull(strstr(data_loading(&b, RULE_SUPPRESSED)->why, "to hand one over"));
    build_end(&b);
    p.workers = 2; /* it has some */
    p.wait_ms = 1.8;
    b = loop(&p);
    ck_assert_str_eq(data_loading(&b, RULE_FIRES)->knob, "num_workers=0");
    build_end(&b);
}
END_TEST

START_TEST(workers_in_line_want_to_be_fewer)
{
    struct program p = usual; /* nine, each with a core for a ninth of the time */
    p.workers = 9;
    p.cores = "2";
    p.wait_ms = 10;
    p.rest_ms = 6;
    p.fetch_ms = 90;
    p.cpu_ms = 8;
    p.cpu = 0.1;
    p.line = 0.8;
    p.trains = 0.4;
    struct builder b = loop(&p);
    const struct outcome *o = case_outcome(build_analyze(&b), "data-loading");
    ck_assert(!o->knob || strcmp(o->knob, "num_workers=1;persistent_workers=1") == 0 ||
              strcmp(o->knob, "num_workers=0") == 0);
    ck_assert(o->verdict == RULE_SUPPRESSED || o->knob);
    build_end(&b);
    p.cores = "32"; /* asleep for most of the time: more are of use */
    p.cpu = 0.1;
    p.line = 0.01;
    b = loop(&p);
    o = data_loading(&b, RULE_FIRES);
    ck_assert_int_gt(atoi(o->knob + strlen("num_workers=")), 9);
    build_end(&b);
}
END_TEST

START_TEST(cores_of_the_program_itself)
{
    struct program p = usual;
    p.trains = 1;
    struct builder b = loop(&p);
    struct row_meta own = {.id = ++b.next_id, .process = 1, .key = build_text(&b, "process_cores")};
    own.value = build_text(&b, "1"); /* taskset, inside the command */
    build_put(&b, ROW_META, &own);
    const struct outcome *o = data_loading(&b, RULE_SUPPRESSED);
    ck_assert_int_eq(b.a->facts->host.usable_cores, 1);
    ck_assert_ptr_nonnull(strstr(o->why, "leaves none for a worker"));
    build_end(&b);
    p.cores = "2";
    p.idle_cores = 0.05; /* another program has the other one */
    b = loop(&p);
    data_loading(&b, RULE_SUPPRESSED);
    build_end(&b);
    p.idle_cores = 1;
    b = loop(&p);
    data_loading(&b, RULE_FIRES);
    build_end(&b);
}
END_TEST

START_TEST(a_training_that_wants_all_cores)
{
    struct program p = usual;
    p.cores = "2";
    p.rest_ms = 20;
    p.trains = 1.9;
    struct builder b = loop(&p);
    data_loading(&b, RULE_SUPPRESSED);
    build_end(&b);
    p.trains = 1;
    b = loop(&p);
    ck_assert_str_eq(data_loading(&b, RULE_FIRES)->knob, "num_workers=1;persistent_workers=1");
    build_end(&b);
}
END_TEST

START_TEST(an_iterable_dataset_is_divided_first)
{
    for (int shards = 0; shards < 2; shards++) {
        struct builder b = loop(&usual);
        build_meta(&b, "torch.loader.1", "DataLoader(num_workers=0)");
        build_meta(&b, "torch.loader.1.iterable", shards ? "shards" : "does not shard");
        const struct outcome *o = data_loading(&b, RULE_FIRES);
        ck_assert_ptr_null(o->knob);
        ck_assert_ptr_nonnull(strstr(o->remedy.pytorch, "get_worker_info()"));
        ck_assert(shards || strstr(o->remedy.pytorch, "info.num_workers == info.id"));
        build_end(&b);
    }
}
END_TEST

/* One line iterates both; the second one is waited for. */
START_TEST(the_loader_that_is_waited_for)
{
    struct program p = usual;
    p.loader = 2;
    struct builder b = loop(&p);
    span_of(&b, SPOOL_LOADER_WAIT, 1, -1, 1, 150.001, 0.5, -1);
    build_meta(&b, "torch.loader", "DataLoader(num_workers=7)");
    build_meta(&b, "torch.loader.made", "val.py:1");
    build_meta(&b, "torch.loader.1", "DataLoader(num_workers=7)");
    build_meta(&b, "torch.loader.1.made", "val.py:1");
    build_meta(&b, "torch.loader.2", "Own(num_workers=0)");
    build_meta(&b, "torch.loader.2.made", "train.py:1");
    build_meta(&b, "torch.loader.2.where", "run.py:5");
    build_meta(&b, "torch.loader.2.dataset", "Slow.__getitem__ slow.py:9");
    const struct outcome *o = data_loading(&b, RULE_FIRES);
    ck_assert_ptr_eq(strstr(o->remedy.pytorch, "train.py:1: "), o->remedy.pytorch);
    ck_assert_ptr_nonnull(strstr(o->remedy.pytorch, "; now Own(num_workers=0)"));
    ck_assert_ptr_nonnull(strstr(o->summary, "run.py:5"));
    ck_assert_ptr_nonnull(strstr(o->summary, "Slow.__getitem__ slow.py:9"));
    ck_assert_str_eq(o->knob, "num_workers=3;persistent_workers=1;loader=train.py:1");
    build_end(&b);
}
END_TEST

/* On a GPU as well: num-workers names the loader that is waited for, and divides first. */
START_TEST(beside_a_gpu)
{
    for (int iterable = 0; iterable < 2; iterable++) {
        struct builder b = build_start();
        build_meta(&b, "usable_cores", "4");
        build_meta(&b, "torch.loader.made", "val.py:1");
        build_meta(&b, "torch.loader", "DataLoader(num_workers=7)");
        build_meta(&b, "torch.loader.2", "DataLoader(num_workers=0)");
        build_meta(&b, "torch.loader.2.made", "train.py:1");
        if (iterable)
            build_meta(&b, "torch.loader.2.iterable", "does not shard");
        for (int i = 0; i < CASE_STEPS; i++) {
            double at = 100 + 10 * i;
            build_range_at(&b, "gpuprof.step", 0, MS(at), MS(at + 10));
            build_range_at(&b, "data.wait", 1, MS(at), MS(at + 6));
            span_of(&b, SPOOL_LOADER_FETCH, 1, -1, 2, at, 5.9, 5.9);
            span_of(&b, SPOOL_LOADER_WAIT, 1, -1, 2, at, 6, -1);
            build_kernel(&b, "gemm", MS(at + 6.01), MS(at + 6.02), MS(3));
        }
        const struct advice *a = build_analyze(&b);
        case_verdict(a, "num-workers", RULE_FIRES);
        const struct outcome *o = case_outcome(a, "num-workers");
        ck_assert_ptr_eq(strstr(o->remedy.pytorch, "train.py:1: "), o->remedy.pytorch);
        ck_assert(iterable ? !o->knob : o->knob != NULL);
        ck_assert_int_eq(strstr(o->remedy.pytorch, "get_worker_info()") != NULL, iterable);
        build_end(&b);
    }
}
END_TEST

START_TEST(the_function_that_collates)
{
    struct builder b = loop(&usual);
    for (int i = 0; i < STEPS; i++)
        span_of(&b, SPOOL_LOADER_COLLATE, 1, -1, 1, 101 + 10 * i, 6, -1);
    build_meta(&b, "torch.loader.1.collate", "join train.py:3");
    const struct outcome *o = data_loading(&b, RULE_FIRES);
    ck_assert_ptr_nonnull(strstr(o->summary, "75 % of a batch is collating in join train.py:3"));
    build_end(&b);
}
END_TEST

/* A thread of the program reads ahead; the training thread sleeps until it is handed a batch. */
START_TEST(behind_a_thread_that_reads_ahead)
{
    for (int behind = 0; behind < 2; behind++) {
        struct builder b = build_start();
        build_thread(&b, 2, "reader");
        build_meta(&b, "usable_cores", "4");
        for (int i = 0; i < STEPS; i++) {
            double at = 100 + 10 * i;
            span_of(&b, SPOOL_LOADER_FETCH, 2, -1, 1, at, behind ? 9.8 : 2, 1);
            span_of(&b, SPOOL_LOADER_WAIT, 2, -1, 1, at, behind ? 9.9 : 2, -1);
            build_range_at(&b, "gpuprof.step", 0, MS(at), MS(at + 10));
        }
        samples(&b, 1, 1, 500, 0.4, 0);
        const struct outcome *o = data_loading(&b, behind ? RULE_FIRES : RULE_SILENT);
        ck_assert(!behind || strstr(o->summary, "6.0 ms of 10.0 ms"));
        ck_assert(!behind || strstr(o->summary, "of a thread that reads ahead"));
        build_end(&b);
    }
}
END_TEST

/* Bursts: nine steps of ten wait for nothing, the tenth for ten batches. */
START_TEST(means_where_batches_come_in_bursts)
{
    struct builder b = build_start();
    build_meta(&b, "usable_cores", "4");
    double at = 100;
    for (int i = 0; i < 60; i++) {
        double wait = i % 10 == 9 ? 40 : 0.01;
        span_of(&b, SPOOL_LOADER_FETCH, 1, -1, 1, at, wait, wait);
        span_of(&b, SPOOL_LOADER_WAIT, 1, -1, 1, at, wait, -1);
        build_range_at(&b, "gpuprof.step", 0, MS(at), MS(at + wait + 4));
        at += wait + 4;
    }
    const struct outcome *o = data_loading(&b, RULE_FIRES);
    ck_assert_ptr_nonnull(strstr(o->summary, "waits 4.1 ms of 8.1 ms per step"));
    ck_assert_int_lt(b.a->facts->steps.median_ns, MS(4.1));
    ck_assert_int_eq(b.a->facts->step_ns, b.a->facts->steps.pace_ns);
    ck_assert_int_le(o->saves_high_ns, MS(4.4)); /* half of the mean step */
    build_end(&b);
}
END_TEST

START_TEST(workers_started_in_each_loop)
{
    struct program p = usual;
    p.workers = 2;
    p.wait_ms = 0.5;
    p.rest_ms = 9;
    p.loop = 8;
    p.begin_ms = 40;
    p.first_ms = 60;
    p.end_ms = 10;
    struct builder b = loop(&p);
    build_meta(&b, "torch.loader.1", "DataLoader(num_workers=2, persistent_workers=False)");
    build_meta(&b, "torch.loader.1.start", "spawn");
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "worker-startup", RULE_FIRES);
    const struct outcome *o = case_outcome(a, "worker-startup");
    ck_assert_str_eq(o->knob, "persistent_workers=1");
    ck_assert_ptr_nonnull(strstr(o->remedy.pytorch, "\"fork\""));
    double share = (double)o->saves_mid_ns / (double)a->facts->step_ns; /* 102 of 173 ms a loop */
    ck_assert(share > 0.4 && share < 0.62 && !o->upper_bound);
    case_verdict(a, "data-loading", RULE_SUPPRESSED);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "data-loading")->why, "worker-startup"));
    build_end(&b);

    b = loop(&p);
    build_meta(&b, "torch.loader.1", "DataLoader(num_workers=2, persistent_workers=True)");
    case_verdict(build_analyze(&b), "worker-startup", RULE_SILENT);
    build_end(&b);

    b = loop(&p);
    build_meta(&b, "torch.loader.1", "DataLoader(num_workers=2, persistent_workers=False)");
    build_meta(&b, "torch.loader.1.anew", "made anew for each loop");
    o = case_outcome(build_analyze(&b), "worker-startup");
    ck_assert(o->verdict == RULE_FIRES && !o->knob && strstr(o->remedy.pytorch, "once"));
    build_end(&b);

    b = build_start();
    build_meta(&b, "have", "kernels,api");
    case_loop(&b, case_busy);
    case_verdict(build_analyze(&b), "worker-startup", RULE_CANNOT_TELL);
    build_end(&b);
}
END_TEST

static struct builder collected(double pause_ms, bool torch)
{
    struct builder b = build_start();
    if (torch)
        build_meta(&b, "torch.version", "2.9.0");
    for (int i = 0; i < CASE_STEPS; i++) {
        build_range_at(&b, "gpuprof.step", 0, MS(100 + 10 * i), MS(110 + 10 * i));
        build_range_at(&b, "gc", 1, MS(101 + 10 * i), MS(101 + 10 * i + pause_ms));
    }
    return b;
}

START_TEST(pauses_of_the_collector)
{
    struct builder b = collected(6, true);
    build_meta(&b, "torch.gc.where", "train.py:8");
    const struct outcome *o = case_first(build_analyze(&b), "gc-pauses", MS(6));
    ck_assert_str_eq(o->knob, "gc=freeze");
    ck_assert_ptr_nonnull(strstr(o->summary, "train.py:8"));
    build_end(&b);
    b = collected(6, true);
    build_meta(&b, "torch.gc.asked", "train.py:8");
    o = case_first(build_analyze(&b), "gc-pauses", MS(6));
    ck_assert_ptr_nonnull(strstr(o->remedy.pytorch, "calls gc.collect() itself"));
    build_end(&b);
    b = collected(0.1, true);
    case_verdict(build_analyze(&b), "gc-pauses", RULE_SILENT);
    build_end(&b);
    b = collected(6, false);
    case_verdict(build_analyze(&b), "gc-pauses", RULE_CANNOT_TELL);
    build_end(&b);
}
END_TEST

Suite *test_rules_feed_suite(void);
Suite *test_rules_feed_suite(void)
{
    Suite *s = suite_create("rules_feed");
    TCase *c = tcase_create("feed");
    tcase_add_test(c, a_cheap_batch_wants_no_worker);
    tcase_add_test(c, workers_in_line_want_to_be_fewer);
    tcase_add_test(c, cores_of_the_program_itself);
    tcase_add_test(c, a_training_that_wants_all_cores);
    tcase_add_test(c, an_iterable_dataset_is_divided_first);
    tcase_add_test(c, the_loader_that_is_waited_for);
    tcase_add_test(c, beside_a_gpu);
    tcase_add_test(c, the_function_that_collates);
    tcase_add_test(c, behind_a_thread_that_reads_ahead);
    tcase_add_test(c, means_where_batches_come_in_bursts);
    tcase_add_test(c, workers_started_in_each_loop);
    tcase_add_test(c, pauses_of_the_collector);
    suite_add_tcase(s, c);
    return s;
}
