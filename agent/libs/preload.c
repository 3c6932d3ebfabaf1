/* Hooks on library calls: each calls the real function, and records the outermost call. */
#include "agent/libs/preload.h"

#include <string.h>

#include "agent/core/clock.h"
#include "agent/core/resolve.h"
#include "agent/core/window.h"
#include "agent/lines/lines.h"

#define HOOK_ABSENT ((void *)-1)

static const char *const stems[] = {
    [HOOK_CUBLAS] = "libcublas.so", [HOOK_CUBLASLT] = "libcublasLt.so",
    [HOOK_CUDART] = "libcudart.so", [HOOK_CUDNN] = "libcudnn.so",
    [HOOK_CUPTI] = "libcupti.so",   [HOOK_NCCL] = "libnccl.so",
};

/* The real function behind a hook. Libraries opened with RTLD_LOCAL (those of Python's extension
 * modules) are not in the search order, and are found among the loaded libraries. */
static void *look_up(const struct hook *h)
{
    char path[4096];
    void *fn = resolve_next(h->name);
    if (!fn && resolve_path(stems[h->library], path, sizeof path) == 0)
        fn = resolve_symbol(resolve_loaded(path), h->name);
    return fn;
}

void *hook_real(struct hook *h)
{
    void *fn = atomic_load_explicit(&h->real, memory_order_acquire);
    if (AGENT_UNLIKELY(!fn)) {
        fn = look_up(h);
        atomic_store_explicit(&h->real, fn ? fn : HOOK_ABSENT, memory_order_release);
    }
    return fn == HOOK_ABSENT ? NULL : fn;
}

/* The function that `caller` (a loaded file) is linked to. RTLD_NEXT finds either a wrapper of
 * another tool, which is used, or the first of all loaded runtimes. If several are loaded, it is
 * the one that the caller's own dependencies lead to. */
static void *real_of(struct hook_by_caller *h, const char *caller)
{
    struct resolve_object found;
    const char *stem = stems[h->hook.library];
    void *first = hook_real(&h->hook);
    if (!first || !*caller || resolve_count(stem) < 2 || !resolve_object_of(first, &found))
        return first;
    const char *slash = strrchr(found.path, '/');
    if (strncmp(slash ? slash + 1 : found.path, stem, strlen(stem)) != 0)
        return first;
    void *handle = resolve_loaded(caller);
    void *own = resolve_symbol(handle, h->hook.name);
    resolve_close(handle); /* the caller's dependencies stay loaded as long as it does */
    return own ? own : first;
}

void *hook_real_for(struct hook_by_caller *h, const void *from)
{
    unsigned long at = (unsigned long)from;
    struct resolve_object caller;
    for (int i = 0; i < HOOK_CALLERS; i++) {
        struct hook_caller *c = &h->callers[i];
        unsigned long low = atomic_load_explicit(&c->low, memory_order_acquire);
        if (low > 1 && at >= low && at < c->high)
            return c->real;
        if (low == 0)
            break;
    }
    if (!resolve_object_of(from, &caller))
        return hook_real(&h->hook);
    void *real = real_of(h, caller.path);
    for (int i = 0; i < HOOK_CALLERS; i++) {
        struct hook_caller *c = &h->callers[i];
        unsigned long none = 0;
        if (!atomic_compare_exchange_strong(&c->low, &none, 1))
            continue;
        c->high = caller.high;
        c->real = real;
        atomic_store_explicit(&c->low, caller.low, memory_order_release);
        break;
    }
    return real;
}

/* Does the call search for an algorithm? Its result is used from then on, so it is recorded between
 * windows as well. */
static bool searches(const struct hook *h)
{
    static const char find[] = "cudnnFind";
    return h->library == HOOK_CUDNN && strncmp(h->name, find, sizeof find - 1) == 0;
}

bool hook_begin(struct hook_call *c, const struct hook *h)
{
    lines_see();
    struct thread *t = thread_enter();
    if (!t)
        return false;
    c->kind = SPOOL_REC_CALL;
    if (AGENT_UNLIKELY(window_closed()) && !window_allows(SPOOL_REC_CALL, spool_control())) {
        bool counts = h->library == HOOK_NCCL; /* all ranks count, whatever each of them records */
        c->kind = counts ? SPOOL_REC_CALL : SPOOL_REC_SEARCH;
        if (!counts && !searches(h)) {
            thread_leave(t); /* nothing is recorded: read no clock, look nothing up */
            return false;
        }
    }
    bool outermost = !t->in_call;
    t->in_call = true;
    thread_leave(t);
    c->t = t;
    c->start_ns = clock_now_ns();
    return outermost;
}

struct spool_rec_call *hook_end(struct hook_call *c, struct hook *h)
{
    int64_t now = clock_now_ns();
    agent_thread.in_call = false;
    struct thread *t = c->t = thread_enter();
    if (!t)
        return NULL;
    uint32_t function = strings_id(t, h->name);
    struct spool_rec_call *r = ring_reserve(t, c->kind, sizeof *r);
    if (!r) {
        thread_leave(t);
        return NULL;
    }
    r->head.start_ns = c->start_ns;
    r->head.end_ns = now;
    r->function = function;
    r->algo = -1;
    return r;
}

void hook_cancel(void)
{
    agent_thread.in_call = false;
}

void hook_commit(struct hook_call *c)
{
    ring_commit(c->t);
    thread_leave(c->t);
}
