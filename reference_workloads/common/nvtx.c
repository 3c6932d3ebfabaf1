/* See nvtx.h. */
#include "reference_workloads/common/nvtx.h"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <unistd.h>

static int enabled;

void nvtx_enable(int on)
{
    enabled = on;
    if (on)
        nvtxInitialize(NULL); /* now, not by two threads at once */
}

void nvtx_push(const char *name)
{
    if (enabled)
        nvtxRangePushA(name);
}

void nvtx_pop(void)
{
    if (enabled)
        nvtxRangePop();
}

void nvtx_name_thread(const char *name)
{
    pthread_setname_np(pthread_self(), name);
    if (enabled)
        nvtxNameOsThreadA((uint32_t)gettid(), name);
}
