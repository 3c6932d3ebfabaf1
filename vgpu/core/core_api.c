/* Calls and records: correlation ids, host costs, and passing both to the listener (CUPTI). */
#include "core/core_state.h"

#include <pthread.h>
#include <stdatomic.h>

static const struct vg_sink *_Atomic sink;
static _Thread_local struct vg_api *current;
static _Thread_local int last_error;

void vg_set_sink(const struct vg_sink *s)
{
    atomic_store(&sink, s);
}

void vg_emit(const struct vg_record *r)
{
    const struct vg_sink *s = atomic_load_explicit(&sink, memory_order_acquire);
    if (s && s->record)
        s->record(r);
}

static _Atomic bool unnumbered;

void vg_context_told(void)
{
    const struct vg_sink *s = atomic_load_explicit(&sink, memory_order_acquire);
    if (s && s->context && !s->context())
        atomic_store(&unnumbered, true);
}

bool vg_unnumbered(void)
{
    return atomic_load_explicit(&unnumbered, memory_order_relaxed);
}

struct vg_api *vg_api_current(void)
{
    return current;
}

int *vg_last_error(void)
{
    return &last_error;
}

/* Opens a call. A thread must not be cancelled within it, because it may hold a lock; it is
 * cancelled after the call. */
static int enter(struct vg_api *api, uint32_t cbid, bool driver)
{
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    int bad = vg_start();
    if (bad) {
        pthread_setcancelstate(cancel, NULL);
        return bad;
    }
    *api = (struct vg_api){.cbid = cbid, .driver = driver, .cancel = cancel, .outer = current};
    api->correlation =
        vg_unnumbered()
            ? atomic_load_explicit(&vg_core.next_correlation, memory_order_relaxed)
            : atomic_fetch_add_explicit(&vg_core.next_correlation, 1, memory_order_relaxed);
    current = api;
    const struct vg_sink *s = atomic_load_explicit(&sink, memory_order_acquire);
    if (s && s->enter)
        s->enter(api);
    api->start_ns = vg_now_ns();
    return VG_OK;
}

int vg_api_enter(struct vg_api *api, uint32_t cbid)
{
    int bad = enter(api, cbid, false);
    if (bad)
        last_error = bad;
    return bad;
}

int vg_api_enter_driver(struct vg_api *api, uint32_t cbid)
{
    return enter(api, cbid, true);
}

void vg_emulated(int64_t from_ns)
{
    enum { TELL_NS = 20000 };
    int64_t now = vg_now_ns(), took = now - from_ns;
    for (struct vg_api *api = current; api; api = api->outer)
        api->start_ns += took;
    if (!current || took < TELL_NS || !vg_core.own_work)
        return;
    struct vg_record r = {.kind = VG_REC_OVERHEAD,
                          .device = vg_current_device(),
                          .correlation = current->correlation,
                          .start_ns = from_ns,
                          .end_ns = now};
    r.overhead.kind = VG_OVERHEAD_LAZY_LOADING;
    vg_emit(&r);
}

int vg_api_exit(struct vg_api *api, int result)
{
    api->result = result;
    /* The driver keeps no last error. */
    if (result != VG_OK && result != VG_NOT_READY && !api->driver)
        last_error = result;
    vg_spin_until(api->start_ns + api->host_ns);
    current = api->outer;
    const struct vg_sink *s = atomic_load_explicit(&sink, memory_order_acquire);
    if (s && s->exit)
        s->exit(api, vg_now_ns());
    pthread_setcancelstate(api->cancel, NULL);
    return result;
}
