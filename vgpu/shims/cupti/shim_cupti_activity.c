/* The first activity interface: kinds, filters, attributes, flushes. */
#include "shims/cupti/shim_cupti_client.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ATTRIBUTES = 16 };

static size_t attributes[ATTRIBUTES] = {3200000, 8u << 20, 250, 65536, 250, 0, 3, 3, 0, 1};
static CUpti_ActivityThreadIdType thread_id_type = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;
static _Thread_local uint32_t own_tid;

const struct misbehaviour *cupti_faults(void)
{
    static struct misbehaviour f;
    static _Atomic bool read;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (read)
        return &f;
    pthread_mutex_lock(&lock);
    if (!read) {
        int64_t now = vg_now_ns();
        double steal_ms = vg_option("steal_callbacks_after", -1);
        double off_ms = vg_option("kernels_off_after", -1);
        const char *step = vg_option_text("clock_step");
        if (step) {
            char *colon = NULL;
            f.step_ns = (int64_t)(strtod(step, &colon) * 1e9);
            f.step_at_ns = now + (*colon == ':' ? (int64_t)(strtod(colon + 1, NULL) * 1e6) : 0);
        }
        f.drop = vg_option("drop", 0);
        f.late_ns = (int64_t)(vg_option("late", 0) * 1e6);
        f.switch_loss_ns = (int64_t)(vg_option("switch_loss", 0) * 1e6);
        f.slow_return_ns = (int64_t)(vg_option("slow_return", 0) * 1e6);
        f.steal_at_ns = steal_ms >= 0 ? now + (int64_t)(steal_ms * 1e6) : 0;
        f.kernels_off_at_ns = off_ms >= 0 ? now + (int64_t)(off_ms * 1e6) : 0;
        f.untimed_after = (uint64_t)vg_option("untimed_after", 0);
        f.disorder = vg_option("disorder", 0) != 0;
        f.busy_subscriber = vg_option("busy_subscriber", 0) != 0;
        f.copies_off_crash = vg_option("copies_off_crash", 0) != 0;
        f.null_crash = vg_option("null_buffer_crash", 0) != 0;
        read = true;
    }
    pthread_mutex_unlock(&lock);
    return &f;
}

uint32_t cupti_thread_id(bool system)
{
    if (!system && thread_id_type == CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT)
        return (uint32_t)(uintptr_t)pthread_self();
    if (!own_tid)
        own_tid = (uint32_t)syscall(SYS_gettid);
    return own_tid;
}

/* A call of the first interface: it works unless the second one is in use. */
#define FIRST                                                                                      \
    do {                                                                                           \
        CUptiResult rc_ = cupti_first();                                                           \
        if (rc_ != CUPTI_SUCCESS)                                                                  \
            return rc_;                                                                            \
    } while (0)

static struct CUpti_Subscriber_st *const all = &cupti_clients[0];

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    FIRST;
    return client_enable(all, (uint32_t)kind, false);
}

CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
    FIRST;
    return client_enable(all, (uint32_t)kind, true);
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    FIRST;
    return client_disable(all, (uint32_t)kind);
}

CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
    (void)context;
    return cuptiActivityEnable(kind);
}

CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind)
{
    (void)context;
    return cuptiActivityDisable(kind);
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t on)
{
    FIRST;
    return client_filter(all, false, cbid, on);
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t on)
{
    FIRST;
    return client_filter(all, true, cbid, on);
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete)
{
    FIRST;
    if (!request || !complete)
        return CUPTI_ERROR_INVALID_PARAMETER;
    buffers_register(request, complete);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    if (vg_start() != VG_OK)
        return CUPTI_ERROR_UNKNOWN;
    buffers_flush(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlush(CUcontext context, uint32_t stream, uint32_t flag)
{
    (void)context, (void)stream;
    return cuptiActivityFlushAll(flag);
}

/* The shim returns full, complete buffers on its own anyway, so a flush period changes nothing. */
CUptiResult cuptiActivityFlushPeriod(uint32_t ms)
{
    (void)ms;
    return vg_start() == VG_OK ? CUPTI_SUCCESS : CUPTI_ERROR_UNKNOWN;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped)
{
    (void)context, (void)stream;
    FIRST;
    if (!dropped)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *dropped = buffers_dropped(all);
    return CUPTI_SUCCESS;
}

static bool one_byte(CUpti_ActivityAttribute attr)
{
    return attr == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER ||
           attr == CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED ||
           attr == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t *size, void *value)
{
    size_t v = 0;
    if (vg_start() != VG_OK)
        return CUPTI_ERROR_UNKNOWN;
    FIRST;
    if (!size || !value || (unsigned)attr >= ATTRIBUTES)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (attr == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER && cupti_layout()->api_version < 21)
        return CUPTI_ERROR_INVALID_PARAMETER;
    size_t need = one_byte(attr) ? 1 : sizeof v;
    if (*size < need)
        return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
    memcpy(&v, value, need);
    attributes[attr] = v;
    if (attr == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)
        all->zeroed = v != 0;
    if (attr == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER)
        buffers_per_thread(v != 0);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attr, size_t *size, void *value)
{
    if (vg_start() != VG_OK)
        return CUPTI_ERROR_UNKNOWN;
    FIRST;
    if (!size || !value || (unsigned)attr >= ATTRIBUTES)
        return CUPTI_ERROR_INVALID_PARAMETER;
    size_t need = one_byte(attr) ? 1 : sizeof attributes[0];
    if (*size < need)
        return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
    size_t v = attr == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER ? buffers_are_per_thread()
                                                                      : attributes[attr];
    memcpy(value, &v, need);
    *size = need;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    if (vg_start() != VG_OK)
        return CUPTI_ERROR_UNKNOWN;
    FIRST;
    if ((unsigned)type > CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
        return CUPTI_ERROR_INVALID_PARAMETER;
    thread_id_type = type;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
    if (!type)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *type = thread_id_type;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *stamp)
{
    FIRST;
    if (!stamp)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *stamp = cupti_stamp(vg_now_ns());
    return CUPTI_SUCCESS;
}

/* Accepted without effect: the model has nothing to add to the records. */
CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t on)
{
    (void)on;
    FIRST;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableLaunchAttributes(uint8_t on)
{
    (void)on;
    FIRST;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t on)
{
    (void)on;
    FIRST;
    return cupti_layout()->api_version < 26 ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t on)
{
    (void)on;
    FIRST;
    return cupti_layout()->api_version < 130000 ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableAllocationSource(uint8_t on)
{
    (void)on;
    FIRST;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableDeviceGraph(uint8_t on)
{
    (void)on;
    FIRST;
    return CUPTI_SUCCESS;
}

/* Managed memory does not migrate in the model. */
CUptiResult
cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig *config,
                                           uint32_t count)
{
    (void)config, (void)count;
    return CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED;
}

/* Hardware tracing exists only on Blackwell. */
CUptiResult cuptiActivityEnableHWTrace(uint8_t on)
{
    (void)on;
    return CUPTI_ERROR_NOT_SUPPORTED;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc f)
{
    FIRST;
    if (!f)
        return CUPTI_ERROR_INVALID_PARAMETER;
    cupti_clock_own(f);
    return CUPTI_SUCCESS;
}

/* With several subscribers it does nothing: one tool must not end CUPTI for the others. */
CUptiResult cuptiFinalize(void)
{
    if (cupti_subscribers() > 1)
        return CUPTI_SUCCESS;
    for (int k = 0; k < KINDS; k++)
        all->enabled[k] = false;
    buffers_flush(true);
    buffers_register(NULL, NULL);
    callbacks_end();
    cupti_clock_own(NULL);
    cupti_scope_end();
    return CUPTI_SUCCESS;
}
