/* gpuprof.h: step marks for C and C++ programs. Header only; nothing to link (before glibc 2.34:
 * -ldl). Without `gpuprof run` a mark costs one load and one branch.
 *
 *     for (int i = 0; i < steps; i++) {
 *         gpuprof_step_begin();
 *         ...
 *         gpuprof_range_begin("forward");
 *         ...
 *         gpuprof_range_end();
 *         gpuprof_step_end();
 *     }
 *
 * Ranges nest, and belong to the thread that begins and ends them. Programs that already use NVTX
 * need none of this: gpuprof reads NVTX ranges, and takes one named "step" for a step.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPROF_H
#define GPUPROF_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*gpuprof_begin_fn)(const char *name);
typedef void (*gpuprof_end_fn)(void);

/* One per source file that includes this header; filled at the first mark. */
static struct {
    int asked;
    gpuprof_begin_fn begin;
    gpuprof_end_fn end;
} gpuprof_marks;

static inline void gpuprof_find_(void)
{
    /* The agent, if there is one, was loaded before the program. RTLD_DEFAULT is the null handle;
     * its name needs _GNU_SOURCE, which a header must not define. Two threads may both do this. */
    void *begin = dlsym((void *)0, "gpuprof_agent_range_begin");
    void *end = dlsym((void *)0, "gpuprof_agent_range_end");
    if (begin && end) {
        __atomic_store_n(&gpuprof_marks.end, (gpuprof_end_fn)(size_t)end, __ATOMIC_RELAXED);
        __atomic_store_n(&gpuprof_marks.begin, (gpuprof_begin_fn)(size_t)begin, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&gpuprof_marks.asked, 1, __ATOMIC_RELEASE);
}

static inline void gpuprof_range_begin(const char *name)
{
    if (!__atomic_load_n(&gpuprof_marks.asked, __ATOMIC_ACQUIRE))
        gpuprof_find_();
    gpuprof_begin_fn begin = __atomic_load_n(&gpuprof_marks.begin, __ATOMIC_RELAXED);
    if (begin)
        begin(name);
}

static inline void gpuprof_range_end(void)
{
    gpuprof_end_fn end = __atomic_load_n(&gpuprof_marks.end, __ATOMIC_RELAXED);
    if (end)
        end();
}

/* Tells gpuprof which settings of GPUPROF_APPLY the program obeys, such as "num_workers
 * pin_memory". The advice then names only these to `gpuprof try`. Call it once, at the
 * beginning. */
static inline void gpuprof_obeys(const char *names)
{
    void *found = dlsym((void *)0, "gpuprof_hook_fact");
    if (found)
        ((void (*)(const char *, const char *))(size_t)found)("program.settings", names);
}

/* Tells gpuprof that the program has obeyed a setting of GPUPROF_APPLY, which `gpuprof try` checks.
 * `setting` is the text as it stood there, such as "num_workers=4". */
static inline void gpuprof_applied(const char *setting)
{
    char name[128];
    snprintf(name, sizeof name, "gpuprof.apply %s", setting);
    gpuprof_range_begin(name);
    gpuprof_range_end();
}

static inline void gpuprof_step_begin(void)
{
    gpuprof_range_begin("step");
}

static inline void gpuprof_step_end(void)
{
    gpuprof_range_end();
}

#ifdef __cplusplus
}
#endif

#endif
