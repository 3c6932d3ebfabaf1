/* See nvtx.h. */
#include "reference_workloads/common/nvtx.h"

#include "reference_workloads/common/args.h"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int enabled;

/* An empty range `gpuprof.apply NAME=VALUE` for each setting of GPUPROF_APPLY: they were obeyed, or
 * the program would not have come this far. */
static void tell_applied(const char *settings)
{
    char mark[160], *copy = strdup(settings), *rest = copy, *value;
    for (char *name; copy && (name = settings_next(&rest, &value));) {
        snprintf(mark, sizeof mark, "gpuprof.apply %s=%s", name, value ? value : "");
        nvtxRangePushA(mark);
        nvtxRangePop();
    }
    free(copy);
}

void nvtx_enable(int on)
{
    const char *settings = getenv("GPUPROF_APPLY");
    enabled = on;
    if (on)
        nvtxInitialize(NULL); /* now, not by two threads at once */
    if (on && settings)
        tell_applied(settings);
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
