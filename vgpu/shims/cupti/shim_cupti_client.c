/* Who uses CUPTI, by which interface, and which kinds of records each client wants. */
#include "shims/cupti/shim_cupti_client.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SCOPE_NONE, SCOPE_FIRST, SCOPE_SECOND, FIRST_SECOND = 130300 };

struct CUpti_Subscriber_st cupti_clients[CLIENTS] = {[0] = {.used = true}};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int scope;
static _Atomic uint8_t several = SECOND_SEVERAL_UNSET;

bool cupti_has_second(void)
{
    return cupti_layout()->api_version >= FIRST_SECOND;
}

uint8_t cupti_several(void)
{
    return several;
}

static CUptiResult use(int wanted)
{
    int now = SCOPE_NONE;
    if (!cupti_has_second())
        return wanted == SCOPE_FIRST ? CUPTI_SUCCESS : CUPTI_ERROR_NOT_SUPPORTED;
    if (!atomic_compare_exchange_strong(&scope, &now, wanted) && now != wanted)
        return CUPTI_ERROR_NOT_COMPATIBLE;
    return CUPTI_SUCCESS;
}

CUptiResult cupti_first(void)
{
    return use(SCOPE_FIRST);
}

static bool is_second(CUpti_SubscriberHandle s)
{
    for (int i = 1; i < CLIENTS; i++)
        if (s == &cupti_clients[i])
            return s->used;
    return false;
}

CUptiResult cupti_second(CUpti_SubscriberHandle s)
{
    if (!cupti_has_second())
        return CUPTI_ERROR_NOT_SUPPORTED;
    return is_second(s) ? use(SCOPE_SECOND) : CUPTI_ERROR_INVALID_PARAMETER;
}

void cupti_scope_end(void)
{
    scope = SCOPE_NONE;
}

int cupti_subscribers(void)
{
    int n = 0;
    for (int i = 1; i < CLIENTS; i++)
        n += cupti_clients[i].used;
    return n;
}

bool cupti_subscribed(void)
{
    for (int i = 0; i < CLIENTS; i++)
        if (cupti_clients[i].call)
            return true;
    return false;
}

/* ---- kinds ---- */

static bool kernels_gone(uint32_t kind)
{
    int64_t at =
        kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? cupti_faults()->kernels_off_at_ns : 0;
    return at && vg_now_ns() >= at;
}

bool client_kind_on(const struct CUpti_Subscriber_st *c, uint32_t kind)
{
    return kind < KINDS && atomic_load_explicit(&c->enabled[kind], memory_order_relaxed) &&
           !kernels_gone(kind);
}

bool cupti_kind_on(uint32_t kind)
{
    for (int i = 0; i < CLIENTS; i++)
        if (client_kind_on(&cupti_clients[i], kind))
            return true;
    return false;
}

static bool takes_call(const struct CUpti_Subscriber_st *c, uint32_t kind, uint32_t cbid)
{
    return client_kind_on(c, kind) &&
           (cbid >= CBIDS || !c->calls_off[kind == CUPTI_ACTIVITY_KIND_DRIVER][cbid]);
}

bool cupti_api_on(uint32_t kind, uint32_t cbid)
{
    for (int i = 0; i < CLIENTS; i++)
        if (takes_call(&cupti_clients[i], kind, cbid))
            return true;
    return false;
}

bool client_takes(const struct CUpti_Subscriber_st *c, const void *record)
{
    CUpti_ActivityAPI call;
    memcpy(&call.kind, record, sizeof call.kind);
    if (call.kind != CUPTI_ACTIVITY_KIND_RUNTIME && call.kind != CUPTI_ACTIVITY_KIND_DRIVER)
        return client_kind_on(c, (uint32_t)call.kind);
    memcpy(&call, record, sizeof call);
    return takes_call(c, (uint32_t)call.kind, call.cbid);
}

static _Atomic int64_t switched_ns; /* when kernels were turned on for another time; 0: never */
static _Atomic long switched_by;    /* the thread that did it */

bool cupti_switching(void)
{
    int64_t loss = cupti_faults()->switch_loss_ns;
    return loss && switched_ns && vg_now_ns() - switched_ns < loss &&
           switched_by != syscall(SYS_gettid);
}

static void note_switch(uint32_t kind)
{
    static _Atomic bool before;
    if (kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || cupti_kind_on(kind))
        return;
    if (atomic_exchange(&before, true)) {
        switched_by = syscall(SYS_gettid);
        switched_ns = vg_now_ns();
    }
}

static _Atomic bool calls_were_on;

bool cupti_numbers(void)
{
    return !calls_were_on || cupti_kind_on(CUPTI_ACTIVITY_KIND_RUNTIME) ||
           cupti_kind_on(CUPTI_ACTIVITY_KIND_DRIVER) || cupti_subscribed();
}

void client_calls_all(struct CUpti_Subscriber_st *c, uint32_t kind)
{
    if (kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER)
        memset((void *)c->calls_off[kind == CUPTI_ACTIVITY_KIND_DRIVER], 0, CBIDS);
}

CUptiResult client_enable(struct CUpti_Subscriber_st *c, uint32_t kind, bool dump)
{
    if (vg_start() != VG_OK)
        return CUPTI_ERROR_UNKNOWN;
    if (cupti_kind_legacy(kind) && cupti_layout()->api_version >= 130000)
        return CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED;
    if (kind == 0 || kind >= KINDS || !cupti_layout()->stride[kind])
        return CUPTI_ERROR_INVALID_KIND;
    client_calls_all(c, kind);
    note_switch(kind);
    calls_were_on |= kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER;
    c->enabled[kind] = true;
    cupti_listen();
    if (dump || kind == CUPTI_ACTIVITY_KIND_DEVICE)
        records_of_device(c, kind);
    return CUPTI_SUCCESS;
}

CUptiResult client_disable(struct CUpti_Subscriber_st *c, uint32_t kind)
{
    if (kind >= KINDS || !cupti_layout()->stride[kind])
        return CUPTI_ERROR_INVALID_KIND;
    bool copies = kind == CUPTI_ACTIVITY_KIND_MEMCPY || kind == CUPTI_ACTIVITY_KIND_MEMSET;
    if (copies && c->enabled[kind] && cupti_faults()->copies_off_crash)
        abort();
    c->enabled[kind] = false;
    return CUPTI_SUCCESS;
}

CUptiResult client_filter(struct CUpti_Subscriber_st *c, bool driver, CUpti_CallbackId cbid,
                          bool on)
{
    if (cupti_layout()->api_version < 23) /* these calls exist since 12.5 */
        return CUPTI_ERROR_NOT_SUPPORTED;
    if (cbid >= CBIDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    c->calls_off[driver][cbid] = !on;
    return CUPTI_SUCCESS;
}

/* ---- subscribers ---- */

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc call, void *user)
{
    if (!out || !call)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (vg_start() != VG_OK)
        return CUPTI_ERROR_UNKNOWN;
    struct CUpti_Subscriber_st *c = &cupti_clients[0];
    pthread_mutex_lock(&lock);
    bool busy = c->call || cupti_subscribers() > 0 || cupti_faults()->busy_subscriber;
    if (!busy) {
        c->user = user;
        c->call = call;
        snprintf(c->name, sizeof c->name, "CUPTI for <unnamed>");
        *out = c;
    }
    pthread_mutex_unlock(&lock);
    if (!busy)
        cupti_listen();
    return busy ? CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED : CUPTI_SUCCESS;
}

static const struct CUpti_Subscriber_st *holder_locked(void)
{
    static const struct CUpti_Subscriber_st another = {.name = "CUPTI for another tool"};
    if (cupti_faults()->busy_subscriber)
        return &another;
    for (int i = 0; i < CLIENTS; i++)
        if (cupti_clients[i].call)
            return &cupti_clients[i];
    return NULL;
}

/* 1: this subscriber allows others. Parameters of before 13.2 do not say so, and take the mode that
 * there is. */
static uint8_t allows(const struct second_params *p)
{
    if (!cupti_has_second())
        return 0;
    if (p && p->bytes > offsetof(struct second_params, several))
        return p->several;
    return several == 1;
}

/* True if one more may subscribe beside `holder`. */
static bool room_locked(const struct CUpti_Subscriber_st *holder, const struct second_params *p)
{
    uint8_t asked = allows(p);
    if (asked && vg_option("one_subscriber", 0) != 0)
        return false;
    if (!holder) {
        several = asked;
        return true;
    }
    return asked && several == 1 && cupti_subscribers() > 0 && !cupti_faults()->busy_subscriber;
}

static struct CUpti_Subscriber_st *join_locked(CUpti_CallbackFunc call, void *user,
                                               const char *name)
{
    for (int i = 1; i < CLIENTS; i++) {
        struct CUpti_Subscriber_st *c = &cupti_clients[i];
        if (c->used)
            continue;
        snprintf(c->name, sizeof c->name, "CUPTI for %s", name ? name : "<unnamed>");
        c->own_records = c->system_threads = c->zeroed = false;
        c->dropped = 0;
        c->user = user;
        c->call = call;
        c->used = true;
        return c;
    }
    return NULL;
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *out, CUpti_CallbackFunc call, void *user,
                              CUpti_SubscriberParams *params)
{
    struct second_params *p = (struct second_params *)(void *)params;
    if (cupti_layout()->api_version < 130000) /* exists since 13.0 */
        return CUPTI_ERROR_NOT_SUPPORTED;
    if (!out || !call || (p && p->bytes == 0))
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (vg_start() != VG_OK)
        return CUPTI_ERROR_UNKNOWN;
    pthread_mutex_lock(&lock);
    const struct CUpti_Subscriber_st *holder = holder_locked();
    if (p && p->old_name && p->old_size)
        snprintf(p->old_name, p->old_size, "%s", holder ? holder->name : "");
    struct CUpti_Subscriber_st *c =
        room_locked(holder, p) ? join_locked(call, user, p ? p->name : NULL) : NULL;
    pthread_mutex_unlock(&lock);
    if (!c)
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    *out = c;
    cupti_listen();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle s)
{
    if (s != &cupti_clients[0] && !is_second(s))
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    s->call = NULL;
    memset((void *)s->on, 0, sizeof s->on);
    if (s != &cupti_clients[0]) {
        memset((void *)s->enabled, 0, sizeof s->enabled);
        client_leave(s);
        s->used = false;
        if (cupti_subscribers() == 0) {
            int second = SCOPE_SECOND;
            atomic_compare_exchange_strong(&scope, &second, SCOPE_NONE);
            several = SECOND_SEVERAL_UNSET;
        }
    }
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

void callbacks_end(void)
{
    for (int i = 0; i < CLIENTS; i++)
        if (cupti_clients[i].call)
            cuptiUnsubscribe(&cupti_clients[i]);
}
