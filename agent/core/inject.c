/* How CUDA loads the agent: during cuInit libcuda loads the library that CUDA_INJECTION64_PATH
 * names, and calls InitializeInjection. */
#include <dlfcn.h>

#include "agent/core/cancel.h"
#include "agent/core/cost.h"
#include "agent/core/instrument.h"
#include "agent/core/resolve.h"

AGENT_EXPORT int InitializeInjection(void);
AGENT_EXPORT const char gpuprof_agent_instance[] = GPUPROF_VERSION;
extern const char own_instance[sizeof GPUPROF_VERSION]
    __attribute__((alias("gpuprof_agent_instance"), visibility("hidden")));

/* The loader binds the exported name to the first copy in search order, the hidden one to this
 * copy. */
bool agent_is_first(void)
{
    const char *volatile first = gpuprof_agent_instance, *volatile own = own_instance;
    return first == own;
}

/* Calls the tool that the user had named in CUDA_INJECTION64_PATH, before the agent's own start. */
static void chain(struct thread *t)
{
    const char *path = agent_env("GPUPROF_CHAIN_INJECTION");
    if (!path || !*path)
        return;
    void *handle = resolve_open(path, RTLD_NOW | RTLD_LOCAL);
    int (*entry)(void) = (int (*)(void))resolve_symbol(handle, "InitializeInjection");
    if (entry && entry != InitializeInjection)
        entry();
    else
        about_health(t, SPOOL_WARNING, "chain-injection",
                     "gpuprof could not start the tool that CUDA_INJECTION64_PATH names.", 0);
}

int InitializeInjection(void)
{
    struct thread *t = thread_enter();
    if (!t)
        return 1; /* CUDA ignores what this returns */
    chain(t);
    int state = cancel_disable();
    instruments_start(t);
    cost_measure(t);
    cancel_restore(state);
    thread_leave(t);
    return 1;
}
