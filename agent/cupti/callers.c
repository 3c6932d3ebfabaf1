/* At the end of a long call of CUDA, copies the top of its thread's stack, from which the collector
 * finds out who made the call. */
#include "agent/cupti/callers.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/core/clock.h"
#include "agent/core/resolve.h"
#include "agent/core/window.h"
#include "agent/cupti/second.h"
#include "agent/python/hook.h"
#include "wire/spool_format.h"

enum {
    CODES = 128, /* segments of code that the list holds at most */
    WORDS = 16,  /* return addresses from which a stack's number is made */
    SEEN = 512,  /* stacks that a process copies at most */
    PROBES = 8,
    LOOK_BYTES = 64 << 20, /* code that is searched for another client of CUPTI, at most */
    PAGES = SPOOL_STACK_BYTES / SPOOL_PAGE + 1,
};

/* Calls in which the host may wait. Launches are left out: programs make many, and they are
 * short. */
#define RUNTIME(name) CUPTI_RUNTIME_TRACE_CBID_##name
#define DRIVER(name)  CUPTI_DRIVER_TRACE_CBID_##name
static const CUpti_CallbackId runtime[] = {
    RUNTIME(cudaDeviceSynchronize_v3020),
    RUNTIME(cudaThreadSynchronize_v3020),
    RUNTIME(cudaStreamSynchronize_v3020),
    RUNTIME(cudaStreamSynchronize_ptsz_v7000),
    RUNTIME(cudaEventSynchronize_v3020),
    RUNTIME(cudaMemcpy_v3020),
    RUNTIME(cudaMemcpy_ptds_v7000),
    RUNTIME(cudaMemcpyAsync_v3020),
    RUNTIME(cudaMemcpyAsync_ptsz_v7000),
    RUNTIME(cudaMemcpy2D_v3020),
    RUNTIME(cudaMemcpy2D_ptds_v7000),
    RUNTIME(cudaMemcpy2DAsync_v3020),
    RUNTIME(cudaMemcpy2DAsync_ptsz_v7000),
    RUNTIME(cudaMemcpyToSymbol_v3020),
    RUNTIME(cudaMemcpyFromSymbol_v3020),
    RUNTIME(cudaMemset_v3020),
    RUNTIME(cudaMalloc_v3020),
    RUNTIME(cudaMallocManaged_v6000),
    RUNTIME(cudaMallocHost_v3020),
    RUNTIME(cudaHostAlloc_v3020),
    RUNTIME(cudaHostRegister_v4000),
    RUNTIME(cudaFree_v3020),
    RUNTIME(cudaFreeHost_v3020),
};
static const CUpti_CallbackId driver[] = {
    DRIVER(cuCtxSynchronize),
    DRIVER(cuStreamSynchronize),
    DRIVER(cuStreamSynchronize_ptsz),
    DRIVER(cuEventSynchronize),
    DRIVER(cuMemcpy),
    DRIVER(cuMemcpy_ptds),
    DRIVER(cuMemcpyHtoD_v2),
    DRIVER(cuMemcpyHtoD_v2_ptds),
    DRIVER(cuMemcpyDtoH_v2),
    DRIVER(cuMemcpyDtoH_v2_ptds),
    DRIVER(cuMemcpyHtoDAsync_v2),
    DRIVER(cuMemcpyHtoDAsync_v2_ptsz),
    DRIVER(cuMemcpyDtoHAsync_v2),
    DRIVER(cuMemcpyDtoHAsync_v2_ptsz),
    DRIVER(cuMemAlloc_v2),
    DRIVER(cuMemAllocHost_v2),
    DRIVER(cuMemHostAlloc),
    DRIVER(cuMemFree_v2),
    DRIVER(cuMemFreeHost),
    DRIVER(cuModuleLoadData),
};

/* Address ranges of code that may be the program's own, sorted. The agent's thread fills the list
 * not in use and then switches to it. If another thread still reads the old list meanwhile, its
 * stack may get a different number, and so be copied twice. */
struct codes {
    size_t n;
    struct code {
        uintptr_t from, to;
    } at[CODES];
};
static struct codes lists[2];
static _Atomic(struct codes *) codes;
static unsigned long long loads; /* resolve_loads() when the list was made */
static _Atomic uint64_t seen[SEEN];
static _Atomic uint32_t watch; /* counts the subscriptions */

/* ---- code ---- */

static bool of_vendor(const char *path)
{
    static const char *const stems[] = {"libgpuprof", "libcuda",   "libcupti",    "libnv",
                                        "libc.so",    "libm.so",   "libvgpu",     "ld-linux",
                                        "libgcc_s",   "libstdc++", "libpthread.", "linux-vdso"};
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; i < AGENT_ARRAY_LEN(stems); i++)
        if (strncmp(slash ? slash + 1 : path, stems[i], strlen(stems[i])) == 0)
            return true;
    return false;
}

static int add_codes(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    struct codes *c = arg;
    (void)bytes;
    for (unsigned i = 0; i < info->dlpi_phnum && c->n < CODES && !of_vendor(info->dlpi_name); i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        struct code new = {info->dlpi_addr + p->p_vaddr, info->dlpi_addr + p->p_vaddr + p->p_memsz};
        size_t k = c->n++;
        for (; k > 0 && c->at[k - 1].from > new.from; k--)
            c->at[k] = c->at[k - 1];
        c->at[k] = new;
    }
    return 0;
}

static void list_codes(void)
{
    struct codes *now = atomic_load(&codes), *next = &lists[now == &lists[0]];
    next->n = 0;
    dl_iterate_phdr(add_codes, next);
    atomic_store_explicit(&codes, next, memory_order_release);
}

static bool has_text(const struct dl_phdr_info *info, const ElfW(Phdr) * p, const char *text,
                     size_t n)
{
    return memmem((const void *)(info->dlpi_addr + p->p_vaddr), p->p_filesz, text, n) != NULL;
}

/* Callback of dl_iterate_phdr. 1: this object may use CUPTI's callbacks, because it holds the text
 * "cuptiSubscribe" (it links the function or looks it up), because it can load code that does, or
 * because it is too large to search. Loading code proves nothing in a program with a static
 * runtime, which loads the driver that way. */
static int knows_callbacks(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    static const char subscribe[] = "cuptiSubscribe", load[] = "dlopen",
                      runtime_of[] = "libcudart.so";
    size_t *left = arg;
    bool loads_code = false, links_runtime = false;
    (void)bytes;
    for (unsigned i = 0; i < info->dlpi_phnum && !of_vendor(info->dlpi_name); i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || (p->p_flags & (PF_R | PF_W)) != PF_R)
            continue;
        if (p->p_filesz > *left || has_text(info, p, subscribe, sizeof subscribe - 1))
            return 1;
        *left -= p->p_filesz;
        loads_code |= !info->dlpi_name[0] && has_text(info, p, load, sizeof load);
        links_runtime |= has_text(info, p, runtime_of, sizeof runtime_of - 1);
    }
    return loads_code && links_runtime;
}

/* True if another tool may subscribe, which our subscription would prevent. */
static bool may_be_shared(void)
{
    size_t left = LOOK_BYTES;
    if (second_used())
        return false; /* there is room for all */
    return agent_env("GPUPROF_CHAIN_INJECTION") || dl_iterate_phdr(knows_callbacks, &left);
}

void callers_refresh(struct thread *t)
{
    unsigned long long n = resolve_loads();
    if (cupti.waiting || n == loads)
        return;
    if (!window_by_profiler() && !second_used())
        cupti_range_release();
    loads = n;
    if (atomic_load(&codes))
        list_codes();
    if (!cupti_range_held())
        cupti_range_watch(t);
}

static bool is_code(const struct codes *c, uintptr_t word)
{
    size_t low = 0, high = c->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (c->at[mid].from <= word)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 && word < c->at[low - 1].to;
}

/* ---- stacks ---- */

/* A number for the stack, from the return addresses on it and where they lie. */
static uint64_t number_of(const uint64_t *words, size_t n)
{
    const struct codes *c = atomic_load_explicit(&codes, memory_order_acquire);
    uint64_t number = 0xcbf29ce484222325u;
    for (size_t i = 0, found = 0; i < n && found < WORDS; i++) {
        if (!is_code(c, words[i]))
            continue;
        number = (number ^ words[i] ^ i << 48) * 0x9e3779b97f4a7c15u;
        number ^= number >> 29;
        found++;
    }
    return number ? number : 1;
}

/* True if a stack of this number was not copied before; remembers it. False also if the table is
 * full. */
static bool is_new(uint64_t number)
{
    for (uint64_t i = 0; i < PROBES; i++) {
        _Atomic uint64_t *at = &seen[(number + i) % SEEN];
        uint64_t old = 0;
        if (atomic_compare_exchange_strong(at, &old, number))
            return true;
        if (old == number)
            return false;
    }
    return false;
}

/* Copies up to SPOOL_STACK_BYTES from address `from` upwards and returns how many bytes it got. The
 * kernel copies, because the memory above the stack may not be mapped, and the end of a coroutine's
 * stack is unknown. */
static size_t copy_stack(uint64_t from, void *to)
{
    struct iovec own = {to, SPOOL_STACK_BYTES}, pages[PAGES];
    size_t n = 0, left = SPOOL_STACK_BYTES;
    while (left > 0) {
        size_t size = SPOOL_PAGE - from % SPOOL_PAGE;
        size = size < left ? size : left;
        pages[n++] = (struct iovec){(void *)(uintptr_t)from, size};
        from += size;
        left -= size;
    }
    long got = syscall(SYS_process_vm_readv, agent.pid, &own, 1ul, pages, n, 0ul);
    return got > 0 ? (size_t)got / 8 * 8 : 0;
}

#ifdef __x86_64__
enum { UNWINDS = true };

static inline __attribute__((always_inline)) void read_registers(uint64_t *r)
{
    __asm__ volatile("leaq (%%rip), %%rax\n\t"
                     "movq %%rax, (%0)\n\t"
                     "movq %%rsp, 8(%0)\n\t"
                     "movq %%rbp, 16(%0)\n\t"
                     "movq %%rbx, 24(%0)\n\t"
                     "movq %%r12, 32(%0)\n\t"
                     "movq %%r13, 40(%0)\n\t"
                     "movq %%r14, 48(%0)\n\t"
                     "movq %%r15, 56(%0)"
                     :
                     : "r"(r)
                     : "rax", "memory");
}
#else
enum { UNWINDS = false }; /* analyzer/unwind knows only the registers of x86-64 */

static void read_registers(uint64_t *r)
{
    (void)r;
}
#endif

/* Copies the stack from this function's frame upwards. noinline, so that this frame and those above
 * it stay unchanged meanwhile. */
static __attribute__((noinline)) void take_stack(struct thread *t, struct spool_rec_stack *r)
{
    size_t bytes = 0;
    read_registers(r->registers);
    if (UNWINDS)
        bytes = copy_stack(r->registers[1], r + 1);
    r->stack = number_of((const uint64_t *)(r + 1), bytes / 8);
    r->bytes = is_new(r->stack) ? (uint16_t)bytes : 0;
    ring_trim(t, &r->head, sizeof *r + r->bytes);
}

static void record(bool is_driver, const CUpti_CallbackData *call, int64_t start_ns, int64_t end_ns)
{
    int saved = errno;
    struct thread *t = thread_enter();
    struct spool_rec_stack *r =
        t ? ring_reserve(t, SPOOL_REC_STACK, sizeof *r + SPOOL_STACK_BYTES) : NULL;
    if (r) {
        r->head.start_ns = start_ns;
        r->head.end_ns = end_ns;
        r->correlation = call->correlationId;
        r->function = strings_id(t, call->functionName);
        r->layer = is_driver;
        take_stack(t, r);
        ring_commit(t);
    }
    if (t)
        thread_leave(t);
    errno = saved;
}

/* ---- calls ---- */

/* Called by CUPTI for each watched call. Functions of the runtime call the driver's, so only the
 * outermost call of a thread counts. */
void callers_see(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData *call)
{
    struct thread *own = &agent_thread;
    uint32_t now = atomic_load_explicit(&watch, memory_order_relaxed);
    (void)id;
    if (own->watch != now) { /* calls may have ended while nobody was subscribed */
        own->watch = now;
        own->waits = 0;
    }
    if (call->callbackSite == CUPTI_API_ENTER) {
        if (own->waits++ == 0)
            own->waits_ns = clock_now_ns();
        return;
    }
    if (own->waits == 0 || --own->waits > 0)
        return;
    int64_t now_ns = clock_now_ns();
    if (now_ns - own->waits_ns >= SPOOL_LONG_NS)
        record(domain == CUPTI_CB_DOMAIN_DRIVER_API, call, own->waits_ns, now_ns);
}

bool callers_wanted(struct thread *t)
{
    static _Atomic bool told;
    const char *value = agent_env("GPUPROF_STACKS");
    if (UNWINDS && value && *value)
        return strcmp(value, "0") != 0;
    if (hook_is_python())
        return false;
    if (!UNWINDS) {
        if (!atomic_exchange(&told, true))
            about_health(t, SPOOL_INFO, "no-stacks",
                         "gpuprof reads the stacks of programs without Python on x86-64 only: it "
                         "does not name the lines that wait for the GPU.",
                         0);
        return false;
    }
    bool shared = may_be_shared();
    if (shared && !atomic_exchange(&told, true))
        about_health(
            t, SPOOL_INFO, "no-stacks",
            "The program may use CUPTI's callbacks, which have one user: gpuprof does not "
            "name the lines that wait for the GPU. GPUPROF_STACKS=1 uses them all the same.",
            0);
    return !shared;
}

void callers_watch(CUpti_SubscriberHandle handle)
{
    if (!atomic_load(&codes))
        loads = resolve_loads();
    list_codes();
    atomic_fetch_add(&watch, 1);
    for (size_t i = 0; i < AGENT_ARRAY_LEN(runtime); i++)
        cupti.api.EnableCallback(1, handle, CUPTI_CB_DOMAIN_RUNTIME_API, runtime[i]);
    for (size_t i = 0; i < AGENT_ARRAY_LEN(driver); i++)
        cupti.api.EnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, driver[i]);
}
