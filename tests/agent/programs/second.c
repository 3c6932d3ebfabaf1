/* A tool that uses CUPTI's second activity interface: a library that programs/gpu.cu loads, or that CUDA_INJECTION64_PATH
 * names, so that it is there before the agent. It asks for kernels, copies and runtime calls, and prints what it got and which
 * calls failed. GPUPROF_TEST_PEER_DOES contains words separated by commas: */
// clang-format off
/*   dlsym      finds its functions by dlsym, where nobody can see the calls; else they are linked
 *   own        chooses the fields of its records
 *   alone      does not allow other subscribers
 *   hold       never ends
 *   finalize   ends by cuptiFinalize, after it has unsubscribed
 */
// clang-format on
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cupti.h>

void peer_begin(void);
void peer_end(void);
void peer_report(void);
int InitializeInjection(void);

enum { BYTES = 1 << 20, OWN_RECORDS = 11, KINDS = 3, NAPS = 100 };
enum { START, END, NAME, CORRELATION, FIELDS }; /* what it wants of each record */

/* As CUPTI 13.3 has them. */
struct params {
    size_t bytes;
    const char *name;
    char *old_name;
    size_t old_size;
    uint8_t several, padding[7];
};
struct config {
    size_t bytes;
    struct {
        size_t bytes, n;
        const int *ids;
    } fields;
    const void *options;
};
struct layout {
    size_t bytes;
    const struct {
        size_t bytes;
        int id;
        size_t offset, size, alignment;
    } * entries;
    size_t n, record;
};
struct completed {
    size_t bytes;
    uint64_t thread;
    struct layout **layouts;
    size_t n;
};
typedef void (*request_fn)(uint8_t **, size_t *, size_t *, void *);
typedef void (*complete_fn)(uint8_t *, size_t, size_t, struct completed *);

/* Numbers of these fields in the vendor's lists, and places in the records of all fields. */
static const struct kind {
    CUpti_ActivityKind kind;
    int ids[1 + FIELDS], n;
    size_t at[FIELDS];
} kinds[KINDS] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, {0, 7, 8, 24, 22}, 5, {16, 24, 104, 92}},
    {CUPTI_ACTIVITY_KIND_MEMCPY, {0, 6, 7, 11}, 4, {16, 24, 0, 44}},
    {CUPTI_ACTIVITY_KIND_RUNTIME, {0, 2, 3, 6}, 4, {8, 16, 0, 32}},
};

static _Atomic(CUpti_SubscriberHandle) me;
static atomic_long got[KINDS], wrong, failed, out; /* out: buffers that CUPTI has */
static int injected;

CUptiResult linked_register(CUpti_SubscriberHandle, request_fn,
                            complete_fn) __asm__("cuptiActivityRegisterCallbacks_v2");
CUptiResult linked_enable(CUpti_SubscriberHandle, CUpti_ActivityKind,
                          const struct config *) __asm__("cuptiActivityEnable_v2");
CUptiResult linked_disable(CUpti_SubscriberHandle, CUpti_ActivityKind,
                           const struct config *) __asm__("cuptiActivityDisable_v2");
CUptiResult linked_set(CUpti_SubscriberHandle, int, size_t *,
                       const void *) __asm__("cuptiActivitySetAttribute_v2");
CUptiResult linked_next(CUpti_SubscriberHandle, uint8_t *, size_t,
                        CUpti_Activity **) __asm__("cuptiActivityGetNextRecord_v2");

static int does(const char *word)
{
    const char *all = getenv("GPUPROF_TEST_PEER_DOES");
    return all && strstr(all, word) != NULL;
}

static void *found(const char *name)
{
    return dlsym(dlopen("libcupti.so.13", RTLD_LAZY | RTLD_NOLOAD), name);
}

/* Calls a function that is linked, or looks it up. */
#define RESULT(fn, symbol, ...)                                                                    \
    ({                                                                                             \
        __typeof__(&fn) f_ = fn;                                                                   \
        if (does("dlsym"))                                                                         \
            *(void **)&f_ = found(symbol);                                                         \
        f_(__VA_ARGS__);                                                                           \
    })
#define CALL(...) (failed += (RESULT(__VA_ARGS__)) != CUPTI_SUCCESS)

static void request(uint8_t **buffer, size_t *size, size_t *most, void *info)
{
    (void)info;
    *buffer = malloc(BYTES);
    *size = BYTES;
    *most = 0;
    out++;
}

static uint64_t field(const struct kind *k, const uint8_t *record, const struct layout *l,
                      int which)
{
    uint64_t v = 0;
    if (!l) {
        memcpy(&v, record + k->at[which], which == CORRELATION ? 4 : 8);
        return v;
    }
    int id = which == CORRELATION ? k->ids[k->n - 1] : k->ids[1 + which];
    for (size_t i = 0; i < l->n; i++)
        if (l->entries[i].id == id)
            memcpy(&v, record + l->entries[i].offset, l->entries[i].size);
    return v;
}

static void count(const uint8_t *record, const struct completed *info)
{
    uint32_t kind;
    memcpy(&kind, record, sizeof kind);
    const struct layout *l = info->layouts ? info->layouts[kind] : NULL;
    for (int i = 0; i < KINDS; i++) {
        const struct kind *k = &kinds[i];
        if (kind != (uint32_t)k->kind)
            continue;
        got[i]++;
        uint64_t start = field(k, record, l, START);
        wrong +=
            start == 0 || field(k, record, l, END) < start || field(k, record, l, CORRELATION) == 0;
        wrong += i == 0 && !strstr((const char *)field(k, record, l, NAME), "fill");
        wrong += (l != NULL) != (does("own") != 0);
        return;
    }
    wrong++;
}

static void complete(uint8_t *buffer, size_t size, size_t valid, struct completed *info)
{
    CUpti_Activity *r = NULL;
    (void)size;
    while (RESULT(linked_next, "cuptiActivityGetNextRecord_v2", me, buffer, valid, &r) ==
           CUPTI_SUCCESS)
        count((uint8_t *)r, info);
    free(buffer);
    out--;
}

static void callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    (void)user, (void)domain, (void)id, (void)data;
}

static void enable(const struct kind *k)
{
    struct config c = {sizeof c, {sizeof c.fields, (size_t)k->n, k->ids}, NULL};
    CALL(linked_enable, "cuptiActivityEnable_v2", me, k->kind, does("own") ? &c : NULL);
}

void peer_begin(void)
{
    struct params p = {.bytes = sizeof p, .name = "the partner", .several = !does("alone")};
    uint8_t on = 1;
    size_t size = 1;
    if (injected)
        return;
    CUpti_SubscriberHandle handle = NULL;
    if (CALL(cuptiSubscribe_v2, "cuptiSubscribe_v2", &handle, callback, NULL,
             (CUpti_SubscriberParams *)(void *)&p))
        return;
    me = handle;
    CALL(linked_register, "cuptiActivityRegisterCallbacks_v2", me, request, complete);
    if (does("own"))
        CALL(linked_set, "cuptiActivitySetAttribute_v2", me, OWN_RECORDS, &size, &on);
    for (int i = 0; i < KINDS; i++)
        enable(&kinds[i]);
}

/* CUPTI's own thread may be about to return a buffer: the subscriber must stay until then. */
static void take_back(void)
{
    for (int i = 0; i == 0 || (i < NAPS && out > 0); i++) {
        CALL(cuptiActivityFlushAll, "cuptiActivityFlushAll", 0);
        if (out > 0)
            usleep(1000);
    }
}

void peer_end(void)
{
    if (does("hold") || !me)
        return;
    for (int i = 0; i < KINDS; i++)
        CALL(linked_disable, "cuptiActivityDisable_v2", me, kinds[i].kind, NULL);
    take_back();
    CALL(cuptiUnsubscribe, "cuptiUnsubscribe", me);
    if (does("finalize"))
        CALL(cuptiFinalize, "cuptiFinalize");
    me = NULL;
}

void peer_report(void)
{
    if (does("hold") && me)
        take_back();
    printf("peer: kernels %ld copies %ld calls %ld wrong %ld failed %ld\n", got[0], got[1], got[2],
           wrong, failed);
}

int InitializeInjection(void)
{
    peer_begin();
    injected = 1;
    return 1;
}
