/* Writes the core's records and calls as CUPTI's structs. */
#include "shims/cupti/shim_cupti.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define TIMING(type, r)                                                                            \
    (&(struct timing){(r)->start_ns, (r)->end_ns, offsetof(type, start), offsetof(type, end)})

static void put_kernel(const struct vg_record *r)
{
    const struct vg_kernel *k = &r->kernel;
    CUpti_ActivityKernel10 a;
    memset(&a, 0, sizeof a);
    a.kind = cupti_kind_on(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
                 ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                 : CUPTI_ACTIVITY_KIND_KERNEL;
    a.registersPerThread = (uint16_t)k->registers;
    a.deviceId = (uint32_t)r->device;
    a.contextId = r->context_id;
    a.streamId = r->stream_id;
    a.gridX = (int32_t)k->grid[0];
    a.gridY = (int32_t)k->grid[1];
    a.gridZ = (int32_t)k->grid[2];
    a.blockX = (int32_t)k->block[0];
    a.blockY = (int32_t)k->block[1];
    a.blockZ = (int32_t)k->block[2];
    a.staticSharedMemory = (int32_t)k->smem_static;
    a.dynamicSharedMemory = (int32_t)k->smem_dynamic;
    a.correlationId = r->correlation;
    a.gridId = r->correlation;
    a.name = k->name;
    a.graphNodeId = r->graph_node_id;
    a.graphId = r->graph_id;
    a.channelID = r->stream_id;
    a.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
    buffer_append(&a, sizeof a, TIMING(CUpti_ActivityKernel10, r));
}

static void put_copy(const struct vg_record *r)
{
    CUpti_ActivityMemcpy6 a;
    memset(&a, 0, sizeof a);
    a.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    a.copyKind = (uint8_t)r->copy.kind;
    a.srcKind = (uint8_t)r->copy.src;
    a.dstKind = (uint8_t)r->copy.dst;
    a.flags = r->copy.async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
    a.bytes = r->copy.bytes;
    a.deviceId = (uint32_t)r->device;
    a.contextId = r->context_id;
    a.streamId = r->stream_id;
    a.correlationId = r->correlation;
    a.graphNodeId = r->graph_node_id;
    a.graphId = r->graph_id;
    a.channelID = r->stream_id;
    a.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
    a.copyCount = 1;
    buffer_append(&a, sizeof a, TIMING(CUpti_ActivityMemcpy6, r));
}

static void put_peer_copy(const struct vg_record *r)
{
    CUpti_ActivityMemcpyPtoP4 a;
    memset(&a, 0, sizeof a);
    a.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
    a.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
    a.srcKind = a.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    a.flags = r->copy.async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
    a.bytes = r->copy.bytes;
    a.deviceId = (uint32_t)r->device;
    a.contextId = r->context_id;
    a.streamId = r->stream_id;
    a.srcDeviceId = (uint32_t)r->copy.src_device;
    a.srcContextId = vg_core.device[r->copy.src_device].context_id;
    a.dstDeviceId = (uint32_t)r->copy.dst_device;
    a.dstContextId = vg_core.device[r->copy.dst_device].context_id;
    a.correlationId = r->correlation;
    a.graphNodeId = r->graph_node_id;
    a.graphId = r->graph_id;
    a.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
    buffer_append(&a, sizeof a, TIMING(CUpti_ActivityMemcpyPtoP4, r));
}

static void put_memset(const struct vg_record *r)
{
    CUpti_ActivityMemset4 a;
    memset(&a, 0, sizeof a);
    a.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    a.value = (uint32_t)r->set.value;
    a.bytes = r->set.bytes;
    a.deviceId = (uint32_t)r->device;
    a.contextId = r->context_id;
    a.streamId = r->stream_id;
    a.correlationId = r->correlation;
    a.flags = r->set.async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0;
    a.memoryKind = (uint16_t)r->set.memory;
    a.graphNodeId = r->graph_node_id;
    a.graphId = r->graph_id;
    a.channelID = r->stream_id;
    a.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
    buffer_append(&a, sizeof a, TIMING(CUpti_ActivityMemset4, r));
}

static void put_sync(const struct vg_record *r)
{
    CUpti_ActivitySynchronization2 a;
    memset(&a, 0, sizeof a);
    a.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
    a.type = (CUpti_ActivitySynchronizationType)r->sync.type;
    a.start = vg_unnumbered() ? 0 : cupti_stamp(r->start_ns);
    a.end = cupti_stamp(r->end_ns);
    a.correlationId = r->correlation;
    a.contextId = r->context_id;
    a.streamId =
        r->sync.type == VG_SYNC_CONTEXT ? CUPTI_SYNCHRONIZATION_INVALID_VALUE : r->stream_id;
    a.cudaEventId = r->sync.event_id ? r->sync.event_id : CUPTI_SYNCHRONIZATION_INVALID_VALUE;
    a.cudaEventSyncId = r->sync.event_id ? r->sync.recording : 0;
    a.returnValue = (uint32_t)r->sync.result;
    buffer_append(&a, sizeof a, NULL);
}

static void put_event(const struct vg_record *r)
{
    CUpti_ActivityCudaEvent2 a;
    memset(&a, 0, sizeof a);
    a.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
    a.correlationId = r->correlation;
    a.contextId = r->context_id;
    a.streamId = r->stream_id;
    a.eventId = r->event.event_id;
    a.deviceId = (uint32_t)r->device;
    a.cudaEventSyncId = r->correlation;
    buffer_append(&a, sizeof a, NULL);
}

static void put_memory(const struct vg_record *r)
{
    CUpti_ActivityMemory4 a;
    memset(&a, 0, sizeof a);
    a.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
    a.memoryOperationType = r->memory.release ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
                                              : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
    a.memoryKind = (CUpti_ActivityMemoryKind)r->memory.memory;
    a.correlationId = r->correlation;
    a.address = r->memory.address;
    a.bytes = r->memory.bytes;
    a.timestamp = cupti_stamp(r->start_ns);
    a.processId = (uint32_t)getpid();
    a.deviceId = (uint32_t)r->device;
    a.contextId = r->context_id;
    a.streamId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
    a.isAsync = r->memory.async;
    buffer_append(&a, sizeof a, NULL);
}

static void put_graph(const struct vg_record *r)
{
    CUpti_ActivityGraphTrace2 a;
    memset(&a, 0, sizeof a);
    a.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
    a.correlationId = r->correlation;
    a.deviceId = a.endDeviceId = (uint32_t)r->device;
    a.graphId = r->graph_id;
    a.contextId = a.endContextId = r->context_id;
    a.streamId = r->stream_id;
    buffer_append(&a, sizeof a, TIMING(CUpti_ActivityGraphTrace2, r));
}

/* client NULL: for all. */
static void put_stream_to(CUpti_SubscriberHandle client, const struct vg_record *r)
{
    CUpti_ActivityStream a;
    memset(&a, 0, sizeof a);
    a.kind = CUPTI_ACTIVITY_KIND_STREAM;
    a.contextId = r->context_id;
    a.streamId = r->stream_id;
    a.priority = (uint32_t)r->stream.priority;
    a.flag = r->stream.flags & 1 ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING
                                 : CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT;
    a.correlationId = r->correlation;
    buffer_append_to(client, &a, sizeof a);
}

static void put_stream(const struct vg_record *r)
{
    put_stream_to(NULL, r);
}

static void put_overhead(const struct vg_record *r)
{
    CUpti_ActivityOverhead3 a;
    memset(&a, 0, sizeof a);
    a.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
    a.overheadKind = (CUpti_ActivityOverheadKind)r->overhead.kind;
    a.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    a.objectId.pt.processId = (uint32_t)getpid();
    a.objectId.pt.threadId = cupti_thread_id(false);
    a.start = cupti_stamp(r->start_ns);
    a.end = cupti_stamp(r->end_ns);
    a.correlationId = r->correlation;
    buffer_append(&a, sizeof a, NULL);
}

static void on_record(const struct vg_record *r)
{
    static const struct {
        uint32_t kind;
        void (*put)(const struct vg_record *);
    } table[] = {
        [VG_REC_KERNEL] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, put_kernel},
        [VG_REC_COPY] = {CUPTI_ACTIVITY_KIND_MEMCPY, put_copy},
        [VG_REC_MEMSET] = {CUPTI_ACTIVITY_KIND_MEMSET, put_memset},
        [VG_REC_SYNC] = {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, put_sync},
        [VG_REC_EVENT] = {CUPTI_ACTIVITY_KIND_CUDA_EVENT, put_event},
        [VG_REC_MEMORY] = {CUPTI_ACTIVITY_KIND_MEMORY2, put_memory},
        [VG_REC_GRAPH] = {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, put_graph},
        [VG_REC_STREAM] = {CUPTI_ACTIVITY_KIND_STREAM, put_stream},
        [VG_REC_OVERHEAD] = {CUPTI_ACTIVITY_KIND_OVERHEAD, put_overhead},
    };
    bool on = cupti_kind_on(table[r->kind].kind) ||
              (r->kind == VG_REC_KERNEL && cupti_kind_on(CUPTI_ACTIVITY_KIND_KERNEL));
    if (r->kind == VG_REC_COPY && r->copy.kind == VG_COPY_PTOP) {
        if (on || cupti_kind_on(CUPTI_ACTIVITY_KIND_MEMCPY2))
            put_peer_copy(r);
        return;
    }
    /* If graphs are traced as a whole, their nodes get no records. */
    bool node = r->graph_id != 0 && r->kind != VG_REC_GRAPH;
    if (on && !(node && cupti_kind_on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)))
        table[r->kind].put(r);
}

static void put_api(uint32_t kind, uint32_t cbid, const struct vg_api *api, int64_t start_ns,
                    int64_t end_ns)
{
    CUpti_ActivityAPI a;
    memset(&a, 0, sizeof a);
    a.kind = (CUpti_ActivityKind)kind;
    a.cbid = cbid;
    a.start = cupti_stamp(start_ns);
    a.end = cupti_stamp(end_ns);
    a.processId = (uint32_t)getpid();
    a.threadId = cupti_thread_id(false);
    a.correlationId = api->correlation;
    a.returnValue = (uint32_t)api->result;
    buffer_append(&a, sizeof a, NULL);
}

/* The driver call that the runtime makes inside a launch; 0 for other calls. */
static uint32_t driver_cbid(const struct vg_api *api)
{
    switch (api->cbid) {
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000:
    case CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000:
        return CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060:
        return CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx;
    case CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000:
        return CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch;
    default:
        return 0;
    }
}

static void on_exit_of(struct vg_api *api, int64_t end_ns)
{
    static _Atomic int driver_records = -1;
    callbacks_exit(api);
    if (driver_records < 0)
        driver_records = vg_option("driver_records", 0) != 0;
    uint32_t inner = driver_records && !api->driver ? driver_cbid(api) : 0;
    if (inner && cupti_api_on(CUPTI_ACTIVITY_KIND_DRIVER, inner))
        put_api(CUPTI_ACTIVITY_KIND_DRIVER, inner, api,
                api->start_ns + (end_ns - api->start_ns) / 8,
                end_ns - (end_ns - api->start_ns) / 8);
    uint32_t kind = api->driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
    if (cupti_api_on(kind, api->cbid))
        put_api(kind, api->cbid, api, api->start_ns, end_ns);
}

void cupti_listen(void)
{
    static const struct vg_sink sink = {callbacks_enter, on_exit_of, on_record, cupti_numbers};
    vg_set_sink(&sink);
}

static void put_device(CUpti_SubscriberHandle client, const struct vg_device *d)
{
    const struct vg_profile *p = &d->profile;
    CUpti_ActivityDevice5 a;
    memset(&a, 0, sizeof a);
    a.kind = CUPTI_ACTIVITY_KIND_DEVICE;
    a.globalMemoryBandwidth = (uint64_t)(p->memory_bytes_per_s / 1000); /* in kB/s */
    a.globalMemorySize = d->capacity;
    a.constantMemorySize = 65536;
    a.l2CacheSize = (uint32_t)p->l2_bytes;
    a.numThreadsPerWarp = 32;
    a.coreClockRate = (uint32_t)(p->clock_mhz * 1000);
    a.numMemcpyEngines = (uint32_t)p->copy_engines;
    a.numMultiprocessors = (uint32_t)p->sm_count;
    a.maxThreadsPerBlock = a.maxBlockDimX = a.maxBlockDimY = 1024;
    a.maxBlockDimZ = 64;
    a.maxGridDimX = 2147483647;
    a.maxGridDimY = a.maxGridDimZ = 65535;
    a.computeCapabilityMajor = (uint32_t)p->cc_major;
    a.computeCapabilityMinor = (uint32_t)p->cc_minor;
    a.id = (uint32_t)d->index;
    memcpy(a.uuid.bytes, "vgpu-", 5);
    a.uuid.bytes[5] = (char)('0' + d->index);
    a.name = p->name;
    a.isCudaVisible = 1;
    a.numaId = 0xffffffffu;
    buffer_append_to(client, &a, sizeof a);
}

static void put_context(CUpti_SubscriberHandle client, const struct vg_device *d)
{
    CUpti_ActivityContext3 a;
    memset(&a, 0, sizeof a);
    a.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
    a.contextId = d->context_id;
    a.deviceId = (uint32_t)d->index;
    a.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
    a.nullStreamId = 7;
    a.numMultiprocessors = (uint16_t)d->profile.sm_count;
    buffer_append_to(client, &a, sizeof a);
}

void records_of_device(CUpti_SubscriberHandle client, uint32_t kind)
{
    for (int i = 0; i < vg_core.device_count; i++) {
        const struct vg_device *d = &vg_core.device[i];
        if (kind == CUPTI_ACTIVITY_KIND_DEVICE)
            put_device(client, d);
        else if (kind == CUPTI_ACTIVITY_KIND_CONTEXT)
            put_context(client, d);
        for (struct vg_stream *s = d->streams; s && kind == CUPTI_ACTIVITY_KIND_STREAM;
             s = s->next) {
            struct vg_record r = {.kind = VG_REC_STREAM,
                                  .device = i,
                                  .stream_id = s->id,
                                  .context_id = d->context_id,
                                  .stream = {s->flags, s->priority}};
            put_stream_to(client, &r);
        }
    }
}
