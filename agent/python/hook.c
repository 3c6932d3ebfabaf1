/* The records that a framework's hook inside an interpreter writes into the spool. The hook finds
 * these functions by name in the loaded agent. Times are CLOCK_MONOTONIC. A call reads no clock and
 * takes some 100 ns. */
#include "agent/python/hook.h"

#include <string.h>

#include "agent/core/window.h"
#include "agent/core/spool.h"

void gpuprof_hook_loader(int what, int worker, int loader, int64_t start_ns, int64_t end_ns,
                         int64_t cpu_ns)
{
    struct thread *t = thread_enter();
    if (!t)
        return;
    struct spool_rec_loader *r = ring_reserve(t, SPOOL_REC_LOADER, sizeof *r);
    if (r) {
        r->head.start_ns = start_ns;
        r->head.end_ns = end_ns;
        r->what = (uint32_t)what;
        r->worker = worker;
        r->loader = loader > 0 ? loader : -1;
        r->cpu_ns = cpu_ns;
        ring_commit(t);
    }
    thread_leave(t);
}

void gpuprof_hook_range(const char *name, int64_t start_ns, int64_t end_ns, int depth)
{
    struct thread *t = thread_enter();
    if (!t)
        return;
    uint32_t id = window_closed() ? window_name(name) : strings_add(name, strlen(name));
    /* The range ends where the next step begins, and whether it is recorded was decided at its own
     * beginning. */
    bool step = window_step(t, id, (unsigned)depth, end_ns, true);
    struct spool_rec_range *r = ring_reserve(t, step ? SPOOL_REC_STEP : SPOOL_REC_RANGE, sizeof *r);
    if (r) {
        r->head.start_ns = start_ns;
        r->head.end_ns = end_ns;
        r->name = id;
        r->domain = strings_add("PyTorch", 7);
        r->depth = (uint16_t)depth;
        ring_commit(t);
    }
    thread_leave(t);
}

void gpuprof_hook_fact(const char *key, const char *value)
{
    struct thread *t = thread_enter();
    if (!t)
        return;
    about_meta(t, key, value);
    thread_leave(t);
}

void gpuprof_hook_health(const char *code, const char *text)
{
    struct thread *t = thread_enter();
    if (!t)
        return;
    about_health(t, SPOOL_WARNING, code, text, 0);
    thread_leave(t);
}
