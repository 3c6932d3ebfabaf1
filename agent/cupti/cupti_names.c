/* Copies what records point to. Kernel names lie in the program's memory and are lost when it dies,
 * so each new one is copied into the spool. API functions are numbers, whose names only this
 * version of CUPTI knows.
 *
 * A name's module may have been unloaded by the time of the copy. Names are therefore read through
 * the kernel, which returns an error where a load would crash. Only one thread at a time uses this
 * file (cupti_publish.c). */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "agent/cupti/cupti.h"

enum {
    TABLE = 1 << 18,
    TABLE_FILL = TABLE / 4 * 3,
    NAME_MAX_BYTES = 16 << 10,
    CBIDS = 4096,
    KERNEL_NAME = 104, /* offsets that are the same in all versions of the records */
    API_CBID = 4,
};
_Static_assert(offsetof(CUpti_ActivityKernel9, name) == KERNEL_NAME, "kernel record changed");
_Static_assert(offsetof(CUpti_ActivityAPI, cbid) == API_CBID, "API record changed");

struct known {
    uint64_t pointer;
    uint32_t string, round;
};

static struct known *table;
static uint32_t table_used, round_now;
/* 1: its name is published; 2: also, it launches kernels. */
static uint8_t cbid_known[2][CBIDS];
static _Atomic uint64_t launches, kernels; /* seen so far */

int cupti_names_open(void)
{
    if (spool_grow(agent.spool->names_off, sizeof(struct spool_name) * agent.spool->names_cap) != 0)
        return -1;
    void *map = mmap(NULL, TABLE * sizeof *table, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return -1;
    madvise(map, TABLE * sizeof *table, MADV_DONTFORK);
    table = map;
    table_used = 0;
    atomic_store(&launches, 0);
    atomic_store(&kernels, 0);
    memset(cbid_known, 0, sizeof cbid_known);
    return 0;
}

/* Adds 1. Only one thread at a time adds, so no atomic addition is needed; others may read. */
static void count(_Atomic uint64_t *n)
{
    atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

void cupti_names_round(void)
{
    round_now++;
}

struct cupti_seen cupti_names_seen(void)
{
    return (struct cupti_seen){atomic_load_explicit(&launches, memory_order_relaxed),
                               atomic_load_explicit(&kernels, memory_order_relaxed)};
}

/* Copies the text at `pointer`, page by page. Returns its length, 0 if it cannot be read. */
static size_t read_text(uint64_t pointer, char *to, size_t size)
{
    size_t n = 0;
    while (n < size) {
        size_t page = SPOOL_PAGE - (pointer + n) % SPOOL_PAGE;
        size_t want = page < size - n ? page : size - n;
        struct iovec here = {to + n, want};
        struct iovec there = {(void *)(uintptr_t)(pointer + n), want};
        ssize_t got = process_vm_readv(agent.pid, &here, 1, &there, 1, 0);
        /* The process may not do that: read the memory directly. */
        if (got < 0 && (errno == EPERM || errno == ENOSYS)) {
            got = (ssize_t)strnlen(there.iov_base, want - 1) + 1;
            memcpy(to + n, there.iov_base, (size_t)got);
        }
        if (got <= 0)
            return 0;
        char *end = memchr(to + n, 0, (size_t)got);
        if (end)
            return (size_t)(end - to);
        n += (size_t)got;
    }
    return n;
}

static void publish(uint64_t pointer, uint32_t string)
{
    uint32_t n = atomic_load_explicit(&agent.spool->names_used, memory_order_relaxed);
    if (n >= agent.spool->names_cap) {
        agent_count(SPOOL_NAMES_FULL, 1);
        return;
    }
    spool_names()[n] = (struct spool_name){.pointer = pointer, .string = string};
    atomic_store_explicit(&agent.spool->names_used, n + 1, memory_order_release);
}

static void see_name(uint64_t pointer)
{
    if (pointer == 0)
        return;
    uint32_t i = (uint32_t)((pointer * 0x9e3779b97f4a7c15ull) >> 46);
    while (table[i].pointer != pointer && table[i].pointer != 0)
        i = (i + 1) & (TABLE - 1);
    struct known *k = &table[i];
    if (k->pointer == pointer && k->round == round_now)
        return;
    static char text[NAME_MAX_BYTES];
    size_t n = read_text(pointer, text, sizeof text);
    uint32_t id = n ? strings_add(text, n) : 0;
    if (k->pointer == 0) {
        if (table_used >= TABLE_FILL) {
            agent_count(SPOOL_NAMES_FULL, 1);
            return;
        }
        table_used++;
        k->pointer = pointer;
    }
    k->round = round_now;
    if (id && id != k->string) {
        k->string = id;
        publish(pointer, id);
    }
}

/* Removes the version: CUPTI says cudaMemcpyAsync_v3020, and _v3020 tells users nothing. */
static void strip_version(char *name)
{
    char *v = strrchr(name, 'v');
    if (!v || v - name < 2 || v[-1] != '_' || strlen(v + 1) < 4)
        return;
    for (char *p = v + 1; *p; p++)
        if (!isdigit((unsigned char)*p))
            return;
    v[-1] = 0;
}

static void see_cbid(struct thread *t, bool runtime, uint32_t cbid, bool failed)
{
    if (cbid >= CBIDS)
        return;
    uint8_t *known = &cbid_known[runtime][cbid];
    if (*known == 0) {
        const char *from = NULL;
        char name[128], key[32];
        *known = 1;
        CUpti_CallbackDomain domain =
            runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
        if (!cupti.api.GetCallbackName ||
            cupti.api.GetCallbackName(domain, cbid, &from) != CUPTI_SUCCESS || !from)
            return;
        snprintf(name, sizeof name, "%s", from);
        if (runtime)
            strip_version(name);
        if (strstr(name, "LaunchKernel"))
            *known = 2;
        snprintf(key, sizeof key, "cbid.%s.%u", runtime ? "runtime" : "driver", cbid);
        about_meta(t, key, name);
    }
    if (*known == 2 && !failed)
        count(&launches);
}

static uint64_t word_at(const char *record, size_t offset)
{
    uint64_t v;
    memcpy(&v, record + offset, sizeof v);
    return v;
}

/* Publishes the names that a record needs. False: CUPTI has not finished writing this record. */
static bool see(struct thread *t, uint32_t kind, const char *record)
{
    uint32_t cbid, result;
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        if (word_at(record, KERNEL_NAME) == 0)
            return false;
        see_name(word_at(record, KERNEL_NAME));
        count(&kernels);
        return true;
    case CUPTI_ACTIVITY_KIND_DEVICE:
        see_name(word_at(record, offsetof(CUpti_ActivityDevice5, name)));
        return true;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
        memcpy(&cbid, record + API_CBID, sizeof cbid);
        if (cbid == 0)
            return false;
        memcpy(&result, record + offsetof(CUpti_ActivityAPI, returnValue), sizeof result);
        see_cbid(t, kind == CUPTI_ACTIVITY_KIND_RUNTIME, cbid, result != 0);
        return true;
    default:
        return true;
    }
}

uint64_t cupti_names_walk(struct thread *t, const char *buffer, uint64_t from, uint64_t bytes,
                          bool complete)
{
    while (from + sizeof(uint32_t) <= bytes) {
        /* CUPTI writes the kind last. */
        uint32_t kind =
            atomic_load_explicit((const _Atomic uint32_t *)(buffer + from), memory_order_acquire);
        uint32_t stride = kind < SPOOL_STRIDES ? agent.spool->stride[kind] : 0;
        if (kind == 0 || stride == 0 || from + stride > bytes)
            break;
        if (!see(t, kind, buffer + from) && !complete)
            break;
        from += stride;
    }
    return from;
}
