/* Records calls of NVTX: attributes become a range or a mark of the calling thread. */
#include <stddef.h>

#include "agent/core/ranges.h"
#include "agent/core/window.h"
#include "agent/libs/nccl.h"
#include "agent/nvtx/nvtx.h"

enum { PAYLOAD_EXT = (int)0xDFBD0009 };

static uint32_t text_id(const struct thread *t, void *handle)
{
    return nvtx_text_id(t, nvtx_text(handle));
}

/* ---- attributes ---- */

static uint32_t name_id(struct thread *t, const char *text)
{
    return window_closed() ? window_name(text) : strings_id(t, text);
}

static uint32_t wide_id(const wchar_t *text)
{
    char narrow[512];
    size_t n = strings_narrow(narrow, sizeof narrow, text);
    return window_closed() ? window_name(narrow) : strings_add(narrow, n);
}

static uint32_t message_id(struct thread *t, const nvtxEventAttributes_t *a)
{
    switch (a->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
        return name_id(t, a->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
        return wide_id(a->message.unicode);
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
    if (a->payloadType == PAYLOAD_EXT && nvtx_is_nccl(nvtx_text(domain)) && a->reserved0 > 0)
        nccl_payload(&r, (const struct nvtx_payload *)(uintptr_t)a->payload.ullValue);
    return r;
}

/* ---- what the functions record ---- */

void nvtx_record_push(void *domain, const nvtxEventAttributes_t *a)
{
    struct thread *t = thread_enter_for(false);
    if (!t)
        return;
    struct open_range r = describe(t, domain, a);
    ranges_push(t, &r);
    thread_leave(t);
}

void nvtx_record_push_a(const char *message)
{
    struct thread *t = thread_enter_for(false);
    if (!t)
        return;
    struct open_range r = {.name = name_id(t, message)};
    ranges_push(t, &r);
    thread_leave(t);
}

void nvtx_record_push_w(const wchar_t *message)
{
    struct thread *t = thread_enter_for(false);
    if (!t)
        return;
    struct open_range r = {.name = wide_id(message)};
    ranges_push(t, &r);
    thread_leave(t);
}

void nvtx_record_pop(void *domain)
{
    struct thread *t = thread_enter();
    if (!t)
        return;
    ranges_pop(t, text_id(t, domain));
    thread_leave(t);
}

void nvtx_record_mark(void *domain, const nvtxEventAttributes_t *a)
{
    struct thread *t = thread_enter();
    if (!t)
        return;
    struct open_range r = describe(t, domain, a);
    ranges_mark(t, &r);
    thread_leave(t);
}

nvtxRangeId_t nvtx_record_start(void *domain, const nvtxEventAttributes_t *a, nvtxRangeId_t id)
{
    struct thread *t = thread_enter_for(false);
    if (!t)
        return id;
    struct open_range r = describe(t, domain, a);
    uint64_t own = ranges_start(t, &r, id);
    thread_leave(t);
    return id ? id : own;
}

void nvtx_record_end(nvtxRangeId_t id)
{
    struct thread *t = thread_enter();
    if (!t)
        return;
    ranges_end(t, id);
    thread_leave(t);
}

void nvtx_record_thread_name(uint32_t tid, const char *name)
{
    struct thread *t = thread_enter_for(false);
    if (!t)
        return;
    about_thread_name(t, tid, name);
    thread_leave(t);
}
