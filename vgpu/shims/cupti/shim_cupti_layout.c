/* Record sizes by release, and the walk over a buffer. No release moved a field of a record; later
 * releases only appended fields (the deprecated structs of cupti.h show this). So the layout of an
 * older release is a prefix of the newest. */
#include "shims/cupti/shim_cupti_client.h"

#include <string.h>

#define SIZE(s) (uint16_t)sizeof(CUpti_Activity##s)
/* Kinds whose records did not change from 11.8 to 13.0. */
#define STEADY                                                                                     \
    [CUPTI_ACTIVITY_KIND_DRIVER] = SIZE(API), [CUPTI_ACTIVITY_KIND_RUNTIME] = SIZE(API),           \
    [CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API] = SIZE(API),                                         \
    [CUPTI_ACTIVITY_KIND_MEMCPY2] = SIZE(MemcpyPtoP4), [CUPTI_ACTIVITY_KIND_NAME] = SIZE(Name),    \
    [CUPTI_ACTIVITY_KIND_MARKER] = SIZE(Marker2),                                                  \
    [CUPTI_ACTIVITY_KIND_CDP_KERNEL] = SIZE(CdpKernel),                                            \
    [CUPTI_ACTIVITY_KIND_PREEMPTION] = SIZE(Preemption),                                           \
    [CUPTI_ACTIVITY_KIND_ENVIRONMENT] = SIZE(Environment),                                         \
    [CUPTI_ACTIVITY_KIND_FUNCTION] = SIZE(Function), [CUPTI_ACTIVITY_KIND_MODULE] = SIZE(Module),  \
    [CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE] = SIZE(DeviceAttribute),                                \
    [CUPTI_ACTIVITY_KIND_OPENACC_DATA] = SIZE(OpenAccData),                                        \
    [CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH] = SIZE(OpenAccLaunch),                                    \
    [CUPTI_ACTIVITY_KIND_OPENACC_OTHER] = SIZE(OpenAccOther),                                      \
    [CUPTI_ACTIVITY_KIND_STREAM] = SIZE(Stream),                                                   \
    [CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION] = SIZE(ExternalCorrelation),                        \
    [CUPTI_ACTIVITY_KIND_MEMORY] = SIZE(Memory), [CUPTI_ACTIVITY_KIND_PCIE] = SIZE(Pcie),          \
    [CUPTI_ACTIVITY_KIND_OPENMP] = SIZE(OpenMp)
#define SETS                                                                                       \
    [CUPTI_ACTIVITY_KIND_MEMSET] = SIZE(Memset4), [CUPTI_ACTIVITY_KIND_NVLINK] = SIZE(NvLink4)
#define KERNELS(s)                                                                                 \
    [CUPTI_ACTIVITY_KIND_KERNEL] = SIZE(s), [CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = SIZE(s)

/* The structs of 13.3 to 13.5 are longer than those of the headers that this may be built with: `kernel`, `copy`, `set` and
 * `event` are their sizes in the vendor's headers. */
#define NEWER(option, version, kernel, copy, set, event)                                           \
    {                                                                                              \
        option, version,                                                                           \
        {                                                                                          \
            STEADY, [CUPTI_ACTIVITY_KIND_KERNEL] = kernel,                                         \
                    [CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = kernel,                              \
                    [CUPTI_ACTIVITY_KIND_MEMCPY] = copy, [CUPTI_ACTIVITY_KIND_MEMSET] = set,       \
                    [CUPTI_ACTIVITY_KIND_CUDA_EVENT] = event, [CUPTI_ACTIVITY_KIND_DEVICE] = 192,  \
                    [CUPTI_ACTIVITY_KIND_CONTEXT] = 40, [CUPTI_ACTIVITY_KIND_NVLINK] = 88,         \
                    [CUPTI_ACTIVITY_KIND_MARKER_DATA] = 40,                                        \
                    [CUPTI_ACTIVITY_KIND_OVERHEAD] = SIZE(Overhead3),                              \
                    [CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER] = SIZE(UnifiedMemoryCounter3),    \
                    [CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = SIZE(Synchronization2),                \
                    [CUPTI_ACTIVITY_KIND_MEMORY2] = SIZE(Memory4),                                 \
                    [CUPTI_ACTIVITY_KIND_MEMORY_POOL] = SIZE(MemoryPool3),                         \
                    [CUPTI_ACTIVITY_KIND_GRAPH_TRACE] = SIZE(GraphTrace2),                         \
                    [CUPTI_ACTIVITY_KIND_JIT] = SIZE(Jit2),                                        \
                    [CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE] = SIZE(DeviceGraphTrace),             \
                    [CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS] = SIZE(MemDecompress), [55] = 32,         \
                    [56] = 56, [57] = 24, [58] = 48                                                \
        }                                                                                          \
    }

static const struct layout layouts[] = {
    {"13.0",
     130001,
     {STEADY, SETS, KERNELS(Kernel10), [CUPTI_ACTIVITY_KIND_MEMCPY] = SIZE(Memcpy6),
      [CUPTI_ACTIVITY_KIND_DEVICE] = SIZE(Device5), [CUPTI_ACTIVITY_KIND_CONTEXT] = SIZE(Context3),
      [CUPTI_ACTIVITY_KIND_MARKER_DATA] = SIZE(MarkerData2),
      [CUPTI_ACTIVITY_KIND_OVERHEAD] = SIZE(Overhead3),
      [CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER] = SIZE(UnifiedMemoryCounter3),
      [CUPTI_ACTIVITY_KIND_CUDA_EVENT] = SIZE(CudaEvent2),
      [CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = SIZE(Synchronization2),
      [CUPTI_ACTIVITY_KIND_MEMORY2] = SIZE(Memory4),
      [CUPTI_ACTIVITY_KIND_MEMORY_POOL] = SIZE(MemoryPool3),
      [CUPTI_ACTIVITY_KIND_GRAPH_TRACE] = SIZE(GraphTrace2), [CUPTI_ACTIVITY_KIND_JIT] = SIZE(Jit2),
      [CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE] = SIZE(DeviceGraphTrace),
      [CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS] = SIZE(MemDecompress), [55] = 32}},
    NEWER("13.3", 130301, 232, 96, 88, 56),
    NEWER("13.4", 130401, 248, 112, 104, 56),
    NEWER("13.5", 130500, 248, 112, 104, 80),
    {"12.8",
     26,
     {STEADY, SETS, KERNELS(Kernel9), [CUPTI_ACTIVITY_KIND_MEMCPY] = SIZE(Memcpy6),
      [CUPTI_ACTIVITY_KIND_DEVICE] = SIZE(Device5), [CUPTI_ACTIVITY_KIND_CONTEXT] = SIZE(Context3),
      [CUPTI_ACTIVITY_KIND_MARKER_DATA] = SIZE(MarkerData),
      [CUPTI_ACTIVITY_KIND_OVERHEAD] = SIZE(Overhead3),
      [CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER] = SIZE(UnifiedMemoryCounter3),
      [CUPTI_ACTIVITY_KIND_CUDA_EVENT] = SIZE(CudaEvent2),
      [CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = SIZE(Synchronization2),
      [CUPTI_ACTIVITY_KIND_MEMORY2] = SIZE(Memory4),
      [CUPTI_ACTIVITY_KIND_MEMORY_POOL] = SIZE(MemoryPool2),
      [CUPTI_ACTIVITY_KIND_GRAPH_TRACE] = SIZE(GraphTrace2), [CUPTI_ACTIVITY_KIND_JIT] = SIZE(Jit2),
      [CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE] = SIZE(DeviceGraphTrace),
      [CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS] = SIZE(MemDecompress)}},
    {"12.4",
     22,
     {STEADY, SETS, KERNELS(Kernel9), [CUPTI_ACTIVITY_KIND_MEMCPY] = SIZE(Memcpy5),
      [CUPTI_ACTIVITY_KIND_DEVICE] = SIZE(Device5), [CUPTI_ACTIVITY_KIND_CONTEXT] = SIZE(Context2),
      [CUPTI_ACTIVITY_KIND_MARKER_DATA] = SIZE(MarkerData),
      [CUPTI_ACTIVITY_KIND_OVERHEAD] = SIZE(Overhead3),
      [CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER] = SIZE(UnifiedMemoryCounter2),
      [CUPTI_ACTIVITY_KIND_CUDA_EVENT] = SIZE(CudaEvent),
      [CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = SIZE(Synchronization),
      [CUPTI_ACTIVITY_KIND_MEMORY2] = SIZE(Memory3),
      [CUPTI_ACTIVITY_KIND_MEMORY_POOL] = SIZE(MemoryPool2),
      [CUPTI_ACTIVITY_KIND_GRAPH_TRACE] = SIZE(GraphTrace2),
      [CUPTI_ACTIVITY_KIND_JIT] = SIZE(Jit2)}},
    {"11.8",
     18,
     {STEADY, SETS, KERNELS(Kernel8), [CUPTI_ACTIVITY_KIND_MEMCPY] = SIZE(Memcpy5),
      [CUPTI_ACTIVITY_KIND_DEVICE] = SIZE(Device4), [CUPTI_ACTIVITY_KIND_CONTEXT] = SIZE(Context),
      [CUPTI_ACTIVITY_KIND_MARKER_DATA] = SIZE(MarkerData),
      [CUPTI_ACTIVITY_KIND_OVERHEAD] = SIZE(Overhead),
      [CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER] = SIZE(UnifiedMemoryCounter2),
      [CUPTI_ACTIVITY_KIND_CUDA_EVENT] = SIZE(CudaEvent),
      [CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = SIZE(Synchronization),
      [CUPTI_ACTIVITY_KIND_MEMORY2] = SIZE(Memory3),
      [CUPTI_ACTIVITY_KIND_MEMORY_POOL] = SIZE(MemoryPool2),
      [CUPTI_ACTIVITY_KIND_GRAPH_TRACE] = SIZE(GraphTrace), [CUPTI_ACTIVITY_KIND_JIT] = SIZE(Jit)}},
};

const struct layout *cupti_layout(void)
{
    static const struct layout *chosen;
    if (chosen)
        return chosen;
    const char *option = vg_option_text("cupti");
    const struct layout *found = &layouts[0];
    for (size_t i = 0; option && i < sizeof layouts / sizeof *layouts; i++)
        if (strcmp(option, layouts[i].option) == 0)
            found = &layouts[i];
    chosen = found;
    return found;
}

/* True for kinds of the event and metric interfaces, which recent releases refuse. */
bool cupti_kind_legacy(uint32_t kind)
{
    static const uint8_t legacy[] = {6, 7, 14, 15, 16, 21, 23, 24, 29, 30, 31, 32, 41, 42, 43, 44};
    return memchr(legacy, (int)kind, sizeof legacy) != NULL;
}

CUptiResult client_next(const struct CUpti_Subscriber_st *c, uint8_t *buffer, size_t valid,
                        CUpti_Activity **record)
{
    if (!record || !buffer)
        return CUPTI_ERROR_INVALID_PARAMETER;
    uint8_t *next = buffer;
    if (*record)
        next = (uint8_t *)*record + client_stride(c, (uint32_t)(*record)->kind);
    if (next + sizeof(uint32_t) > buffer + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    uint32_t kind;
    memcpy(&kind, next, sizeof kind);
    size_t stride = client_stride(c, kind);
    if (!stride)
        return CUPTI_ERROR_INVALID_KIND;
    if (next + stride > buffer + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)next;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    CUptiResult rc = cupti_first();
    return rc == CUPTI_SUCCESS ? client_next(&cupti_clients[0], buffer, valid, record) : rc;
}
