/* Calls and records: what the virtual GPU tells CUPTI. Times are in ns of CLOCK_MONOTONIC. */
#ifndef VGPU_CORE_RECORD_H
#define VGPU_CORE_RECORD_H

#include "core/core.h"

/* An API call in progress. Calls nest: a library's call inside a program's. */
struct vg_api {
    uint32_t cbid; /* callback id of CUPTI's runtime domain, or of its driver domain */
    bool driver;   /* a call of the driver API that the program itself makes */
    uint32_t correlation;
    int64_t start_ns;
    int64_t host_ns; /* the least that the call costs; spun at its end */
    int result;
    int cancel;         /* cancel state of the thread before the call (pthread.h) */
    const char *symbol; /* kernel name of a launch, or NULL */
    struct vg_api *outer;
};

enum vg_record_kind {
    VG_REC_KERNEL,
    VG_REC_COPY,
    VG_REC_MEMSET,
    VG_REC_SYNC,
    VG_REC_EVENT,
    VG_REC_MEMORY,
    VG_REC_GRAPH,
    VG_REC_STREAM,
    VG_REC_OVERHEAD
};

/* Numbered as CUpti_ActivityMemoryKind and CUpti_ActivityMemcpyKind. */
enum vg_memory_kind {
    VG_MEM_PAGEABLE = 1,
    VG_MEM_PINNED = 2,
    VG_MEM_DEVICE = 3,
    VG_MEM_MANAGED = 5
};
enum vg_copy_kind {
    VG_COPY_HTOD = 1,
    VG_COPY_DTOH = 2,
    VG_COPY_DTOD = 8,
    VG_COPY_HTOH = 9,
    VG_COPY_PTOP = 10
};
enum vg_sync_type {
    VG_SYNC_EVENT = 1,
    VG_SYNC_WAIT_EVENT = 2,
    VG_SYNC_STREAM = 3,
    VG_SYNC_CONTEXT = 4
};

enum { /* numbered as CUpti_ActivityOverheadKind */
       VG_OVERHEAD_LAZY_LOADING = 5 << 16,
       VG_OVERHEAD_COMMAND_BUFFER_FULL = 6 << 16
};

struct vg_record {
    enum vg_record_kind kind;
    int device;
    uint32_t stream_id, context_id, correlation;
    uint32_t graph_id; /* of the executable graph; 0: none */
    uint64_t graph_node_id;
    int64_t start_ns, end_ns; /* CLOCK_MONOTONIC; the end may lie in the future */
    union {
        struct vg_kernel kernel;
        struct {
            uint64_t bytes;
            enum vg_copy_kind kind;
            enum vg_memory_kind src, dst;
            int src_device, dst_device;
            bool async;
        } copy;
        struct {
            uint64_t bytes;
            int value;
            enum vg_memory_kind memory;
            bool async;
        } set;
        struct {
            enum vg_sync_type type;
            uint32_t event_id;
            uint32_t recording; /* correlation id of the event recording that is awaited */
            int result;
        } sync;
        struct {
            uint32_t event_id;
        } event;
        struct {
            bool release, async;
            enum vg_memory_kind memory;
            uint64_t address, bytes;
        } memory;
        struct {
            uint32_t flags;
            int priority;
        } stream;
        struct {
            uint32_t kind;
        } overhead;
    };
};

/* The listener: libcupti, if it is loaded. Members may be NULL. They are called without the core's
 * lock, on the thread that made the call. */
struct vg_sink {
    void (*enter)(struct vg_api *api);
    void (*exit)(struct vg_api *api, int64_t end_ns);
    void (*record)(const struct vg_record *r);
    /* A device's context is made. False: calls get no numbers from here on. */
    bool (*context)(void);
};
void vg_set_sink(const struct vg_sink *sink);
void vg_emit(const struct vg_record *r);

/* Opens a call: starts the core, but takes no host time yet. Returns a cudaError_t number; if it is
 * not 0, the call ends with it, and vg_api_exit must not be called. */
int vg_api_enter(struct vg_api *api, uint32_t cbid);
int vg_api_enter_driver(struct vg_api *api, uint32_t cbid);
int vg_api_exit(struct vg_api *api, int result);
/* Opens the devices for NVML, without what a CUDA program does at its start (injection). */
int vg_open(void);
struct vg_api *vg_api_current(void);
int *vg_last_error(void); /* of the thread */
/* Marks a thread of the virtual GPU, which a program without it would not have, by its name.
 * vg_helpers_alone: true if main has left by pthread_exit and only such threads (or a profiler's,
 * "gpuprof") remain. Then they end, since the process ends with its last thread. They ask five
 * times a second. */
enum { VG_HELPER_NS = 200000000 };
void vg_helper_begin(void);
bool vg_helpers_alone(void);

#endif
