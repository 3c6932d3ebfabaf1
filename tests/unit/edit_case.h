/* Applies edits to synthetic steps: how long a step takes with one of them. */
#ifndef GPUPROF_TESTS_EDIT_CASE_H
#define GPUPROF_TESTS_EDIT_CASE_H

#include "analyzer/whatif/edits/edits.h"
#include "tests/unit/replay_steps.h"

static const struct draw middle = {{0.5, 0.5, 0.5}}, lucky = {{0, 0, 0}}, unlucky = {{1, 1, 1}};

static inline int64_t with(struct bench *x, struct edit edit, const struct draw *d)
{
    plan_reset(&x->plan, x->g);
    edit_apply(&edit, x->g, &x->plan, d);
    return replay_settle(&x->r, x->g, &x->plan) / x->plan.work;
}

static inline bool is_k(const struct facts *f, uint32_t op)
{
    return strcmp(tl_text(f->tl, f->tl->ops[op].name), "k") == 0;
}

/* A step of 7 ms: four short kernels and a long one, a wait, then 1 ms of the host's own work. */
static inline void fill_mixed(struct builder *b, int64_t at)
{
    for (int i = 0; i < 4; i++)
        build_kernel(b, "k", at + US(10 * i), at + US(20) + MS(i), MS(1));
    build_kernel(b, "long_one", at + US(50), at + US(20) + MS(4), MS(2));
    build_sync(b, at + US(100), MS(6) - US(70));
}

/* A step of 4 ms of computing, then 3 ms of exposed communication. */
static inline void fill_comm(struct builder *b, int64_t at)
{
    for (int i = 0; i < 4; i++)
        build_kernel(b, "k", at + US(10 * i), at + US(20) + MS(i), MS(1));
    for (int i = 0; i < 3; i++)
        build_kernel(b, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + US(50 + 10 * i),
                     at + US(20) + MS(4 + i), MS(1));
    build_sync(b, at + US(100), MS(7) - US(70));
}

#endif
