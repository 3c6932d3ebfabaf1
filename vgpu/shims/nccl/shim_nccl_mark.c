/* NVTX ranges as the real library emits them: domain "NCCL", registered names, and payloads whose
 * schema number says which fields they have (communicator, bytes, operation or peer).
 * NCCL_NVTX_DISABLE turns them off, as in the real library. */
#include "shims/nccl/shim_nccl.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMAS = 16777216 };

struct payload {
    uint64_t comm, bytes;
    int32_t word; /* operation, root or peer; not all schemas have it */
};

static nvtxDomainHandle_t domain;
static bool off;

static void open_domain(void)
{
    off = getenv("NCCL_NVTX_DISABLE") != NULL;
    if (!off)
        domain = nvtxDomainCreateA("NCCL");
}

/* The registered string for a name. Names are string constants, so their address identifies
 * them. */
static nvtxStringHandle_t registered(const char *name)
{
    static struct {
        _Atomic(const char *) name;
        nvtxStringHandle_t handle;
    } known[64];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    nvtxStringHandle_t handle = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < sizeof known / sizeof *known && !handle; i++) {
        if (!known[i].name) {
            known[i].name = name;
            known[i].handle = nvtxDomainRegisterStringA(domain, name);
        }
        if (known[i].name == name)
            handle = known[i].handle;
    }
    pthread_mutex_unlock(&lock);
    return handle;
}

static uint64_t schema_of(enum nccl_kind kind)
{
    static const unsigned char number[] = {5, 7, 4, 6, 8, 16, 9, 10};
    return SCHEMAS + number[kind];
}

void mark_push(const char *name, const struct operation *o)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_domain);
    if (off)
        return;
    nvtxEventAttributes_t a = {.version = NVTX_VERSION,
                               .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                               .messageType = NVTX_MESSAGE_TYPE_REGISTERED};
    a.message.registered = registered(name);
    struct payload p;
    nvtxPayloadData_t data;
    if (o) {
        bool short_one = o->kind == KIND_ALL_GATHER || o->kind == KIND_ALL_TO_ALL;
        bool reduces = o->kind == KIND_ALL_REDUCE || o->kind == KIND_REDUCE_SCATTER;
        memset(&p, 0, sizeof p);
        p.comm = o->comm->hash;
        p.bytes = o->bytes;
        p.word = reduces ? (int32_t)o->op : o->peer;
        data = (nvtxPayloadData_t){schema_of(o->kind), short_one ? 16 : sizeof p, &p};
        a.payloadType = NVTX_PAYLOAD_TYPE_EXT;
        a.reserved0 = 1;
        a.payload.ullValue = (uint64_t)(uintptr_t)&data;
    }
    nvtxDomainRangePushEx(domain, &a);
}

void mark_pop(void)
{
    if (!off)
        nvtxDomainRangePop(domain);
}
