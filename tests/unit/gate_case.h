/* Loops whose step times are known, for the cases of diff and gate. */
#ifndef GPUPROF_TESTS_UNIT_GATE_CASE_H
#define GPUPROF_TESTS_UNIT_GATE_CASE_H

#include "tests/unit/test.h"
#include "analyzer/compare/compare.h"
#include "tests/unit/build_timeline.h"

static const char gemm[] = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_tn";

/* Properties of one run of the loop. */
struct run {
    const char *device; /* NULL: an A100 */
    int steps;
    double step_ms, noise; /* width of uniform noise, relative to step_ms */
    double input_ms;       /* part of step_ms in which the GPU waits for the next batch */
    double sort_ms;        /* part of step_ms in a kernel whose name contains "sort" */
    uint64_t seed;
    int burst; /* the GPU waits 10 ms for a batch in every burst-th step; 0: never */
};

static inline double uniform(uint64_t *state) /* -1 .. 1 */
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)*state / 9.3e18;
}

static inline struct builder make_meta(struct run r, const char *key, const char *value)
{
    struct builder b = build_start_on(r.device, 8, 0);
    if (key)
        build_meta(&b, key, value);
    int64_t at = MS(100);
    for (int i = 0; i < r.steps; i++) {
        double input_ms = r.burst && i % r.burst == 0 ? 10 : r.input_ms;
        int64_t length =
                    MS(r.step_ms * (1 + r.noise * uniform(&r.seed))) + MS(input_ms - r.input_ms),
                rest = at + MS(input_ms);
        if (input_ms > 0)
            build_range(&b, "data.wait", at, rest);
        build_kernel(&b, gemm, rest, rest + US(10), at + length - rest - US(30) - MS(r.sort_ms));
        if (r.sort_ms > 0)
            build_kernel(&b, "radix_sort_kernel", rest + US(5),
                         at + length - US(19) - MS(r.sort_ms), MS(r.sort_ms));
        build_range(&b, "step", at, at + length);
        at += length;
    }
    build_analyze(&b);
    return b;
}

static inline struct builder make(struct run r)
{
    return make_meta(r, NULL, NULL);
}

static inline struct builder make_called(struct run r, const char *command)
{
    return make_meta(r, "command", command);
}

static const struct run usual = {.steps = 60, .step_ms = 10, .noise = 0.01, .seed = 1};

static inline struct gate *gate(struct builder *base, struct builder *now, const char *budget,
                                double pct)
{
    struct err e = ERR_INIT;
    struct gate *g =
        gate_run(base ? base->a : NULL, now->a,
                 &(struct gate_wish){.budget_text = budget, .max_regress_pct = pct}, &e);
    ck_assert_msg(g != NULL, "%s", e.text);
    return g;
}

#endif
