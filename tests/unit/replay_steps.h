/* Synthetic steps for the suites of graph, replay and what-if: builds a graph of steps that a
 * function `fill` makes. */
#ifndef GPUPROF_TESTS_REPLAY_STEPS_H
#define GPUPROF_TESTS_REPLAY_STEPS_H

#include "tests/unit/test.h"
#include "analyzer/whatif/engine.h"
#include "tests/unit/build_timeline.h"

enum { STEPS = 12 };

struct bench {
    struct builder b;
    struct graph *g;
    struct plan plan;
    struct replay r;
};

static inline void bench_free(void *kept)
{
    struct bench *x = kept;
    plan_release(&x->plan);
    replay_release(&x->r);
    graph_free(x->g);
    free(x);
}

/* Builds `steps` steps; in the last one the host takes `tail` longer. */
static inline struct bench bench_start_tail(int steps, int64_t period, int64_t tail,
                                            void (*fill)(struct builder *, int64_t))
{
    struct err e = ERR_INIT;
    struct bench x = {.b = build_start()};
    build_thread(&x.b, 2, "second");
    build_stream(&x.b, 2, 1);
    for (int i = 0; i < steps; i++) {
        fill(&x.b, MS(100) + period * i);
        build_range(&x.b, "step", MS(100) + period * i,
                    MS(100) + period * (i + 1) + (i + 1 == steps ? tail : 0));
    }
    build_predict(&x.b);
    x.g = graph_build(x.b.a->facts, &e);
    ck_assert_ptr_nonnull(x.g);
    ck_assert_int_eq(plan_init(&x.plan, x.g), 0);
    ck_assert_int_eq(replay_init(&x.r, x.g), 0);
    struct bench *kept = malloc(sizeof *kept);
    ck_assert_ptr_nonnull(kept);
    *kept = x;
    test_later(bench_free, kept);
    return x;
}

static inline struct bench bench_start_of(int steps, int64_t period,
                                          void (*fill)(struct builder *, int64_t))
{
    return bench_start_tail(steps, period, 0, fill);
}

static inline struct bench bench_start(int64_t period, void (*fill)(struct builder *, int64_t))
{
    return bench_start_of(STEPS, period, fill);
}

/* The length of a step that the replay gives for the present plan. */
static inline int64_t bench_step(struct bench *x)
{
    return replay_run(&x->r, x->g, &x->plan);
}

/* The saving per step of an edit, as a user is told it. */
static inline struct span_ns bench_span(struct bench *x, struct edit edit)
{
    struct err e = ERR_INIT;
    struct arena arena = {0};
    struct whatif w;
    struct engine engine;
    const struct edit *one = &edit;
    ck_assert_int_eq(engine_open(&engine, x->b.a->facts, &arena, &w, &e), 0);
    ck_assert_int_eq(engine_check(&engine, &w), 0);
    ck_assert(w.trusted);
    struct span_ns s = engine_span(&engine, &w, &one, 1);
    engine_close(&engine);
    arena_release(&arena);
    return s;
}

/* A host-bound step: ten launches 500 us apart of kernels of 100 us; then the host waits for
 * them. */
static inline void fill_host_bound(struct builder *b, int64_t at)
{
    for (int i = 0; i < 10; i++)
        build_kernel(b, "k", at + US(500 * i), at + US(500 * i) + US(10), US(100));
    build_sync(b, at + US(4600), US(20));
}

/* A GPU-bound step: eight kernels of 1 ms, launched at once; then a wait for all of them. */
static inline void fill_gpu_bound(struct builder *b, int64_t at)
{
    for (int i = 0; i < 8; i++)
        build_kernel(b, "k", at + US(10 * i), at + US(10) + MS(i), MS(1));
    build_sync(b, at + US(100), MS(8) - US(80));
}

#endif
