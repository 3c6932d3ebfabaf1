/* Our own NVTX handler: each copy of the NVTX headers in the process (there may be several) asks
 * InitializeInjectionNvtx2 once and gets its tables filled with the functions below.
 *
 * Handles of domains and of registered strings point to memory that lives as long as the process,
 * because programs keep them and pass them between copies and across fork. */
#include <stddef.h>
#include <string.h>
#include <wchar.h>

#define NVTX_NO_IMPL /* declarations only: we are the tool, not a client */
#include <nvtx3/nvToolsExt.h>

#include "agent/ranges.h"
#include "agent/spool.h"

enum { KEEP_BYTES = 4 << 20, PAYLOAD_EXT = (int)0xDFBD0009 };

/* A text that is used in many records: its id is looked up once per spool. */
struct text {
    _Atomic uint64_t cached; /* agent word << 32 | string id */
    bool is_nccl;
    char bytes[];
};

static struct text *text_keep(const char *bytes, size_t n)
{
    static _Alignas(16) char memory[KEEP_BYTES];
    static _Atomic size_t used;
    size_t size = AGENT_ALIGN(sizeof(struct text) + n + 1, 16);
    size_t at = atomic_load(&used);
    do {
        if (at + size > sizeof memory)
            return NULL;
    } while (!atomic_compare_exchange_weak(&used, &at, at + size));
    struct text *x = (struct text *)(memory + at);
    memcpy(x->bytes, bytes, n);
    x->is_nccl = strcmp(x->bytes, "NCCL") == 0;
    return x;
}

static struct text *text_keep_wide(const wchar_t *wide)
{
    char narrow[512];
    size_t n = strings_narrow(narrow, sizeof narrow, wide);
    return text_keep(narrow, n);
}

static uint32_t text_id(const struct thread *t, void *handle)
{
    struct text *x = handle;
    if (!x)
        return 0;
    uint64_t cached = atomic_load_explicit(&x->cached, memory_order_relaxed);
    if (AGENT_LIKELY(cached >> 32 == t->word))
        return (uint32_t)cached;
    uint32_t id = strings_add(x->bytes, strlen(x->bytes));
    atomic_store_explicit(&x->cached, (uint64_t)t->word << 32 | id, memory_order_relaxed);
    return id;
}

/* ---- attributes ---------------------------------------------------------------------------- */

static uint32_t message_id(struct thread *t, const nvtxEventAttributes_t *a)
{
    switch (a->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
        return strings_id(t, a->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
        return strings_wide(a->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED:
        return text_id(t, a->message.registered);
    default:
        return 0;
    }
}

static uint64_t payload(const nvtxEventAttributes_t *a)
{
    switch (a->payloadType) {
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
    case NVTX_PAYLOAD_TYPE_INT64:
    case NVTX_PAYLOAD_TYPE_DOUBLE:
        return a->payload.ullValue;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
    case NVTX_PAYLOAD_TYPE_INT32:
    case NVTX_PAYLOAD_TYPE_FLOAT:
        return a->payload.uiValue;
    default:
        return 0;
    }
}

static struct open_range describe(struct thread *t, void *domain, const nvtxEventAttributes_t *a)
{
    struct open_range r = {.domain = text_id(t, domain)};
    if (!a || a->size < offsetof(nvtxEventAttributes_t, message) + sizeof a->message)
        return r;
    r.name = message_id(t, a);
    r.color = a->colorType == NVTX_COLOR_ARGB ? a->color : 0;
    r.payload = payload(a);
    if (a->payloadType == PAYLOAD_EXT && domain && ((struct text *)domain)->is_nccl &&
        a->reserved0 > 0)
        nccl_payload(&r, (const struct nvtx_payload *)(uintptr_t)a->payload.ullValue);
    return r;
}

/* ---- the functions ------------------------------------------------------------------------- */

/* Push and pop answer what NVTX answers without a tool: the program sees no difference. */

static int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    struct thread *t = thread_enter();
    if (t) {
        struct open_range r = describe(t, domain, a);
        ranges_push(t, &r);
        thread_leave(t);
    }
    return NVTX_NO_PUSH_POP_TRACKING;
}

static int push_ex(const nvtxEventAttributes_t *a)
{
    return domain_push(NULL, a);
}

static int push_a(const char *message)
{
    struct thread *t = thread_enter();
    if (t) {
        struct open_range r = {.name = strings_id(t, message)};
        ranges_push(t, &r);
        thread_leave(t);
    }
    return NVTX_NO_PUSH_POP_TRACKING;
}

static int push_w(const wchar_t *message)
{
    struct thread *t = thread_enter();
    if (t) {
        struct open_range r = {.name = strings_wide(message)};
        ranges_push(t, &r);
        thread_leave(t);
    }
    return NVTX_NO_PUSH_POP_TRACKING;
}

static int domain_pop(nvtxDomainHandle_t domain)
{
    struct thread *t = thread_enter();
    if (t) {
        ranges_pop(t, text_id(t, domain));
        thread_leave(t);
    }
    return NVTX_NO_PUSH_POP_TRACKING;
}

static int pop(void)
{
    return domain_pop(NULL);
}

static nvtxRangeId_t domain_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    uint64_t id = 0;
    struct thread *t = thread_enter();
    if (t) {
        struct open_range r = describe(t, domain, a);
        id = ranges_start(t, &r);
        thread_leave(t);
    }
    return id;
}

static nvtxRangeId_t start_ex(const nvtxEventAttributes_t *a)
{
    return domain_start(NULL, a);
}

static nvtxRangeId_t start_named(struct thread *t, uint32_t name)
{
    struct open_range r = {.name = name};
    uint64_t id = ranges_start(t, &r);
    thread_leave(t);
    return id;
}

static nvtxRangeId_t start_a(const char *message)
{
    struct thread *t = thread_enter();
    return t ? start_named(t, strings_id(t, message)) : 0;
}

static nvtxRangeId_t start_w(const wchar_t *message)
{
    struct thread *t = thread_enter();
    return t ? start_named(t, strings_wide(message)) : 0;
}

static void end(nvtxRangeId_t id)
{
    struct thread *t = thread_enter();
    if (t) {
        ranges_end(t, id);
        thread_leave(t);
    }
}

static void domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
    (void)domain;
    end(id);
}

static void domain_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    struct thread *t = thread_enter();
    if (t) {
        struct open_range r = describe(t, domain, a);
        ranges_mark(t, &r);
        thread_leave(t);
    }
}

static void mark_ex(const nvtxEventAttributes_t *a)
{
    domain_mark(NULL, a);
}

static void mark_a(const char *message)
{
    struct thread *t = thread_enter();
    if (t) {
        struct open_range r = {.name = strings_id(t, message)};
        ranges_mark(t, &r);
        thread_leave(t);
    }
}

static void mark_w(const wchar_t *message)
{
    struct thread *t = thread_enter();
    if (t) {
        struct open_range r = {.name = strings_wide(message)};
        ranges_mark(t, &r);
        thread_leave(t);
    }
}

static void name_thread_a(uint32_t tid, const char *name)
{
    struct thread *t = thread_enter();
    if (t) {
        facts_thread_name(t, tid, name);
        thread_leave(t);
    }
}

static void name_thread_w(uint32_t tid, const wchar_t *name)
{
    char narrow[128] = "";
    strings_narrow(narrow, sizeof narrow, name);
    name_thread_a(tid, narrow);
}

static nvtxResourceHandle_t resource_create(nvtxDomainHandle_t domain, nvtxResourceAttributes_t *a)
{
    (void)domain;
    if (a && a->identifierType == NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE &&
        a->messageType == NVTX_MESSAGE_TYPE_ASCII)
        name_thread_a((uint32_t)a->identifier.ullValue, a->message.ascii);
    return NULL;
}

static nvtxDomainHandle_t domain_create_a(const char *name)
{
    return name ? (nvtxDomainHandle_t)text_keep(name, strlen(name)) : NULL;
}

static nvtxDomainHandle_t domain_create_w(const wchar_t *name)
{
    return (nvtxDomainHandle_t)text_keep_wide(name);
}

static nvtxStringHandle_t register_a(nvtxDomainHandle_t domain, const char *text)
{
    (void)domain;
    return text ? (nvtxStringHandle_t)text_keep(text, strlen(text)) : NULL;
}

static nvtxStringHandle_t register_w(nvtxDomainHandle_t domain, const wchar_t *text)
{
    (void)domain;
    return (nvtxStringHandle_t)text_keep_wide(text);
}

/* ---- injection ----------------------------------------------------------------------------- */

#define ROW(id, fn)                                                                                \
    {                                                                                              \
        id, (NvtxFunctionPointer)fn                                                                \
    }

/* Functions left out (naming categories and devices, destroying) stay NULL: NVTX skips them. */
static const struct row {
    unsigned id;
    NvtxFunctionPointer fn;
} core[] =
    {
        ROW(NVTX_CBID_CORE_MarkEx, mark_ex),
        ROW(NVTX_CBID_CORE_MarkA, mark_a),
        ROW(NVTX_CBID_CORE_MarkW, mark_w),
        ROW(NVTX_CBID_CORE_RangeStartEx, start_ex),
        ROW(NVTX_CBID_CORE_RangeStartA, start_a),
        ROW(NVTX_CBID_CORE_RangeStartW, start_w),
        ROW(NVTX_CBID_CORE_RangeEnd, end),
        ROW(NVTX_CBID_CORE_RangePushEx, push_ex),
        ROW(NVTX_CBID_CORE_RangePushA, push_a),
        ROW(NVTX_CBID_CORE_RangePushW, push_w),
        ROW(NVTX_CBID_CORE_RangePop, pop),
        ROW(NVTX_CBID_CORE_NameOsThreadA, name_thread_a),
        ROW(NVTX_CBID_CORE_NameOsThreadW, name_thread_w),
},
  core2[] = {
      ROW(NVTX_CBID_CORE2_DomainMarkEx, domain_mark),
      ROW(NVTX_CBID_CORE2_DomainRangeStartEx, domain_start),
      ROW(NVTX_CBID_CORE2_DomainRangeEnd, domain_end),
      ROW(NVTX_CBID_CORE2_DomainRangePushEx, domain_push),
      ROW(NVTX_CBID_CORE2_DomainRangePop, domain_pop),
      ROW(NVTX_CBID_CORE2_DomainResourceCreate, resource_create),
      ROW(NVTX_CBID_CORE2_DomainRegisterStringA, register_a),
      ROW(NVTX_CBID_CORE2_DomainRegisterStringW, register_w),
      ROW(NVTX_CBID_CORE2_DomainCreateA, domain_create_a),
      ROW(NVTX_CBID_CORE2_DomainCreateW, domain_create_w),
};

static bool fill(const NvtxExportTableCallbacks *callbacks, NvtxCallbackModule module,
                 const struct row *rows, size_t n)
{
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    if (!callbacks->GetModuleFunctionTable(module, &table, &size) || !table)
        return false;
    for (size_t i = 0; i < n; i++)
        if (rows[i].id < size && table[rows[i].id])
            *table[rows[i].id] = rows[i].fn;
    return true;
}

AGENT_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    if (!agent.dir || !get_table)
        return 0; /* this copy of NVTX then runs without a tool */
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    if (!callbacks || callbacks->struct_size < sizeof *callbacks)
        return 0;
    bool ok = fill(callbacks, NVTX_CB_MODULE_CORE, core, AGENT_ARRAY_LEN(core));
    fill(callbacks, NVTX_CB_MODULE_CORE2, core2, AGENT_ARRAY_LEN(core2));
    return ok;
}
