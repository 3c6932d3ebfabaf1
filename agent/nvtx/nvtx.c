/* gpuprof's NVTX handler. A process may hold several copies of the NVTX headers; each copy calls
 * InitializeInjectionNvtx2 once and has its tables filled with the functions below. If another tool
 * has filled them before (nvtx_chain.c), each function also calls the other tool's, and returns to
 * the program what that returns. nvtx_record.c says what is recorded of a call. */
#include "agent/nvtx/nvtx.h"

/* ---- the functions ---- */

/* The other tool's function in the place of this one, or NULL. */
#define NEXT(module, id, fn) ((__typeof__(&(fn)))nvtx_next_##module[id])

/* Without another tool, push and pop return what NVTX returns without any tool, so the program sees
 * no difference. */

static int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    __typeof__(&domain_push) next = NEXT(core2, NVTX_CBID_CORE2_DomainRangePushEx, domain_push);
    nvtx_record_push(domain, a);
    return next ? next(domain, a) : NVTX_NO_PUSH_POP_TRACKING;
}

static int push_ex(const nvtxEventAttributes_t *a)
{
    __typeof__(&push_ex) next = NEXT(core, NVTX_CBID_CORE_RangePushEx, push_ex);
    nvtx_record_push(NULL, a);
    return next ? next(a) : NVTX_NO_PUSH_POP_TRACKING;
}

static int push_a(const char *message)
{
    __typeof__(&push_a) next = NEXT(core, NVTX_CBID_CORE_RangePushA, push_a);
    nvtx_record_push_a(message);
    return next ? next(message) : NVTX_NO_PUSH_POP_TRACKING;
}

static int push_w(const wchar_t *message)
{
    __typeof__(&push_w) next = NEXT(core, NVTX_CBID_CORE_RangePushW, push_w);
    nvtx_record_push_w(message);
    return next ? next(message) : NVTX_NO_PUSH_POP_TRACKING;
}

static int domain_pop(nvtxDomainHandle_t domain)
{
    __typeof__(&domain_pop) next = NEXT(core2, NVTX_CBID_CORE2_DomainRangePop, domain_pop);
    nvtx_record_pop(domain);
    return next ? next(domain) : NVTX_NO_PUSH_POP_TRACKING;
}

static int pop(void)
{
    __typeof__(&pop) next = NEXT(core, NVTX_CBID_CORE_RangePop, pop);
    nvtx_record_pop(NULL);
    return next ? next() : NVTX_NO_PUSH_POP_TRACKING;
}

static nvtxRangeId_t domain_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    __typeof__(&domain_start) next = NEXT(core2, NVTX_CBID_CORE2_DomainRangeStartEx, domain_start);
    return nvtx_record_start(domain, a, next ? next(domain, a) : 0);
}

static nvtxRangeId_t start_ex(const nvtxEventAttributes_t *a)
{
    __typeof__(&start_ex) next = NEXT(core, NVTX_CBID_CORE_RangeStartEx, start_ex);
    return nvtx_record_start(NULL, a, next ? next(a) : 0);
}

static nvtxRangeId_t start_a(const char *message)
{
    __typeof__(&start_a) next = NEXT(core, NVTX_CBID_CORE_RangeStartA, start_a);
    nvtxEventAttributes_t a = {
        .size = sizeof a, .messageType = NVTX_MESSAGE_TYPE_ASCII, .message.ascii = message};
    return nvtx_record_start(NULL, &a, next ? next(message) : 0);
}

static nvtxRangeId_t start_w(const wchar_t *message)
{
    __typeof__(&start_w) next = NEXT(core, NVTX_CBID_CORE_RangeStartW, start_w);
    nvtxEventAttributes_t a = {
        .size = sizeof a, .messageType = NVTX_MESSAGE_TYPE_UNICODE, .message.unicode = message};
    return nvtx_record_start(NULL, &a, next ? next(message) : 0);
}

static void end(nvtxRangeId_t id)
{
    __typeof__(&end) next = NEXT(core, NVTX_CBID_CORE_RangeEnd, end);
    nvtx_record_end(id);
    if (next)
        next(id);
}

static void domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
    __typeof__(&domain_end) next = NEXT(core2, NVTX_CBID_CORE2_DomainRangeEnd, domain_end);
    nvtx_record_end(id);
    if (next)
        next(domain, id);
}

static void domain_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    __typeof__(&domain_mark) next = NEXT(core2, NVTX_CBID_CORE2_DomainMarkEx, domain_mark);
    nvtx_record_mark(domain, a);
    if (next)
        next(domain, a);
}

static void mark_ex(const nvtxEventAttributes_t *a)
{
    __typeof__(&mark_ex) next = NEXT(core, NVTX_CBID_CORE_MarkEx, mark_ex);
    nvtx_record_mark(NULL, a);
    if (next)
        next(a);
}

static void mark_a(const char *message)
{
    __typeof__(&mark_a) next = NEXT(core, NVTX_CBID_CORE_MarkA, mark_a);
    nvtxEventAttributes_t a = {
        .size = sizeof a, .messageType = NVTX_MESSAGE_TYPE_ASCII, .message.ascii = message};
    nvtx_record_mark(NULL, &a);
    if (next)
        next(message);
}

static void mark_w(const wchar_t *message)
{
    __typeof__(&mark_w) next = NEXT(core, NVTX_CBID_CORE_MarkW, mark_w);
    nvtxEventAttributes_t a = {
        .size = sizeof a, .messageType = NVTX_MESSAGE_TYPE_UNICODE, .message.unicode = message};
    nvtx_record_mark(NULL, &a);
    if (next)
        next(message);
}

static void name_thread_a(uint32_t tid, const char *name)
{
    __typeof__(&name_thread_a) next = NEXT(core, NVTX_CBID_CORE_NameOsThreadA, name_thread_a);
    nvtx_record_thread_name(tid, name);
    if (next)
        next(tid, name);
}

static void name_thread_w(uint32_t tid, const wchar_t *name)
{
    __typeof__(&name_thread_w) next = NEXT(core, NVTX_CBID_CORE_NameOsThreadW, name_thread_w);
    char narrow[128] = "";
    strings_narrow(narrow, sizeof narrow, name);
    nvtx_record_thread_name(tid, narrow);
    if (next)
        next(tid, name);
}

static nvtxResourceHandle_t resource_create(nvtxDomainHandle_t domain, nvtxResourceAttributes_t *a)
{
    __typeof__(&resource_create) next =
        NEXT(core2, NVTX_CBID_CORE2_DomainResourceCreate, resource_create);
    if (a && a->identifierType == NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE &&
        a->messageType == NVTX_MESSAGE_TYPE_ASCII)
        nvtx_record_thread_name((uint32_t)a->identifier.ullValue, a->message.ascii);
    return next ? next(domain, a) : NULL;
}

static nvtxDomainHandle_t domain_create_a(const char *name)
{
    __typeof__(&domain_create_a) next = NEXT(core2, NVTX_CBID_CORE2_DomainCreateA, domain_create_a);
    return nvtx_handle(nvtx_keep(name), next ? (void *)next(name) : NULL);
}

static nvtxDomainHandle_t domain_create_w(const wchar_t *name)
{
    __typeof__(&domain_create_w) next = NEXT(core2, NVTX_CBID_CORE2_DomainCreateW, domain_create_w);
    return nvtx_handle(nvtx_keep_wide(name), next ? (void *)next(name) : NULL);
}

static nvtxStringHandle_t register_a(nvtxDomainHandle_t domain, const char *text)
{
    __typeof__(&register_a) next = NEXT(core2, NVTX_CBID_CORE2_DomainRegisterStringA, register_a);
    return nvtx_handle(nvtx_keep(text), next ? (void *)next(domain, text) : NULL);
}

static nvtxStringHandle_t register_w(nvtxDomainHandle_t domain, const wchar_t *text)
{
    __typeof__(&register_w) next = NEXT(core2, NVTX_CBID_CORE2_DomainRegisterStringW, register_w);
    return nvtx_handle(nvtx_keep_wide(text), next ? (void *)next(domain, text) : NULL);
}

/* ---- injection ---- */

#define ROW(id, fn)                                                                                \
    {                                                                                              \
        id, (NvtxFunctionPointer)fn                                                                \
    }

/* Functions not listed (naming categories and devices, destroying) keep their entry: NULL, which
 * NVTX skips, or the other tool's function. */
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

/* The functions of one module in one copy of NVTX. */
struct module {
    NvtxFunctionTable table;
    unsigned size;
    NvtxFunctionPointer before[NVTX_NEXT]; /* before the other tool's changes: what it left alone */
};

static bool open_module(struct module *m, const NvtxExportTableCallbacks *callbacks,
                        NvtxCallbackModule id)
{
    *m = (struct module){0};
    if (!callbacks->GetModuleFunctionTable(id, &m->table, &m->size) || !m->table)
        return false;
    for (unsigned i = 0; i < m->size && i < NVTX_NEXT; i++)
        m->before[i] = m->table[i] ? *m->table[i] : NULL;
    return true;
}

static bool fill(const struct module *m, const struct row *rows, size_t n,
                 NvtxFunctionPointer *next)
{
    for (size_t i = 0; m->table && i < n; i++) {
        unsigned id = rows[i].id;
        if (id >= m->size || !m->table[id])
            continue;
        if (*m->table[id] != m->before[id] && *m->table[id] != rows[i].fn)
            next[id] = *m->table[id];
        *m->table[id] = rows[i].fn;
    }
    return m->table != NULL;
}

AGENT_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    struct module one, two;
    if (!agent.dir || !get_table)
        return 0; /* this copy of NVTX then runs without a tool */
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    if (!callbacks || callbacks->struct_size < sizeof *callbacks)
        return 0;
    open_module(&one, callbacks, NVTX_CB_MODULE_CORE);
    open_module(&two, callbacks, NVTX_CB_MODULE_CORE2);
    nvtx_chain(get_table);
    fill(&two, core2, AGENT_ARRAY_LEN(core2), nvtx_next_core2);
    return fill(&one, core, AGENT_ARRAY_LEN(core), nvtx_next_core);
}
