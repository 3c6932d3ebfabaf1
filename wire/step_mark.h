/* Names of ranges that mark steps of a loop. The agent, which counts these steps between windows,
 * and the analyzer, which cuts a recording at them, use the same functions. */
#ifndef GPUPROF_WIRE_STEP_MARK_H
#define GPUPROF_WIRE_STEP_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* What kind of range marks a step, the most trustworthy last. HOOK: from one optimizer step to the
 * next, as a framework's hook saw them. */
enum spool_step_mark { SPOOL_STEP_NONE, SPOOL_STEP_HOOK, SPOOL_STEP_NVTX, SPOOL_STEP_FRAMEWORK };

/* Length of a name without the number at its end: of "Iteration" in "Iteration #12". */
static inline size_t spool_step_base(const char *name)
{
    size_t n = strlen(name);
    while (n > 0 && ((name[n - 1] >= '0' && name[n - 1] <= '9') || strchr("#:=_- ./", name[n - 1])))
        n--;
    return n;
}

/* True for names that inference servers give a pass over a batch:
 * "execute_32_context_0(...)_generation_32(...)", "execute_context_1(...)_generation_0(...)". */
static inline bool spool_step_serves(const char *name)
{
    static const char start[] = "execute_";
    const char *rest = name + sizeof start - 1;
    return strncmp(name, start, sizeof start - 1) == 0 &&
           ((*rest >= '0' && *rest <= '9') || strncmp(rest, "context_", 8) == 0);
}

/* The kind of step mark that a name stands for: "step", "Iteration #12", "train_step 3",
 * "ProfilerStep#4". SPOOL_STEP_NONE: none. */
static inline enum spool_step_mark spool_step_mark(const char *name)
{
    static const char *const bases[] = {"step",          "iter",       "iteration", "train_step",
                                        "training_step", "train_iter", "batch",     "train_batch",
                                        "train step",    "global_step"};
    if (strncasecmp(name, "ProfilerStep", 12) == 0)
        return SPOOL_STEP_FRAMEWORK;
    if (strcmp(name, "gpuprof.step") == 0)
        return SPOOL_STEP_HOOK;
    if (spool_step_serves(name))
        return SPOOL_STEP_NVTX;
    size_t n = spool_step_base(name);
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        if (strlen(bases[i]) == n && strncasecmp(name, bases[i], n) == 0)
            return SPOOL_STEP_NVTX;
    return SPOOL_STEP_NONE;
}

#endif
