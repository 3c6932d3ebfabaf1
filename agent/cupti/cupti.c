/* Starts, stops and finishes CUPTI, by the rules in cupti.h. */
#include "agent/cupti/cupti.h"

#include <stdio.h>
#include <string.h>

#include "agent/core/clock.h"
#include "agent/core/resolve.h"
#include "agent/core/window.h"
#include "agent/cupti/holder.h"
#include "agent/cupti/second.h"

struct cupti cupti;

enum { FIRST_BUFFERS = 8, SUBSCRIBER_TAKEN = 39, PROBE_BYTES = 8192 };

/* The kinds of records that the agent always requests. Two kinds are never requested: KERNEL,
 * because it makes the GPU run one kernel at a time, and MARKER and NAME, because nvtx.c is cheaper
 * and works without a GPU. */
static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_RUNTIME,
    CUPTI_ACTIVITY_KIND_DRIVER,
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
    CUPTI_ACTIVITY_KIND_CUDA_EVENT, /* which recording of an event a wait refers to */
    CUPTI_ACTIVITY_KIND_OVERHEAD,
    CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API,
};

/* Kinds that stay on once they are on. Until the GPU has done a copy or memset, its record points
 * to memory that CUPTI has allocated for it; see must_run(). Such records are few. */
static bool stays_on(CUpti_ActivityKind kind)
{
    return kind == CUPTI_ACTIVITY_KIND_MEMCPY || kind == CUPTI_ACTIVITY_KIND_MEMCPY2 ||
           kind == CUPTI_ACTIVITY_KIND_MEMSET;
}

static _Atomic bool off;        /* we turned the kinds off, because the window is closed */
static _Atomic bool were_on;    /* the kinds were on at some time since CUPTI started */
static _Atomic bool no_kernels; /* CUPTI refused the kind of kernels when it was last turned on */

/* Kinds that CUPTI reports once: at its start, or when the device, context or stream is created. */
static const CUpti_ActivityKind one_shots[] = {
    CUPTI_ACTIVITY_KIND_DEVICE,
    CUPTI_ACTIVITY_KIND_CONTEXT,
    CUPTI_ACTIVITY_KIND_STREAM,
};

/* Frequent, cheap calls that tell nothing. CUPTI 12.5 and newer can leave them out. cuDNN and
 * PyTorch make one or two queries of a function per launch, and each record costs the program 0.5
 * us (docs/measurements). */
static const uint16_t quiet_runtime[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetErrorString_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaSetDevice_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetErrorName_v6050,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaDeviceGetAttribute_v5000,
    CUPTI_RUNTIME_TRACE_CBID_cudaFuncGetAttributes_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaFuncSetAttribute_v9000,
    CUPTI_RUNTIME_TRACE_CBID_cudaOccupancyMaxActiveBlocksPerMultiprocessor_v6000,
    CUPTI_RUNTIME_TRACE_CBID_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_v7000,
    CUPTI_RUNTIME_TRACE_CBID___cudaPushCallConfiguration_v13000,
    CUPTI_RUNTIME_TRACE_CBID___cudaPopCallConfiguration_v13000,
    CUPTI_RUNTIME_TRACE_CBID___cudaGetKernel_v13000,
};
static const uint16_t quiet_driver[] = {
    CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent,
    CUPTI_DRIVER_TRACE_CBID_cuCtxSetCurrent,
    CUPTI_DRIVER_TRACE_CBID_cuCtxGetDevice,
    CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxGetState,
    CUPTI_DRIVER_TRACE_CBID_cuKernelGetAttribute,
    CUPTI_DRIVER_TRACE_CBID_cuKernelGetName, /* the runtime calls it at each launch */
    CUPTI_DRIVER_TRACE_CBID_cuDeviceGetAttribute,
    CUPTI_DRIVER_TRACE_CBID_cuCtxGetLimit,
    CUPTI_DRIVER_TRACE_CBID_cuFuncGetAttribute,
    CUPTI_DRIVER_TRACE_CBID_cuKernelGetFunction,
    CUPTI_DRIVER_TRACE_CBID_cuOccupancyMaxActiveBlocksPerMultiprocessor,
    CUPTI_DRIVER_TRACE_CBID_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
    CUPTI_DRIVER_TRACE_CBID_cuPointerGetAttribute,
    CUPTI_DRIVER_TRACE_CBID_cuPointerGetAttributes,
    CUPTI_DRIVER_TRACE_CBID_cuGetErrorString,
    CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress,
    CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress_v2,
};

static uint64_t read_timestamp(void)
{
    uint64_t ns = 0;
    /* While another tool holds CUPTI, a call of the wrong interface could keep it from its own. */
    if (cupti.waiting)
        return 0;
    return cupti.api.GetTimestamp(&ns) == CUPTI_SUCCESS ? ns : 0;
}

/* Finds the size that this version of CUPTI gives each kind of record: it is the distance between
 * two such records in a row. That needs no driver, and works for versions newer than our
 * headers. */
static void probe_strides(void)
{
    static _Alignas(8) uint32_t buffer[PROBE_BYTES / sizeof(uint32_t)];
    for (uint32_t kind = 1; kind < SPOOL_STRIDES; kind++) {
        CUpti_Activity *first = NULL, *second;
        for (size_t i = 0; i < AGENT_ARRAY_LEN(buffer); i++)
            buffer[i] = kind;
        if (cupti.api.ActivityGetNextRecord((uint8_t *)buffer, sizeof buffer, &first) !=
            CUPTI_SUCCESS)
            continue;
        second = first;
        if (cupti.api.ActivityGetNextRecord((uint8_t *)buffer, sizeof buffer, &second) !=
            CUPTI_SUCCESS)
            continue;
        agent.spool->stride[kind] = (uint32_t)((char *)second - (char *)first);
    }
}

static void complain(struct thread *t, const char *code, const char *what, CUptiResult rc)
{
    const char *why = NULL;
    char text[512];
    cupti.api.GetResultString(rc, &why);
    snprintf(text, sizeof text, "%s: %s (CUPTI error %d).", what, why ? why : "unknown", (int)rc);
    about_health(t, SPOOL_WARNING, code, text, rc);
}

/* Tries to subscribe, to learn whether another tool has. gpuprof unsubscribes at once: activity
 * records need no subscription, and ours would keep out a client that comes later. */
static CUptiResult subscribe_for_a_moment(void)
{
    CUpti_SubscriberHandle handle = NULL;
    if (!cupti.api.Subscribe || !cupti.api.Unsubscribe)
        return CUPTI_SUCCESS;
    CUptiResult rc = cupti.api.Subscribe(&handle, cupti_never_called, NULL);
    if (rc == CUPTI_SUCCESS)
        cupti.api.Unsubscribe(handle);
    return rc;
}

bool cupti_held(void)
{
    return !peer_subscribed() && !cupti_range_held() &&
           (int)subscribe_for_a_moment() == SUBSCRIBER_TAKEN;
}

/* Tests whether gpuprof can use CUPTI. 0: yes; 1: another tool holds it; -1: CUPTI does not
 * work. */
static int subscribe(struct thread *t)
{
    CUptiResult rc = peer_subscribed() ? CUPTI_SUCCESS : subscribe_for_a_moment();
    if (rc == CUPTI_SUCCESS)
        return 0;
    if ((int)rc != SUBSCRIBER_TAKEN) {
        complain(t, "cupti-start", "CUPTI does not start: gpuprof cannot record GPU work", rc);
        return -1;
    }
    char holder[256], text[640];
    holder_name(&cupti.api, holder, sizeof holder);
    snprintf(text, sizeof text,
             "%s holds CUPTI: gpuprof cannot record GPU work meanwhile. Run without it for a full "
             "profile.",
             holder);
    about_health(t, SPOOL_WARNING, "cupti-subscriber", text, rc);
    return 1;
}

static void quiet(CUptiResult(CUPTIAPI *enable)(CUpti_CallbackId, uint8_t), const uint16_t *ids,
                  size_t n)
{
    for (size_t i = 0; enable && i < n; i++)
        enable(ids[i], 0);
}

static CUptiResult enable_kinds(void)
{
    CUptiResult worst = CUPTI_SUCCESS;
    for (size_t i = 0; i < AGENT_ARRAY_LEN(kinds); i++) {
        CUptiResult rc = cupti.api.ActivityEnable(kinds[i]);
        if (i == 0)
            atomic_store(&no_kernels, rc != CUPTI_SUCCESS);
        if (rc != CUPTI_SUCCESS && (i == 0 || worst == CUPTI_SUCCESS))
            worst = rc;
    }
    atomic_store(&were_on, true);
    atomic_store(&cupti.kinds_on, true);
    /* After the kinds, because enabling a kind enables all its calls again. */
    quiet(cupti.api.ActivityEnableRuntimeApi, quiet_runtime, AGENT_ARRAY_LEN(quiet_runtime));
    quiet(cupti.api.ActivityEnableDriverApi, quiet_driver, AGENT_ARRAY_LEN(quiet_driver));
    return worst;
}

void cupti_register(void)
{
    cupti.api.ActivityRegisterCallbacks(cupti_buffer_request, cupti_buffer_complete);
    if (atomic_load(&cupti.kinds_on))
        enable_kinds();
}

bool cupti_kind_used(uint32_t kind)
{
    bool used = false, on = atomic_load(&cupti.kinds_on);
    for (size_t i = 0; i < AGENT_ARRAY_LEN(kinds); i++)
        used |= (uint32_t)kinds[i] == kind;
    for (size_t i = 0; i < AGENT_ARRAY_LEN(one_shots); i++)
        used |= (uint32_t)one_shots[i] == kind;
    on |= stays_on((CUpti_ActivityKind)kind) && atomic_load(&were_on);
    return used && on && cupti_registered();
}

/* True for versions of CUPTI that must never be turned off. 13.0.0 can deadlock then. With 13.0.1
 * four of 63 trainings on an H200 crashed three to four seconds after gpuprof had turned off all
 * kinds, in CUPTI's thread that completes copies and memsets: it reads freed memory
 * (docs/measurements). stays_on() may be enough to prevent this, but no card has shown it yet;
 * GPUPROF_CUPTI_PAUSES=1 is there to test that. */
static bool must_run(void)
{
    const char *pauses = agent_env("GPUPROF_CUPTI_PAUSES");
    if (cupti.version == CUPTI_API_13_0_1)
        return !pauses || strcmp(pauses, "1") != 0;
    return cupti.version == CUPTI_API_13_0_0;
}

bool cupti_stop_kinds(void)
{
    if (cupti.waiting)
        return false;
    if (must_run()) {
        atomic_store(&cupti.runs_on, true);
        return false;
    }
    atomic_store(&cupti.kinds_on, false);
    for (size_t i = 0; i < AGENT_ARRAY_LEN(kinds); i++)
        if (!stays_on(kinds[i]) && !peer_wants((uint32_t)kinds[i]))
            cupti.api.ActivityDisable(kinds[i]);
    return true;
}

/* Turns the kinds on or off. Off only after the first kernel, unless gpuprof subscribes: if CUPTI
 * (as 13.0.1) was on, and is off while the program makes its context, it never begins to number the
 * calls. Turned on again, it gives all of them the same correlation id, and no launch can be told
 * from another. */
void cupti_switch(bool on)
{
    if (cupti.waiting)
        return;
    if (on && atomic_exchange(&off, false))
        enable_kinds();
    else if (!on && !atomic_load(&off) && (cupti_names_seen().kernels > 0 || cupti_range_held()))
        atomic_store(&off, cupti_stop_kinds());
}

static int begin(struct thread *t)
{
    size_t one = sizeof(uint8_t);
    uint8_t yes = 1;
    probe_strides();
    about_meta_number(t, "cupti_interface", second_used() ? 2 : 1);
    if (cupti.api.ActivitySetAttribute) /* the collector hands buffers back zeroed */
        cupti.api.ActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &one, &yes);
    if (cupti.api.SetThreadIdType)
        cupti.api.SetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    CUptiResult rc =
        cupti.api.ActivityRegisterCallbacks(cupti_buffer_request, cupti_buffer_complete);
    if (rc != CUPTI_SUCCESS) {
        complain(t, "cupti-start", "CUPTI accepts no buffers: gpuprof cannot record GPU work", rc);
        return -1;
    }
    cupti_range_watch(t);
    /* From here on the recording knows what the GPU does. */
    agent.spool->cupti_version = cupti.version;
    if (window_light() && must_run()) { /* on for good, it would not be light any more */
        window_give_up();
        atomic_store(&cupti.left_off, true);
    }
    bool later = !window_wants_cupti(clock_now_ns()); /* no window wants GPU records yet */
    atomic_store(&off, later);
    rc = later ? CUPTI_SUCCESS : enable_kinds();
    if (rc != CUPTI_SUCCESS && atomic_load(&no_kernels) && second_used()) {
        cupti_range_release();
        second_close(&cupti.api);
        return begin(t); /* by the first interface */
    }
    if (rc != CUPTI_SUCCESS)
        complain(t, "cupti-kinds", "CUPTI does not record everything that gpuprof requested", rc);
    for (size_t i = 0; i < AGENT_ARRAY_LEN(one_shots); i++)
        if (!cupti.api.ActivityEnableAndDump ||
            cupti.api.ActivityEnableAndDump(one_shots[i]) != CUPTI_SUCCESS)
            cupti.api.ActivityEnable(one_shots[i]);
    return 0;
}

void cupti_forget(void)
{
    atomic_store(&cupti.generation, 0);
    atomic_store(&were_on, false);
    second_forget();
    cupti.thread = false;
}

void cupti_start(struct thread *t)
{
    char why[512];
    if (atomic_load(&cupti.generation) == agent.generation)
        return;
    if (vendor_load_cupti(&cupti.api, why, sizeof why) != 0) {
        about_health(t, SPOOL_WARNING, "cupti-missing", why, 0);
        return;
    }
    cupti.api.GetVersion(&cupti.version);
    about_meta_number(t, "cupti_version", cupti.version);
    about_meta(t, "libcupti", cupti.api.path);
    second_forget();
    int held = second_open(&cupti.api, cupti.version) ? 0 : subscribe(t);
    if (held < 0)
        return;
    atomic_store(&cupti.arena, 0);
    cupti_buffers_prepare(FIRST_BUFFERS);
    if (cupti_names_open() != 0 || atomic_load(&cupti.arena) == 0) {
        about_health(t, SPOOL_WARNING, "disk-full",
                     "No room for the recording: gpuprof cannot record GPU work. Point -o to a "
                     "disk with 100 MB free, or raise --max-size.",
                     0);
        return;
    }
    clock_use_cupti(read_timestamp);
    cupti.waiting = held != 0;
    cupti_publish_begin();
    peer_forget();
    /* From here on CUPTI's requests are answered. */
    atomic_store(&cupti.generation, agent.generation);
    if (cupti.waiting || begin(t) == 0)
        cupti.thread = cupti_flush_start() == 0;
}

void cupti_try_again(struct thread *t)
{
    if (!second_open(&cupti.api, cupti.version) && cupti_held())
        return;
    about_health(t, SPOOL_INFO, "cupti-free",
                 "The tool that held CUPTI released it: gpuprof records GPU work from here on.", 0);
    cupti.waiting = false;
    begin(t);
}
