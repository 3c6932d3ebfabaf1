/* Builds loops that wait for a data loader, for the cases of the rules about loading. */
#ifndef GPUPROF_TESTS_RULES_FEED_H
#define GPUPROF_TESTS_RULES_FEED_H

#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"

enum { STEPS = 40 };

struct program { /* each step: the wait for a batch, then the rest of the step */
    double wait_ms, rest_ms, fetch_ms, cpu_ms;
    int workers;   /* 0: the training thread makes the batches */
    int feed_loop; /* steps in one loop over the loader; 0: all in one */
    /* For each of these loops: time to start it, its first wait, time to stop it. */
    double begin_ms, first_ms, end_ms;
    double first_fetch_ms; /* to make the first batch of a loop; 0: as long as others */
    double cpu, line;      /* shares of a worker's time: computing, waiting for a core */
    double trains;         /* number of cores on which the training thread computes */
    double idle_cores;     /* -1: not recorded */
    const char *cores;
    int loader; /* the loader's number */
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

static inline void span_of(struct builder *b, int what, int64_t thread, int worker, int loader,
                           double at, double length, double cpu)
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

static inline void samples(struct builder *b, int64_t process, int64_t thread, double end,
                           double cpu, double line)
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

/* Adds a process with one thread for a worker. */
static inline void worker_process(struct builder *b)
{
    struct row_process p = {
        .id = 2, .pid = 43, .rank = -1, .local_rank = -1, .world_size = -1, .sealed = 1};
    p.end_ns = MS(10000);
    build_put(b, ROW_PROCESS, &p);
    struct row_thread t = {.id = 9, .process = 2, .tid = 900, .name = build_text(b, "worker")};
    build_put(b, ROW_THREAD, &t);
}

static inline void one_step(struct builder *b, const struct program *p, int i, double *at)
{
    double begin = *at, wait = p->wait_ms, fetch = p->fetch_ms;
    bool makes = p->workers == 0;
    if (p->feed_loop && i % p->feed_loop == 0) {
        span_of(b, SPOOL_LOADER_BEGIN, 1, -1, p->loader, *at, p->begin_ms, -1);
        *at += p->begin_ms;
        wait = p->first_ms > 0 ? p->first_ms : wait;
        fetch = p->first_fetch_ms > 0 ? p->first_fetch_ms : fetch;
    }
    span_of(b, SPOOL_LOADER_FETCH, makes ? 1 : 9, makes ? -1 : i % p->workers, p->loader, *at,
            fetch, p->cpu_ms);
    span_of(b, SPOOL_LOADER_WAIT, 1, -1, p->loader, *at, wait, -1);
    *at += wait + p->rest_ms;
    if (p->feed_loop && i % p->feed_loop == p->feed_loop - 1) {
        span_of(b, SPOOL_LOADER_END, 1, -1, p->loader, *at - 0.001, p->end_ms, -1);
        *at += p->end_ms;
    }
    build_range_at(b, "gpuprof.step", 0, MS(begin), MS(*at));
}

static inline struct builder feed_loop(const struct program *p)
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

/* A step of 10 ms that begins at `at` ms: the training thread makes its batch in the first six. */
static inline void batch_in_thread(struct builder *b, double at)
{
    build_range_at(b, "gpuprof.step", 0, MS(at), MS(at + 10));
    build_range_at(b, "data.wait", 1, MS(at), MS(at + 6));
    span_of(b, SPOOL_LOADER_FETCH, 1, -1, 1, at, 5.9, 5.9);
    span_of(b, SPOOL_LOADER_WAIT, 1, -1, 1, at, 6, -1);
}

#endif
