/* A PyTorch program that trains on a CPU, for the cases of several rules: 30 steps of 10 ms, of which the forward pass takes
 * 4, the backward passes 4 and the optimizer 2. */
#ifndef GPUPROF_TESTS_RULES_CPU_H
#define GPUPROF_TESTS_RULES_CPU_H

#include "tests/rules/stacks.h"

enum { CPU_STEPS = 30 };

static inline int64_t cpu_step_ns(int i)
{
    return MS(100) + i * MS(10);
}

/* The steps, each with so many backward passes. weights: what the hook says of the parameters; NULL: there is no hook. */
static inline struct builder cpu_training(const char *weights, int passes)
{
    struct builder b = build_start();
    if (weights) {
        build_meta(&b, "torch.version", "2.14.1");
        build_meta(&b, "torch.parameters", weights);
    }
    for (int i = 0; i < CPU_STEPS; i++) {
        int64_t at = cpu_step_ns(i);
        build_range_at(&b, "gpuprof.step", 0, at, at + MS(10));
        for (int k = 0; k < passes; k++)
            build_range(&b, "backward", at + MS(4) + k * MS(4) / passes,
                        at + MS(4) + (k + 1) * MS(4) / passes);
        build_range(&b, "optimizer.step", at + MS(8), at + MS(10));
    }
    return b;
}

#endif
