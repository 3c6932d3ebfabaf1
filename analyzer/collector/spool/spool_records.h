/* CUPTI's activity records, as far as they are read. Each struct is a prefix of every layout from
 * CUPTI 11.8 to 13.x: no member of these kinds has moved, newer versions only add members at the
 * end. A member exists if it ends within the record's size, which the spool states; others read as
 * 0. tests/unit/agent/test_spool_records.c compares the structs with NVIDIA's headers. */
#ifndef GPUPROF_COLLECTOR_SPOOL_SPOOL_RECORDS_H
#define GPUPROF_COLLECTOR_SPOOL_SPOOL_RECORDS_H

#include <stddef.h>
#include <stdint.h>

enum cupti_kind {
    CUPTI_MEMCPY = 1,
    CUPTI_MEMSET = 2,
    CUPTI_KERNEL = 3,
    CUPTI_DRIVER = 4,
    CUPTI_RUNTIME = 5,
    CUPTI_DEVICE = 8,
    CUPTI_CONTEXT = 9,
    CUPTI_CONCURRENT_KERNEL = 10,
    CUPTI_OVERHEAD = 17,
    CUPTI_MEMCPY2 = 22,
    CUPTI_CUDA_EVENT = 36,
    CUPTI_STREAM = 37,
    CUPTI_SYNCHRONIZATION = 38,
    CUPTI_GRAPH_TRACE = 51
};

#define CUPTI_NONE UINT32_MAX /* no stream, no event */

struct cupti_kernel {
    uint32_t kind;
    uint8_t cache_config, shared_memory_config;
    uint16_t registers;
    uint32_t partitioned_cache[2];
    int64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t smem_static, smem_dynamic;
    uint32_t local_memory[2];
    uint32_t correlation;
    int64_t grid_id;
    uint64_t name; /* a pointer in the target process */
    uint64_t reserved, queued, submitted;
    uint8_t launch[4];
    uint32_t smem_executed;
    uint64_t graph_node;
    uint32_t smem_limit;
    uint32_t graph;
};

struct cupti_copy {
    uint32_t kind;
    uint8_t copy_kind, src_kind, dst_kind;
    uint8_t flags; /* 1: asynchronous */
    int64_t bytes;
    int64_t start, end;
    uint32_t device, context, stream;
    uint32_t correlation, runtime_correlation, pad;
    uint64_t reserved;
    uint64_t graph_node;
    uint32_t graph;
};

struct cupti_peer_copy {
    uint32_t kind;
    uint8_t copy_kind, src_kind, dst_kind;
    uint8_t flags;
    int64_t bytes;
    int64_t start, end;
    uint32_t device, context, stream;
    uint32_t src_device, src_context, dst_device, dst_context;
    uint32_t correlation;
    uint64_t reserved;
    uint64_t graph_node;
    uint32_t graph;
};

struct cupti_memset {
    uint32_t kind, value;
    int64_t bytes;
    int64_t start, end;
    uint32_t device, context, stream;
    uint32_t correlation;
    uint16_t flags, memory_kind;
    uint32_t pad;
    uint64_t reserved;
    uint64_t graph_node;
    uint32_t graph;
};

struct cupti_api { /* calls of the runtime and of the driver */
    uint32_t kind, cbid;
    int64_t start, end;
    uint32_t pid, tid;
    uint32_t correlation;
    uint32_t result;
};

struct cupti_sync {
    uint32_t kind, type;
    int64_t start, end;
    uint32_t correlation, context;
    uint32_t stream, event; /* CUPTI_NONE: no stream, no event */
    int64_t event_sync;     /* from 12.8 on */
};

struct cupti_event {
    uint32_t kind, correlation, context, stream, event, pad;
    uint32_t device, pad2; /* this and the following members: from 12.8 on */
    uint64_t reserved;
    int64_t device_time;
    int64_t event_sync;
};

struct cupti_overhead {
    uint32_t kind, what;
    uint32_t object_kind; /* CUPTI_OBJECT_THREAD: pid and tid are valid */
    uint32_t pid, tid, object;
    int64_t start, end;
};

enum { CUPTI_OBJECT_THREAD = 2 };

struct cupti_graph { /* a whole CUDA graph as one operation */
    uint32_t kind, correlation;
    int64_t start, end;
    uint32_t device, graph, context, stream;
};

struct cupti_device {
    uint32_t kind, flags;
    uint64_t bandwidth; /* KB/s */
    int64_t memory_bytes;
    uint32_t constant_bytes, l2_bytes, warp, clock_khz, copy_engines, sm_count;
    uint32_t limits[14];
    uint32_t cc_major, cc_minor;
    uint32_t ordinal, ecc;
    uint8_t uuid[16];
    uint64_t name; /* a pointer in the target process */
};

struct cupti_context {
    uint32_t kind, context, device;
    uint16_t api, null_stream;
};

struct cupti_stream {
    uint32_t kind, context, stream;
    int32_t priority;
    uint32_t flag; /* 0 unknown, 1 default, 2 non-blocking, 3 the null stream */
    uint32_t correlation;
};

/* Checks that the compiler lays the members out as CUPTI does. */
#define AT(type, member, offset)                                                                   \
    _Static_assert(offsetof(struct cupti_##type, member) == (offset), #type "." #member)
AT(kernel, registers, 6);
AT(kernel, start, 16);
AT(kernel, device, 40);
AT(kernel, grid, 52);
AT(kernel, smem_static, 76);
AT(kernel, correlation, 92);
AT(kernel, name, 104);
AT(kernel, graph_node, 144);
AT(kernel, graph, 156);
AT(copy, start, 16);
AT(copy, correlation, 44);
AT(copy, graph_node, 64);
AT(copy, graph, 72);
AT(peer_copy, dst_device, 52);
AT(peer_copy, correlation, 60);
AT(peer_copy, graph, 80);
AT(memset, start, 16);
AT(memset, correlation, 44);
AT(memset, memory_kind, 50);
AT(memset, graph, 72);
AT(api, start, 8);
AT(api, tid, 28);
AT(api, result, 36);
AT(sync, correlation, 24);
AT(sync, event, 36);
AT(sync, event_sync, 40);
AT(event, device, 24);
AT(event, device_time, 40);
AT(event, event_sync, 48);
AT(overhead, tid, 16);
AT(overhead, start, 24);
AT(graph, device, 24);
AT(graph, stream, 36);
AT(device, clock_khz, 36);
AT(device, cc_major, 104);
AT(device, uuid, 120);
AT(device, name, 136);
AT(context, null_stream, 14);
AT(stream, flag, 16);
#undef AT

#endif
