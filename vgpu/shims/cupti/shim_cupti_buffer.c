/* The buffers that CUPTI fills for each client: one per thread from 13.0 on, one for all threads before. A buffer
 * is not returned until all work in it has ended. The shim's own thread returns full, complete
 * buffers. */
#include "shims/cupti/shim_cupti_client.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TICK_NS = 5000000, FAKE_BYTES = 1 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake;
static struct buffer *buffers;                  /* all buffers that the clients have handed over */
static _Thread_local struct slot *thread_slots; /* one for each client */
static pthread_key_t slot_key;
static bool per_thread, per_thread_set, worker_started, worker_needed;
static struct CUpti_Subscriber_st *const first = &cupti_clients[0];

/* The callbacks of another client (steal_callbacks_after): they hand out their own memory and do
 * not know our buffers. */
static void fake_request(uint8_t **buffer, size_t *size, size_t *max)
{
    *buffer = malloc(FAKE_BYTES);
    *size = FAKE_BYTES;
    *max = 0;
}

static void fake_complete(CUcontext ctx, uint32_t stream, uint8_t *buffer, size_t size,
                          size_t valid)
{
    (void)ctx, (void)stream, (void)valid;
    if (size == FAKE_BYTES + 0u && first->request == fake_request && buffer)
        free(buffer);
}

static void steal_if_due(void)
{
    static bool done;
    int64_t at = cupti_faults()->steal_at_ns;
    if (done || at == 0 || vg_now_ns() < at)
        return;
    done = true;
    /* The second client does not know the first client's buffers, so it drops what they contain. */
    for (struct buffer *b = buffers; b; b = b->next) {
        if (b->slot)
            b->slot->current = NULL;
        b->slot = NULL;
        b->size = b->used = b->held_count = 0;
        b->pending_first = b->pending_end;
    }
    first->request = fake_request;
    first->complete = fake_complete;
}

static struct slot *slot_here(struct CUpti_Subscriber_st *c)
{
    if (!per_thread)
        return &c->shared;
    if (!thread_slots) {
        thread_slots = calloc(CLIENTS, sizeof *thread_slots);
        pthread_setspecific(slot_key, thread_slots);
    }
    return thread_slots ? &thread_slots[c - cupti_clients] : NULL;
}

static void retire(struct buffer *b)
{
    b->client->dropped += buffer_write_held(b);
    if (b->slot)
        b->slot->current = NULL;
    b->slot = NULL;
    worker_needed = true;
    pthread_cond_signal(&wake);
}

static void thread_gone(void *slots)
{
    struct slot *s = slots;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < CLIENTS; i++)
        if (s[i].current)
            retire(s[i].current);
    pthread_mutex_unlock(&lock);
    thread_slots = NULL;
    free(s);
}

/* Buffers that were returned, for the next requests. They are not freed: the C library would open a
 * file when it gives memory of a thread back, and some programs may not open one. */
static struct buffer *returned;

static struct buffer *new_locked(void)
{
    struct buffer *b = returned;
    if (!b)
        return calloc(1, sizeof *b);
    returned = b->next;
    *b = (struct buffer){.pending = b->pending, .pending_cap = b->pending_cap};
    return b;
}

static void give_back_locked(struct buffer *b)
{
    b->next = returned;
    returned = b;
}

/* Asks the client for a buffer on the calling thread, with the lock released meanwhile. */
static void ask_locked(struct CUpti_Subscriber_st *c, uint8_t **data, size_t *size, size_t *max)
{
    CUpti_BuffersCallbackRequestFunc request = c->request;
    second_request request2 = c->request2;
    struct second_requested info = {sizeof info};
    bool zeroed = c->zeroed;
    pthread_mutex_unlock(&lock);
    if (request2)
        request2(data, size, max, &info);
    else if (request)
        request(data, size, max);
    if (*data && !zeroed)
        memset(*data, 0, *size);
    pthread_mutex_lock(&lock);
    if (!*data && (request || request2) && cupti_faults()->null_crash)
        raise(SIGSEGV);
}

/* Requests a buffer for the client's slot. */
static struct buffer *fetch_locked(struct CUpti_Subscriber_st *c, struct slot *s)
{
    steal_if_due();
    uint8_t *data = NULL;
    size_t size = 0, max = 0;
    ask_locked(c, &data, &size, &max);
    struct buffer *b = data && size ? new_locked() : NULL;
    if (!b)
        return NULL;
    b->client = c;
    b->thread = (uint64_t)pthread_self();
    b->data = data;
    b->size = size;
    b->max_records = max;
    b->next = buffers;
    buffers = b;
    if (s->current) /* another thread has installed a buffer meanwhile: return that one as it is */
        retire(s->current);
    s->current = b;
    b->slot = s;
    return b;
}

static void append_locked(struct CUpti_Subscriber_st *c, const void *record, size_t bytes,
                          const struct timing *t)
{
    struct held h;
    client_convert(c, record, bytes, t, &h);
    struct slot *s = slot_here(c);
    double share = cupti_faults()->drop;
    bool switching = cupti_switching();
    if (switching)
        h.t = (struct timing){0, 0, h.t.start_at, h.t.end_at}; /* the times stay 0 */
    bool lost = !s || (switching && !t) ||
                (share > 0 && (double)(buffer_random() >> 11) / 9007199254740992.0 < share);
    struct buffer *b = lost ? NULL : s->current;
    if (b && !buffer_has_room(b, h.bytes)) {
        retire(b);
        b = NULL;
    }
    if (!lost && !b)
        b = fetch_locked(c, s);
    if (!b || !buffer_has_room(b, h.bytes)) {
        c->dropped++;
    } else {
        bool disorder = cupti_faults()->disorder;
        c->dropped += !(disorder ? buffer_write_disordered(b, &h) : buffer_write(b, &h));
        buffer_settle(b, vg_now_ns(), false);
        if (!worker_needed && b->pending_first < b->pending_end) {
            worker_needed = true;
            pthread_cond_signal(&wake);
        }
    }
}

void buffer_append(const void *record, size_t bytes, const struct timing *t)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < CLIENTS; i++)
        if (client_takes(&cupti_clients[i], record))
            append_locked(&cupti_clients[i], record, bytes, t);
    pthread_mutex_unlock(&lock);
}

void buffer_append_to(CUpti_SubscriberHandle client, const void *record, size_t bytes)
{
    if (!client) {
        buffer_append(record, bytes, NULL);
        return;
    }
    pthread_mutex_lock(&lock);
    append_locked(client, record, bytes, NULL);
    pthread_mutex_unlock(&lock);
}

/* Takes one buffer that may be returned out of the list. `partial`: also buffers that are still
 * being filled; `forced`: also with unfinished work. */
static struct buffer *take_locked(bool partial, bool forced)
{
    int64_t now = vg_now_ns();
    for (struct buffer **at = &buffers; *at; at = &(*at)->next) {
        struct buffer *b = *at;
        if (b->slot && !partial)
            continue;
        if (b->slot && b->used == 0 && b->held_count == 0)
            continue;
        b->client->dropped += buffer_write_held(b);
        buffer_settle(b, now, true);
        if (b->pending_first < b->pending_end && !forced)
            continue;
        if (b->slot)
            b->slot->current = NULL;
        *at = b->next;
        return b;
    }
    return NULL;
}

static void nap(int64_t ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    nanosleep(&t, NULL);
}

static void hand_back(struct CUpti_Subscriber_st *c, const struct buffer *b,
                      CUpti_BuffersCallbackCompleteFunc complete, second_complete complete2)
{
    struct second_completed info = {sizeof info, b->thread, c->own_records ? c->layouts : NULL,
                                    c->own_records ? KINDS : 0};
    if (complete2)
        complete2(b->data, b->size, b->used, &info);
    else if (complete)
        complete(NULL, 0, b->data, b->size, b->used);
}

static void deliver_locked(bool partial, bool forced)
{
    struct buffer *b;
    while ((b = take_locked(partial, forced)) != NULL) {
        struct CUpti_Subscriber_st *c = b->client;
        CUpti_BuffersCallbackCompleteFunc complete = c->complete;
        second_complete complete2 = c->complete2;
        pthread_mutex_unlock(&lock);
        if (!partial)
            nap(cupti_faults()->slow_return_ns);
        hand_back(c, b, complete, complete2);
        pthread_mutex_lock(&lock);
        give_back_locked(b);
    }
}

void buffers_flush(bool forced)
{
    pthread_mutex_lock(&lock);
    deliver_locked(true, forced);
    pthread_mutex_unlock(&lock);
}

static bool settle_all(void)
{
    bool more = false;
    for (struct buffer *b = buffers; b; b = b->next) {
        buffer_settle(b, vg_now_ns(), true);
        more |= !b->slot || b->pending_first < b->pending_end;
    }
    return more;
}

static void nap_until_needed(int64_t most_ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += most_ns;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&wake, &lock, &t);
}

static void *work(void *unused)
{
    (void)unused;
    vg_helper_begin();
    pthread_mutex_lock(&lock);
    while (!vg_helpers_alone()) {
        if (worker_needed) {
            deliver_locked(false, false);
            worker_needed = settle_all();
            cupti_clock_follow();
        }
        nap_until_needed(worker_needed ? TICK_NS : VG_HELPER_NS);
    }
    worker_started = false;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void start_worker(void)
{
    sigset_t all, before;
    pthread_condattr_t attr;
    pthread_t thread;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&wake, &attr);
    pthread_key_create(&slot_key, thread_gone);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, work, NULL) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void start_locked(void)
{
    if (worker_started)
        return;
    worker_started = true;
    if (!per_thread_set)
        per_thread = cupti_layout()->api_version >= 130000;
    start_worker();
}

void buffers_start(void)
{
    pthread_mutex_lock(&lock);
    start_locked();
    pthread_mutex_unlock(&lock);
}

void buffers_register(CUpti_BuffersCallbackRequestFunc request,
                      CUpti_BuffersCallbackCompleteFunc complete)
{
    pthread_mutex_lock(&lock);
    start_locked();
    first->request = request;
    first->complete = complete;
    pthread_mutex_unlock(&lock);
}

/* A subscriber leaves: what it did not flush is lost, and its buffers are never returned. */
void client_leave(struct CUpti_Subscriber_st *c)
{
    pthread_mutex_lock(&lock);
    c->request2 = NULL;
    c->complete2 = NULL;
    for (struct buffer **at = &buffers; *at;) {
        struct buffer *b = *at;
        if (b->client != c) {
            at = &b->next;
            continue;
        }
        if (b->slot)
            b->slot->current = NULL;
        *at = b->next;
        give_back_locked(b);
    }
    pthread_mutex_unlock(&lock);
}

void buffers_lock(void)
{
    pthread_mutex_lock(&lock);
}

void buffers_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void buffers_per_thread(bool on)
{
    per_thread = on;
    per_thread_set = true;
}

bool buffers_are_per_thread(void)
{
    return per_thread_set ? per_thread : cupti_layout()->api_version >= 130000;
}

size_t buffers_dropped(CUpti_SubscriberHandle client)
{
    pthread_mutex_lock(&lock);
    size_t n = client->dropped;
    client->dropped = 0;
    pthread_mutex_unlock(&lock);
    return n;
}
