/* Records whose fields the client has chosen. A field's number is its place in the vendor's list for the kind, and its type
 * is what that list says. The model puts the chosen fields one after another, each at its own alignment, and fills the
 * record up to eight bytes; the vendor does not say how it does, so clients take the places from the layout that comes with
 * each buffer. */
#include "shims/cupti/shim_cupti_client.h"

#include <stdlib.h>
#include <string.h>

/* A field: where the record of all fields has it, its size there, and its size in a chosen record. No size there: the model
 * does not know it, and it is 0. */
struct field {
    uint16_t from, bytes, own;
};
#define SAME(type, member)                                                                         \
    {                                                                                              \
        offsetof(type, member), sizeof(((type *)0)->member), sizeof(((type *)0)->member)           \
    }
#define WIDE(type, member)                                                                         \
    {                                                                                              \
        offsetof(type, member), sizeof(((type *)0)->member), 8                                     \
    }
#define UNKNOWN(bytes)                                                                             \
    {                                                                                              \
        0, 0, bytes                                                                                \
    }
#define AT(offset, bytes)                                                                          \
    {                                                                                              \
        offset, bytes, bytes                                                                       \
    }

#define K(member) SAME(CUpti_ActivityKernel10, member)
static const struct field kernel[] = {K(kind),
                                      UNKNOWN(1),
                                      UNKNOWN(1),
                                      K(sharedMemoryConfig),
                                      K(registersPerThread),
                                      K(partitionedGlobalCacheRequested),
                                      K(partitionedGlobalCacheExecuted),
                                      K(start),
                                      K(end),
                                      K(completed),
                                      K(deviceId),
                                      WIDE(CUpti_ActivityKernel10, contextId),
                                      WIDE(CUpti_ActivityKernel10, streamId),
                                      K(gridX),
                                      K(gridY),
                                      K(gridZ),
                                      K(blockX),
                                      K(blockY),
                                      K(blockZ),
                                      K(staticSharedMemory),
                                      K(dynamicSharedMemory),
                                      K(localMemoryPerThread),
                                      WIDE(CUpti_ActivityKernel10, correlationId),
                                      K(gridId),
                                      K(name),
                                      K(queued),
                                      K(submitted),
                                      K(launchType),
                                      K(isSharedMemoryCarveoutRequested),
                                      K(sharedMemoryCarveoutRequested),
                                      K(sharedMemoryExecuted),
                                      K(graphNodeId),
                                      K(shmemLimitConfig),
                                      K(graphId),
                                      K(pAccessPolicyWindow),
                                      K(channelID),
                                      K(channelType),
                                      K(clusterX),
                                      K(clusterY),
                                      K(clusterZ),
                                      K(clusterSchedulingPolicy),
                                      K(localMemoryTotal_v2),
                                      K(maxPotentialClusterSize),
                                      K(maxActiveClusters),
                                      K(isDeviceLaunched),
                                      UNKNOWN(4),
                                      UNKNOWN(4),
                                      UNKNOWN(4),
                                      UNKNOWN(8)};
#undef K
#define C(member) SAME(CUpti_ActivityMemcpy6, member)
static const struct field copy[] = {C(kind),
                                    C(copyKind),
                                    C(srcKind),
                                    C(dstKind),
                                    C(flags),
                                    C(bytes),
                                    C(start),
                                    C(end),
                                    C(deviceId),
                                    C(contextId),
                                    C(streamId),
                                    WIDE(CUpti_ActivityMemcpy6, correlationId),
                                    C(graphNodeId),
                                    C(graphId),
                                    C(channelID),
                                    C(channelType),
                                    C(isDeviceLaunched),
                                    C(copyCount),
                                    UNKNOWN(4),
                                    UNKNOWN(8)};
#undef C
#define P(member) SAME(CUpti_ActivityMemcpyPtoP4, member)
static const struct field peer_copy[] = {
    P(kind),         P(copyKind),
    P(srcKind),      P(dstKind),
    P(flags),        P(bytes),
    P(start),        P(end),
    P(deviceId),     P(contextId),
    P(streamId),     P(srcDeviceId),
    P(srcContextId), P(dstDeviceId),
    P(dstContextId), WIDE(CUpti_ActivityMemcpyPtoP4, correlationId),
    P(graphNodeId),  P(graphId),
    P(channelID),    P(channelType)};
#undef P
#define M(member) SAME(CUpti_ActivityMemset4, member)
static const struct field set[] = {M(kind),
                                   M(value),
                                   M(bytes),
                                   M(start),
                                   M(end),
                                   M(deviceId),
                                   M(contextId),
                                   M(streamId),
                                   WIDE(CUpti_ActivityMemset4, correlationId),
                                   M(flags),
                                   M(memoryKind),
                                   M(graphNodeId),
                                   M(graphId),
                                   M(channelID),
                                   M(channelType),
                                   M(isDeviceLaunched),
                                   UNKNOWN(4),
                                   UNKNOWN(8)};
#undef M
#define A(member) SAME(CUpti_ActivityAPI, member)
static const struct field call[] = {A(kind),
                                    A(cbid),
                                    A(start),
                                    A(end),
                                    A(processId),
                                    WIDE(CUpti_ActivityAPI, threadId),
                                    WIDE(CUpti_ActivityAPI, correlationId),
                                    A(returnValue)};
#undef A
#define S(member) SAME(CUpti_ActivitySynchronization2, member)
static const struct field synchronization[] = {S(kind),
                                               S(type),
                                               S(start),
                                               S(end),
                                               WIDE(CUpti_ActivitySynchronization2, correlationId),
                                               S(contextId),
                                               S(streamId),
                                               WIDE(CUpti_ActivitySynchronization2, cudaEventId),
                                               S(cudaEventSyncId),
                                               S(returnValue)};
#undef S
#define E(member) SAME(CUpti_ActivityCudaEvent2, member)
static const struct field event[] = {E(kind),
                                     WIDE(CUpti_ActivityCudaEvent2, correlationId),
                                     E(contextId),
                                     E(streamId),
                                     WIDE(CUpti_ActivityCudaEvent2, eventId),
                                     E(deviceId),
                                     E(deviceTimestamp),
                                     E(cudaEventSyncId),
                                     UNKNOWN(8),
                                     UNKNOWN(4),
                                     UNKNOWN(4),
                                     UNKNOWN(8)};
#undef E
#define O(member) SAME(CUpti_ActivityOverhead3, member)
static const struct field overhead[] = {O(kind),
                                        O(overheadKind),
                                        AT(offsetof(CUpti_ActivityOverhead3, objectId), 4),
                                        {offsetof(CUpti_ActivityOverhead3, objectId) + 4, 4, 8},
                                        O(start),
                                        O(end),
                                        WIDE(CUpti_ActivityOverhead3, correlationId),
                                        O(overheadData)};
#undef O
#define G(member) SAME(CUpti_ActivityGraphTrace2, member)
static const struct field graph[] = {G(kind),        WIDE(CUpti_ActivityGraphTrace2, correlationId),
                                     G(start),       G(end),
                                     G(deviceId),    G(graphId),
                                     G(contextId),   G(streamId),
                                     G(endDeviceId), G(endContextId)};
#undef G
#define X(member) SAME(CUpti_ActivityExternalCorrelation, member)
static const struct field external[] = {X(kind), X(externalKind), X(externalId),
                                        WIDE(CUpti_ActivityExternalCorrelation, correlationId)};
#undef X
#define T(member) SAME(CUpti_ActivityStream, member)
static const struct field stream[] = {T(kind),     T(contextId),
                                      T(streamId), T(priority),
                                      T(flag),     WIDE(CUpti_ActivityStream, correlationId)};
#undef T
#define Y(member) SAME(CUpti_ActivityMemory4, member)
static const struct field memory[] = {Y(kind),       Y(memoryOperationType),
                                      Y(memoryKind), WIDE(CUpti_ActivityMemory4, correlationId),
                                      Y(address),    Y(bytes),
                                      Y(timestamp),  Y(processId),
                                      Y(deviceId),   Y(contextId),
                                      Y(streamId),   Y(isAsync),
                                      UNKNOWN(4),    UNKNOWN(8),
                                      UNKNOWN(8),    UNKNOWN(8),
                                      UNKNOWN(8),    UNKNOWN(8),
                                      Y(source)};
#undef Y

#define N(member) SAME(CUpti_ActivityContext3, member)
static const struct field context[] = {N(kind),
                                       N(contextId),
                                       N(deviceId),
                                       N(computeApiKind),
                                       {offsetof(CUpti_ActivityContext3, nullStreamId), 2, 4},
                                       N(parentContextId),
                                       N(isGreenContext),
                                       N(numMultiprocessors),
                                       N(cigMode),
                                       UNKNOWN(4)};
#undef N
/* Host functions, in a graph and in a stream: the model has no records of these. */
static const struct field host_node[] = {AT(0, 4),   UNKNOWN(4), UNKNOWN(4), UNKNOWN(4),
                                         UNKNOWN(8), UNKNOWN(4), UNKNOWN(8), UNKNOWN(4),
                                         UNKNOWN(8), UNKNOWN(8), UNKNOWN(8)};
static const struct field host_launch[] = {AT(0, 4),   UNKNOWN(4), UNKNOWN(4),
                                           UNKNOWN(4), UNKNOWN(8), UNKNOWN(4),
                                           UNKNOWN(8), UNKNOWN(8), UNKNOWN(8)};

static const struct {
    const struct field *fields;
    size_t n;
} of_kind[KINDS] = {
#define OF(kind, list) [CUPTI_ACTIVITY_KIND_##kind] = {list, sizeof list / sizeof *list}
    OF(KERNEL, kernel),
    OF(CONCURRENT_KERNEL, kernel),
    OF(MEMCPY, copy),
    OF(MEMCPY2, peer_copy),
    OF(MEMSET, set),
    OF(DRIVER, call),
    OF(RUNTIME, call),
    OF(INTERNAL_LAUNCH_API, call),
    OF(SYNCHRONIZATION, synchronization),
    OF(CUDA_EVENT, event),
    OF(OVERHEAD, overhead),
    OF(GRAPH_TRACE, graph),
    OF(EXTERNAL_CORRELATION, external),
    OF(STREAM, stream),
    OF(MEMORY2, memory),
    OF(CONTEXT, context),
    [56] = {host_node, sizeof host_node / sizeof *host_node},
    [58] = {host_launch, sizeof host_launch / sizeof *host_launch},
#undef OF
};

static size_t up_to(size_t at, size_t alignment)
{
    return (at + alignment - 1) / alignment * alignment;
}

static void lay_out(struct own_record *r, uint32_t kind, const struct second_selection *s)
{
    size_t at = 0;
    for (size_t i = 0; i < s->fields; i++) {
        const struct field *f = &of_kind[kind].fields[s->ids[i]];
        at = up_to(at, f->own);
        r->entries[i] = (struct second_entry){sizeof r->entries[i], s->ids[i], at, f->own, f->own};
        r->source[i].from = f->from;
        r->source[i].bytes = f->bytes;
        at += f->own;
    }
    r->layout = (struct second_layout){sizeof r->layout, r->entries, s->fields, up_to(at, 8)};
}

CUptiResult client_choose(struct CUpti_Subscriber_st *c, uint32_t kind,
                          const struct second_selection *s)
{
    if (kind >= KINDS || !of_kind[kind].n)
        return CUPTI_ERROR_NOT_SUPPORTED;
    if (!s->ids || s->fields == 0 || s->fields > OWN_FIELDS || s->ids[0] != 0)
        return CUPTI_ERROR_INVALID_PARAMETER;
    for (size_t i = 0; i < s->fields; i++)
        if (s->ids[i] < 0 || (size_t)s->ids[i] >= of_kind[kind].n)
            return CUPTI_ERROR_INVALID_PARAMETER;
    if (!c->own[kind])
        c->own[kind] = calloc(1, sizeof *c->own[kind]);
    if (!c->own[kind])
        return CUPTI_ERROR_OUT_OF_MEMORY;
    buffers_lock();
    lay_out(c->own[kind], kind, s);
    c->layouts[kind] = &c->own[kind]->layout;
    buffers_unlock();
    return CUPTI_SUCCESS;
}

size_t client_stride(const struct CUpti_Subscriber_st *c, uint32_t kind)
{
    if (kind >= KINDS)
        return 0;
    if (c->own_records)
        return c->layouts[kind] ? c->layouts[kind]->record : 0;
    return cupti_layout()->stride[kind];
}

/* Where the chosen record has a field of the whole one; 0: it was not chosen. */
static unsigned place_of(const struct own_record *r, unsigned from)
{
    for (size_t i = 1; i < r->layout.fields; i++)
        if (r->source[i].bytes && r->source[i].from == from)
            return (unsigned)r->entries[i].offset;
    return 0;
}

static void choose(const struct own_record *r, const uint8_t *whole, const struct timing *t,
                   struct held *out)
{
    out->bytes = r->layout.record;
    memset(out->record, 0, out->bytes);
    for (size_t i = 0; i < r->layout.fields; i++)
        memcpy(out->record + r->entries[i].offset, whole + r->source[i].from, r->source[i].bytes);
    if (!t)
        return;
    out->t.start_at = place_of(r, t->start_at);
    out->t.end_at = place_of(r, t->end_at);
}

/* Puts the number that the system gives the thread into the record's. */
static void number_thread(uint8_t *whole, uint32_t kind)
{
    uint32_t thread = cupti_thread_id(true);
    if (kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER)
        memcpy(whole + offsetof(CUpti_ActivityAPI, threadId), &thread, sizeof thread);
    if (kind == CUPTI_ACTIVITY_KIND_OVERHEAD)
        memcpy(whole + offsetof(CUpti_ActivityOverhead3, objectId) + sizeof thread, &thread,
               sizeof thread);
}

void client_convert(const struct CUpti_Subscriber_st *c, const void *record, size_t bytes,
                    const struct timing *t, struct held *out)
{
    uint32_t kind;
    memcpy(&kind, record, sizeof kind);
    size_t stride = cupti_layout()->stride[kind], known = bytes < stride ? bytes : stride;
    bool own = c->own_records && c->own[kind];
    uint8_t chosen_from[sizeof out->record], *whole = own ? chosen_from : out->record;
    memcpy(whole, record, known);
    memset(whole + known, 0, stride - known);
    if (c->system_threads)
        number_thread(whole, kind);
    out->bytes = stride;
    out->timed = t != NULL;
    out->t = t ? *t : (struct timing){0, 0, 0, 0};
    if (own)
        choose(c->own[kind], whole, t, out);
}
