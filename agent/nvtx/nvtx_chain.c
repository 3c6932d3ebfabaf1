/* Starts the NVTX tool that the user had named before us, and keeps the texts of registered
 * strings. */
#include "agent/nvtx/nvtx.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/core/resolve.h"

enum { KEEP_BYTES = 4 << 20, HANDLES = 1 << 14 };

NvtxFunctionPointer nvtx_next_core[NVTX_NEXT], nvtx_next_core2[NVTX_NEXT];
_Static_assert((int)NVTX_CBID_CORE_SIZE <= (int)NVTX_NEXT, "more functions in NVTX");
_Static_assert((int)NVTX_CBID_CORE2_SIZE <= (int)NVTX_NEXT, "more functions in NVTX");
static _Atomic bool chained;

/* ---- texts ---- */

/* A text that many records use: its string id is looked up once per spool. */
struct nvtx_text {
    _Atomic uint64_t cached; /* agent_page.word << 32 | string id */
    bool is_nccl;
    char bytes[];
};

/* Mapped at the first text: few programs have any, and it counts against `ulimit -l`. NULL: no
 * memory. */
static char *texts(void)
{
    static _Atomic(char *) memory;
    char *have = atomic_load_explicit(&memory, memory_order_acquire), *none = NULL;
    if (have)
        return have;
    have = mmap(NULL, KEEP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (have == MAP_FAILED)
        return NULL;
    if (atomic_compare_exchange_strong(&memory, &none, have))
        return have;
    munmap(have, KEEP_BYTES);
    return none;
}

struct nvtx_text *nvtx_keep(const char *bytes)
{
    static _Atomic size_t used;
    char *memory = bytes ? texts() : NULL;
    if (!memory)
        return NULL;
    size_t n = strlen(bytes), size = AGENT_ALIGN(sizeof(struct nvtx_text) + n + 1, 16);
    size_t at = atomic_load(&used);
    do {
        if (at + size > KEEP_BYTES)
            return NULL;
    } while (!atomic_compare_exchange_weak(&used, &at, at + size));
    struct nvtx_text *x = (struct nvtx_text *)(memory + at);
    memcpy(x->bytes, bytes, n);
    x->is_nccl = strcmp(x->bytes, "NCCL") == 0;
    return x;
}

struct nvtx_text *nvtx_keep_wide(const wchar_t *wide)
{
    char narrow[512];
    if (!wide)
        return NULL;
    size_t n = strings_narrow(narrow, sizeof narrow, wide);
    narrow[n < sizeof narrow ? n : sizeof narrow - 1] = 0;
    return nvtx_keep(narrow);
}

uint32_t nvtx_text_id(const struct thread *t, struct nvtx_text *x)
{
    if (!x)
        return 0;
    uint64_t cached = atomic_load_explicit(&x->cached, memory_order_relaxed);
    if (AGENT_LIKELY(cached >> 32 == t->word))
        return (uint32_t)cached;
    uint32_t id = strings_add(x->bytes, strlen(x->bytes));
    atomic_store_explicit(&x->cached, (uint64_t)t->word << 32 | id, memory_order_relaxed);
    return id;
}

bool nvtx_is_nccl(const struct nvtx_text *x)
{
    return x && x->is_nccl;
}

/* ---- the other tool's handles ---- */

static struct {
    _Atomic(void *) handle;
    _Atomic(struct nvtx_text *) text;
} map[HANDLES];

static size_t slot_of(const void *handle)
{
    return (size_t)((uintptr_t)handle * 0x9e3779b97f4a7c15ull >> 50) % HANDLES;
}

static void remember(void *handle, struct nvtx_text *text)
{
    size_t at = slot_of(handle);
    for (size_t i = 0; i < HANDLES; i++, at = (at + 1) % HANDLES) {
        void *there = NULL;
        if (!atomic_compare_exchange_strong(&map[at].handle, &there, handle) && there != handle)
            continue;
        atomic_store(&map[at].text, text);
        return;
    }
}

struct nvtx_text *nvtx_text(void *handle)
{
    if (AGENT_LIKELY(!atomic_load_explicit(&chained, memory_order_relaxed)) || !handle)
        return handle;
    size_t at = slot_of(handle);
    for (size_t i = 0; i < HANDLES; i++, at = (at + 1) % HANDLES) {
        void *there = atomic_load(&map[at].handle);
        if (there == handle)
            return atomic_load(&map[at].text);
        if (!there)
            return NULL;
    }
    return NULL;
}

static bool is_chained(void)
{
    return atomic_load_explicit(&chained, memory_order_relaxed);
}

void *nvtx_handle(struct nvtx_text *text, void *theirs)
{
    if (!is_chained())
        return text;
    if (theirs && text)
        remember(theirs, text);
    return theirs;
}

/* ---- the other tool ---- */

void nvtx_chain(NvtxGetExportTableFunc_t get_table)
{
    const char *path = agent_env("GPUPROF_CHAIN_NVTX");
    if (!path || !*path)
        return;
    void *handle = resolve_open(path, RTLD_NOW | RTLD_LOCAL);
    NvtxInitializeInjectionNvtxFunc_t entry =
        (NvtxInitializeInjectionNvtxFunc_t)resolve_symbol(handle, "InitializeInjectionNvtx2");
    /* Without us, a tool that cannot start leaves this copy of NVTX without one. With us, gpuprof's
     * handler still works. */
    if (!entry || !entry(get_table)) {
        struct thread *t = thread_enter();
        if (t) {
            about_health(t, SPOOL_WARNING, "chain-nvtx",
                         "gpuprof could not start the tool that NVTX_INJECTION64_PATH names.", 0);
            thread_leave(t);
        }
        return;
    }
    atomic_store(&chained, true);
}
