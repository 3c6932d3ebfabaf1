/* The functions behind gpuprof.h, which finds them by name in the loaded agent: ranges without
 * NVTX. */
#include "agent/core/window.h"
#include "agent/core/ranges.h"
#include "agent/gpuprof.h"

AGENT_EXPORT void gpuprof_agent_range_begin(const char *name);
AGENT_EXPORT void gpuprof_agent_range_end(void);

void gpuprof_agent_range_begin(const char *name)
{
    struct thread *t = thread_enter_for(false);
    if (!t)
        return;
    struct open_range r = {.name = window_closed() ? window_name(name) : strings_id(t, name)};
    ranges_push(t, &r);
    thread_leave(t);
}

void gpuprof_agent_range_end(void)
{
    struct thread *t = thread_enter();
    if (!t)
        return;
    ranges_pop(t, 0);
    thread_leave(t);
}
