/* analyzer/collector/spool/spool_records.h against NVIDIA's headers, whichever are installed: the
 * newest struct of each kind has every field where the oldest that is supported had it. */
#include "tests/unit/test.h"
#include <cupti.h>

/* The kinds have NVIDIA's names there, too, as macros would. */
#include "analyzer/collector/spool/spool_records.h"

#define SAME(ours, a, theirs, b)                                                                   \
    ck_assert_uint_eq(offsetof(struct cupti_##ours, a), offsetof(CUpti_Activity##theirs, b));      \
    ck_assert_uint_eq(sizeof(((struct cupti_##ours *)0)->a),                                       \
                      sizeof(((CUpti_Activity##theirs *)0)->b))

TEST(test_work)
{
    SAME(kernel, registers, Kernel8, registersPerThread);
    SAME(kernel, start, Kernel8, start);
    SAME(kernel, end, Kernel8, end);
    SAME(kernel, device, Kernel8, deviceId);
    SAME(kernel, context, Kernel8, contextId);
    SAME(kernel, stream, Kernel8, streamId);
    ck_assert_uint_eq(offsetof(struct cupti_kernel, grid), offsetof(CUpti_ActivityKernel8, gridX));
    ck_assert_uint_eq(offsetof(struct cupti_kernel, block),
                      offsetof(CUpti_ActivityKernel8, blockX));
    SAME(kernel, smem_static, Kernel8, staticSharedMemory);
    SAME(kernel, smem_dynamic, Kernel8, dynamicSharedMemory);
    SAME(kernel, correlation, Kernel8, correlationId);
    SAME(kernel, name, Kernel8, name);
    SAME(kernel, graph_node, Kernel8, graphNodeId);
    SAME(kernel, graph, Kernel8, graphId);
    SAME(copy, copy_kind, Memcpy5, copyKind);
    SAME(copy, src_kind, Memcpy5, srcKind);
    SAME(copy, dst_kind, Memcpy5, dstKind);
    SAME(copy, flags, Memcpy5, flags);
    SAME(copy, bytes, Memcpy5, bytes);
    SAME(copy, start, Memcpy5, start);
    SAME(copy, stream, Memcpy5, streamId);
    SAME(copy, correlation, Memcpy5, correlationId);
    SAME(copy, graph_node, Memcpy5, graphNodeId);
    SAME(copy, graph, Memcpy5, graphId);
    SAME(peer_copy, dst_device, MemcpyPtoP4, dstDeviceId);
    SAME(peer_copy, correlation, MemcpyPtoP4, correlationId);
    SAME(peer_copy, graph_node, MemcpyPtoP4, graphNodeId);
    SAME(peer_copy, graph, MemcpyPtoP4, graphId);
    SAME(memset, value, Memset4, value);
    SAME(memset, bytes, Memset4, bytes);
    SAME(memset, start, Memset4, start);
    SAME(memset, stream, Memset4, streamId);
    SAME(memset, correlation, Memset4, correlationId);
    SAME(memset, graph_node, Memset4, graphNodeId);
    SAME(memset, graph, Memset4, graphId);
    SAME(graph, correlation, GraphTrace, correlationId);
    SAME(graph, start, GraphTrace, start);
    SAME(graph, graph, GraphTrace, graphId);
    SAME(graph, stream, GraphTrace, streamId);
}

TEST(test_host)
{
    SAME(api, cbid, API, cbid);
    SAME(api, start, API, start);
    SAME(api, tid, API, threadId);
    SAME(api, correlation, API, correlationId);
    SAME(api, result, API, returnValue);
    SAME(sync, type, Synchronization, type);
    SAME(sync, start, Synchronization, start);
    SAME(sync, correlation, Synchronization, correlationId);
    SAME(sync, context, Synchronization, contextId);
    SAME(sync, stream, Synchronization, streamId);
    SAME(sync, event, Synchronization, cudaEventId);
    SAME(event, correlation, CudaEvent, correlationId);
    SAME(event, context, CudaEvent, contextId);
    SAME(event, stream, CudaEvent, streamId);
    SAME(event, event, CudaEvent, eventId);
    SAME(overhead, what, Overhead, overheadKind);
    SAME(overhead, object_kind, Overhead, objectKind);
    SAME(overhead, tid, Overhead, objectId.pt.threadId);
    SAME(overhead, start, Overhead, start);
    SAME(overhead, end, Overhead, end);
#if CUPTI_API_VERSION >= 26 /* 12.8 */
    SAME(sync, event_sync, Synchronization2, cudaEventSyncId);
    SAME(event, device, CudaEvent2, deviceId);
    SAME(event, device_time, CudaEvent2, deviceTimestamp);
    SAME(event, event_sync, CudaEvent2, cudaEventSyncId);
#endif
}

TEST(test_places)
{
    SAME(device, bandwidth, Device4, globalMemoryBandwidth);
    SAME(device, memory_bytes, Device4, globalMemorySize);
    SAME(device, l2_bytes, Device4, l2CacheSize);
    SAME(device, clock_khz, Device4, coreClockRate);
    SAME(device, copy_engines, Device4, numMemcpyEngines);
    SAME(device, sm_count, Device4, numMultiprocessors);
    SAME(device, cc_major, Device4, computeCapabilityMajor);
    SAME(device, cc_minor, Device4, computeCapabilityMinor);
    SAME(device, ordinal, Device4, id);
    SAME(device, uuid, Device4, uuid);
    SAME(device, name, Device4, name);
    SAME(context, context, Context, contextId);
    SAME(context, device, Context, deviceId);
    SAME(context, null_stream, Context, nullStreamId);
    SAME(stream, context, Stream, contextId);
    SAME(stream, stream, Stream, streamId);
    SAME(stream, priority, Stream, priority);
    SAME(stream, flag, Stream, flag);
}

TEST(test_numbers)
{
    ck_assert_int_eq(CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
    ck_assert_int_eq(CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
    ck_assert_int_eq(CUPTI_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
    ck_assert_int_eq(CUPTI_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER);
    ck_assert_int_eq(CUPTI_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME);
    ck_assert_int_eq(CUPTI_DEVICE, CUPTI_ACTIVITY_KIND_DEVICE);
    ck_assert_int_eq(CUPTI_CONTEXT, CUPTI_ACTIVITY_KIND_CONTEXT);
    ck_assert_int_eq(CUPTI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    ck_assert_int_eq(CUPTI_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD);
    ck_assert_int_eq(CUPTI_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
    ck_assert_int_eq(CUPTI_CUDA_EVENT, CUPTI_ACTIVITY_KIND_CUDA_EVENT);
    ck_assert_int_eq(CUPTI_STREAM, CUPTI_ACTIVITY_KIND_STREAM);
    ck_assert_int_eq(CUPTI_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    ck_assert_int_eq(CUPTI_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    ck_assert_int_eq(CUPTI_OBJECT_THREAD, CUPTI_ACTIVITY_OBJECT_THREAD);
    ck_assert_uint_eq(CUPTI_NONE, CUPTI_SYNCHRONIZATION_INVALID_VALUE);
    ck_assert_int_eq(2, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING);
    ck_assert_int_eq(3, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL);
}
