/* Another NVTX tool, such as a user names in NVTX_INJECTION64_PATH. It counts the calls that reach
 * it, answers as a tool that keeps state, and prints at the end what it has seen. It returns
 * handles of its own and aborts if it is given others. It also counts namings of categories, which
 * the agent does not handle, to show that they go to the tool directly. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

static int pushed, popped, depth, started, ended, domains, strings, categories, registered;
static char handles[64];

static void is_mine(const void *handle)
{
    if (handle && ((const char *)handle < handles || (const char *)handle >= handles + 64))
        abort();
}

static void look(const nvtxEventAttributes_t *a)
{
    if (a->messageType != NVTX_MESSAGE_TYPE_REGISTERED)
        return;
    is_mine(a->message.registered);
    registered++;
}

static int push_a(const char *s)
{
    (void)s;
    pushed++;
    return depth++;
}

static int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    is_mine(domain);
    look(a);
    pushed++;
    return depth++;
}

static int pop(void)
{
    popped++;
    return --depth;
}

static int domain_pop(nvtxDomainHandle_t domain)
{
    is_mine(domain);
    return pop();
}

static nvtxRangeId_t start_a(const char *s)
{
    (void)s;
    return 1000 + (nvtxRangeId_t)started++;
}

static void end(nvtxRangeId_t id)
{
    if (id < 1000 || id >= 1000 + (nvtxRangeId_t)started)
        abort();
    ended++;
}

static nvtxDomainHandle_t create(const char *name)
{
    (void)name;
    return (nvtxDomainHandle_t)&handles[domains++];
}

static nvtxStringHandle_t string(nvtxDomainHandle_t domain, const char *text)
{
    (void)text;
    is_mine(domain);
    return (nvtxStringHandle_t)&handles[32 + strings++];
}

static void category(nvtxDomainHandle_t domain, unsigned id, const char *name)
{
    (void)id, (void)name;
    is_mine(domain);
    categories++;
}

static void report(void)
{
    printf("tool: pushed %d popped %d started %d ended %d domains %d strings %d registered %d "
           "categories %d\n",
           pushed, popped, started, ended, domains, strings, registered, categories);
}

#define PUT(table, id, fn) *(table)[id] = (NvtxFunctionPointer)(fn)

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *c = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable core, core2;
    unsigned n;
    if (!c || !c->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, &n) ||
        !c->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &core2, &n))
        return 0;
    PUT(core, NVTX_CBID_CORE_RangePushA, push_a);
    PUT(core, NVTX_CBID_CORE_RangePop, pop);
    PUT(core, NVTX_CBID_CORE_RangeStartA, start_a);
    PUT(core, NVTX_CBID_CORE_RangeEnd, end);
    PUT(core2, NVTX_CBID_CORE2_DomainRangePushEx, domain_push);
    PUT(core2, NVTX_CBID_CORE2_DomainRangePop, domain_pop);
    PUT(core2, NVTX_CBID_CORE2_DomainCreateA, create);
    PUT(core2, NVTX_CBID_CORE2_DomainRegisterStringA, string);
    PUT(core2, NVTX_CBID_CORE2_DomainNameCategoryA, category);
    static int once;
    if (!once++)
        atexit(report);
    return 1;
}
