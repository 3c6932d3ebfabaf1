/* Finds what an API call does from its name: CUDA runtime and driver, HIP, and
 * SYCL's Unified Runtime. */
#include "analyzer/timeline/build.h"

#include <string.h>

static const struct {
    const char *part; /* part of the name; the first match counts */
    enum api_kind kind;
} kinds[] = {
    {"GraphLaunch", API_GRAPH_LAUNCH},
    {"LaunchKernel", API_LAUNCH},
    {"LaunchCooperative", API_LAUNCH},
    {"ModuleLaunch", API_LAUNCH},
    {"ExtLaunch", API_LAUNCH},
    {"cuLaunch", API_LAUNCH},
    {"cudaLaunch", API_LAUNCH},
    {"EnqueueKernelLaunch", API_LAUNCH}, /* SYCL's Unified Runtime */
    {"StreamWaitEvent", API_STREAM_WAIT},
    {"EventRecord", API_EVENT_RECORD},
    {"EventQuery", API_EVENT_QUERY},
    {"StreamQuery", API_EVENT_QUERY},
    {"DeviceSynchronize", API_SYNC_DEVICE},
    {"ThreadSynchronize", API_SYNC_DEVICE},
    {"CtxSynchronize", API_SYNC_DEVICE},
    {"StreamSynchronize", API_SYNC_STREAM},
    {"EventSynchronize", API_SYNC_EVENT},
    {"urQueueFinish", API_SYNC_STREAM},
    {"urEventWait", API_SYNC_EVENT},
    {"EventHostSynchronize", API_SYNC_EVENT},
    {"CommandQueueSynchronize", API_SYNC_STREAM},
    {"MallocHost", API_HOST_ALLOC},
    {"HostAlloc", API_HOST_ALLOC},
    {"HostMalloc", API_HOST_ALLOC},
    {"AllocHost", API_HOST_ALLOC},
    {"HostRegister", API_HOST_ALLOC},
    {"Malloc", API_ALLOC},
    {"MemAlloc", API_ALLOC},
    {"MemCreate", API_ALLOC},
    {"MemPoolCreate", API_ALLOC},
    {"cudaFree", API_FREE},
    {"cuMemFree", API_FREE},
    {"hipFree", API_FREE},
    {"hipHostFree", API_FREE},
    {"MemRelease", API_FREE},
    {"HostUnregister", API_FREE},
    {"ModuleLoad", API_MODULE},
    {"ModuleGet", API_MODULE},
    {"ModuleUnload", API_MODULE},
    {"LibraryLoad", API_MODULE},
    {"LibraryUnload", API_MODULE},
    {"LibraryGet", API_MODULE},
    {"cuLink", API_MODULE},
    {"cuInit", API_MODULE},
    {"CtxCreate", API_MODULE},
    {"CtxDestroy", API_MODULE},
    {"PrimaryCtx", API_MODULE},
    {"DeviceReset", API_MODULE},
    {"DeviceGetAttribute", API_LOOKUP},
    {"FuncGetAttribute", API_LOOKUP},
    {"FuncSetAttribute", API_LOOKUP},
    {"KernelGet", API_LOOKUP},
    {"CtxGetLimit", API_LOOKUP},
    {"OccupancyMaxActiveBlocks", API_LOOKUP},
};

enum api_kind api_kind_of(const char *name)
{
    /* Copies: cudaMemcpy, cuMemcpyHtoD. HIP documents hipMemcpyWithStream as a hipMemcpyAsync that
     * waits for the stream before it returns. */
    if (strstr(name, "emcpy"))
        return strstr(name, "Async") || strstr(name, "Enqueue") ? API_COPY_ASYNC : API_COPY_SYNC;
    if (strstr(name, "emset"))
        return API_MEMSET;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(name, kinds[i].part))
            return kinds[i].kind;
    return API_OTHER;
}
