/* NVTX ranges and marks, as the agent records them. */
#include "tests/unit/test.h"
#include "tests/unit/spool_view.h"

#include <pthread.h>
#include <wchar.h>

#include <nvtx3/nvToolsExt.h>

/* Check runs each test in a process of its own: each one injects anew. */
static char dir[64], path[4096];

static void inject(void)
{
    view_dir(dir, sizeof dir);
    setenv("NVTX_INJECTION64_PATH", AGENT_LIBRARY, 1);
}

static void done(void)
{
    view_remove(dir);
}

static struct spool_view look(void)
{
    ck_assert_int_eq(view_files(dir, SPOOL_SUFFIX, path, sizeof path), 1);
    return view_open(path);
}

struct one {
    char name[64], domain[64];
    struct spool_rec_range range;
    struct spool_rec_call call;
};

static void see_range(const struct spool_view *v, const struct spool_rec *rec, void *arg)
{
    struct one *x = arg;
    memcpy(&x->range, rec, sizeof x->range);
    snprintf(x->name, sizeof x->name, "%s", view_string(v, x->range.name));
    snprintf(x->domain, sizeof x->domain, "%s", view_string(v, x->range.domain));
}

static void see_call(const struct spool_view *v, const struct spool_rec *rec, void *arg)
{
    struct one *x = arg;
    memcpy(&x->call, rec, sizeof x->call);
    snprintf(x->name, sizeof x->name, "%s", view_string(v, x->call.function));
}

static nvtxEventAttributes_t attributes(const char *message)
{
    nvtxEventAttributes_t a = {0};
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = message;
    return a;
}

TEST_FIXTURE(inject, done)

TEST(push_answers_as_without_a_tool)
{
    struct one x = {0};
    ck_assert_int_eq(nvtxRangePushA("step"), NVTX_NO_PUSH_POP_TRACKING);
    ck_assert_int_eq(nvtxRangePop(), NVTX_NO_PUSH_POP_TRACKING);
    struct spool_view v = look();
    ck_assert_uint_eq(view_each(&v, SPOOL_REC_RANGE, see_range, &x), 1);
    ck_assert_str_eq(x.name, "step");
    ck_assert_str_eq(x.domain, "");
    ck_assert_int_eq((int)x.range.head.tid, getpid());
    ck_assert_int_le(x.range.head.start_ns, x.range.head.end_ns);
    view_close(&v);
}

TEST(wide_text_becomes_utf8)
{
    struct one x = {0};
    nvtxRangePushW(L"\u00e9tape \u4e00");
    nvtxRangePop();
    struct spool_view v = look();
    view_each(&v, SPOOL_REC_RANGE, see_range, &x);
    ck_assert_str_eq(x.name, "\xc3\xa9tape \xe4\xb8\x80");
    view_close(&v);
}

TEST(domains_registered_strings_and_payloads)
{
    struct one x = {0};
    nvtxDomainHandle_t domain = nvtxDomainCreateA("lib");
    nvtxEventAttributes_t a = attributes(NULL);
    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = nvtxDomainRegisterStringA(domain, "forward");
    a.colorType = NVTX_COLOR_ARGB;
    a.color = 0xff00ff00;
    a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    a.payload.ullValue = 1ull << 40;
    nvtxDomainRangePushEx(domain, &a);
    nvtxDomainRangePop(domain);
    struct spool_view v = look();
    ck_assert_uint_eq(view_each(&v, SPOOL_REC_RANGE, see_range, &x), 1);
    ck_assert_str_eq(x.name, "forward");
    ck_assert_str_eq(x.domain, "lib");
    ck_assert_uint_eq(x.range.color, 0xff00ff00);
    ck_assert_uint_eq(x.range.payload, 1ull << 40);
    view_close(&v);
}

TEST(domains_may_overlap)
{
    struct one x = {0};
    nvtxDomainHandle_t domain = nvtxDomainCreateA("lib");
    nvtxEventAttributes_t a = attributes("in-domain");
    nvtxRangePushA("plain");
    nvtxDomainRangePushEx(domain, &a);
    nvtxRangePop(); /* ends "plain", although "in-domain" is further in */
    struct spool_view v = look();
    ck_assert_uint_eq(view_each(&v, SPOOL_REC_RANGE, see_range, &x), 1);
    ck_assert_str_eq(x.name, "plain");
    view_drain(&v);
    nvtxDomainRangePop(domain);
    ck_assert_uint_eq(view_each(&v, SPOOL_REC_RANGE, see_range, &x), 1);
    ck_assert_str_eq(x.name, "in-domain");
    view_close(&v);
}

static void *end_range(void *id)
{
    nvtxRangeEnd((nvtxRangeId_t)(uintptr_t)id);
    return NULL;
}

TEST(a_range_may_end_on_another_thread)
{
    struct one x = {0};
    pthread_t t;
    nvtxRangeId_t id = nvtxRangeStartA("async");
    ck_assert_uint_ne(id, 0);
    pthread_create(&t, NULL, end_range, (void *)(uintptr_t)id);
    pthread_join(t, NULL);
    nvtxRangeEnd(id); /* ended already: ignored */
    struct spool_view v = look();
    ck_assert_uint_eq(view_each(&v, SPOOL_REC_RANGE, see_range, &x), 1);
    ck_assert_str_eq(x.name, "async");
    ck_assert_uint_eq(x.range.flags, SPOOL_RANGE_STARTEND);
    ck_assert_int_eq((int)x.range.head.tid, getpid());
    view_close(&v);
}

TEST(marks_and_thread_names)
{
    struct one x = {0};
    nvtxMarkA("here");
    nvtxNameOsThreadA(4711, "loader");
    struct spool_view v = look();
    ck_assert_uint_eq(view_each(&v, SPOOL_REC_RANGE, see_range, &x), 1);
    ck_assert_uint_eq(x.range.flags, SPOOL_RANGE_MARK);
    ck_assert_int_eq(x.range.head.start_ns, x.range.head.end_ns);
    ck_assert_uint_ge(view_each(&v, SPOOL_REC_THREAD, NULL, NULL), 2);
    view_close(&v);
}

TEST(deep_nesting_is_counted_not_stored)
{
    enum { DEEP = 1000 };
    for (int i = 0; i < DEEP; i++)
        nvtxRangePushA("deep");
    for (int i = 0; i < DEEP; i++)
        nvtxRangePop();
    nvtxRangePushA("after");
    nvtxRangePop();
    struct one x = {0};
    struct spool_view v = look();
    uint64_t n = view_each(&v, SPOOL_REC_RANGE, see_range, &x);
    ck_assert_uint_gt(n, 64);
    ck_assert_uint_lt(n, DEEP);
    ck_assert_str_eq(x.name, "after");
    ck_assert_uint_eq(x.range.depth, 0);
    view_close(&v);
}

static const struct spool_comm *comm_of(const struct spool_view *v, uint64_t comm)
{
    for (int i = 0; i < SPOOL_COMMS; i++)
        if (atomic_load(&v->h->comms[i].comm) == comm)
            return &v->h->comms[i];
    return NULL;
}

TEST(nccl_payload_becomes_a_collective)
{
    const struct {
        uint64_t comm, bytes;
        int32_t op, unused;
    } all_reduce = {0xabcdef, 4096, 0, 0};
    const struct {
        uint64_t schema, size;
        const void *data;
    } payload = {16777216 + 5, sizeof all_reduce, &all_reduce};
    struct one x = {0};
    nvtxDomainHandle_t domain = nvtxDomainCreateA("NCCL");
    nvtxEventAttributes_t a = attributes("ncclAllReduce");
    a.payloadType = (int32_t)0xDFBD0009;
    a.reserved0 = 1;
    a.payload.ullValue = (uint64_t)(uintptr_t)&payload;
    for (int i = 0; i < 3; i++) {
        nvtxDomainRangePushEx(domain, &a);
        nvtxDomainRangePop(domain);
    }
    struct spool_view v = look();
    ck_assert_uint_eq(view_each(&v, SPOOL_REC_CALL, see_call, &x), 3);
    ck_assert_str_eq(x.name, "ncclAllReduce");
    ck_assert_uint_eq(x.call.family, SPOOL_CALL_COLLECTIVE);
    ck_assert_int_eq(x.call.bytes, 4096);
    ck_assert_uint_eq(x.call.comm, 0xabcdef);
    ck_assert_uint_eq(x.call.sequence, 3);
    view_each(&v, SPOOL_REC_RANGE, see_range, &x);
    ck_assert_uint_eq(x.range.payload, 4096);
    view_close(&v);
    nvtxDomainRangePushEx(domain, &a); /* it is inside the fourth */
    v = look();
    const struct spool_comm *e = comm_of(&v, 0xabcdef);
    ck_assert_ptr_nonnull(e);
    ck_assert(atomic_load(&e->begun) == 4 && atomic_load(&e->ended) == 3);
    ck_assert(atomic_load(&e->begun_ns) > 0 && atomic_load(&e->in_pairs) == 0);
    ck_assert_str_eq(view_string(&v, atomic_load(&e->function)), "ncclAllReduce");
    view_close(&v);
    nvtxDomainRangePop(domain);
}

/* The path of the spool of a child that ends well. */
static void look_of_child(pid_t pid)
{
    int status;
    waitpid(pid, &status, 0);
    ck_assert_int_eq(status, 0);
    char want[32], *found = NULL;
    snprintf(want, sizeof want, "%d-", (int)pid);
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d));)
        if (strncmp(e->d_name, want, strlen(want)) == 0) {
            snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
            found = path;
        }
    closedir(d);
    ck_assert_ptr_nonnull(found);
}

TEST(handles_outlive_a_fork)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("lib");
    nvtxEventAttributes_t a = attributes(NULL);
    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    for (int i = 0; i < 50; i++) { /* the parent's ids are far from the child's */
        char name[32];
        snprintf(name, sizeof name, "filler %d", i);
        nvtxRangePushA(name);
        nvtxRangePop();
    }
    nvtxDomainRangePushEx(domain, &a);
    pid_t pid = fork();
    if (pid == 0) {
        nvtxDomainRangePushEx(domain, &a);
        nvtxDomainRangePop(domain);
        _exit(0);
    }
    look_of_child(pid);
    struct one x = {0};
    struct spool_view v = view_open(path);
    ck_assert_uint_eq(view_each(&v, SPOOL_REC_RANGE, see_range, &x), 1);
    ck_assert_str_eq(x.name, "registered");
    ck_assert_str_eq(x.domain, "lib");
    view_close(&v);
}

/* Its strings are its own: a name of its may have the number of one of its parent's. */
TEST(a_child_counts_its_own_steps)
{
    for (int i = 0; i < 20; i++) {
        char name[32];
        snprintf(name, sizeof name, "setup%02d", i);
        nvtxRangePushA(name);
        nvtxRangePop();
    }
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 3; i++) {
            nvtxRangePushA("step");
            nvtxRangePop();
        }
        _exit(0);
    }
    look_of_child(pid);
    struct spool_view v = view_open(path);
    ck_assert_uint_ge(atomic_load(&v.h->steps), 3);
    view_close(&v);
}

static void push_wide(const wchar_t *name, bool in_attributes)
{
    nvtxEventAttributes_t a = attributes(NULL);
    a.messageType = NVTX_MESSAGE_TYPE_UNICODE;
    a.message.unicode = name;
    if (in_attributes)
        nvtxRangePushEx(&a);
    else
        nvtxRangePushW(name);
    nvtxRangePop();
}

/* Between windows only the marks of steps have names, without their numbers. */
TEST_EACH(wide_names_obey_the_window, 0, 2)
{
    wchar_t name[32];
    setenv("GPUPROF_WINDOW", "closed", 1);
    push_wide(L"step 0", _i == 1);
    struct spool_view v = look();
    uint64_t before = atomic_load(&v.h->strings_used);
    for (int i = 1; i < 10; i++) {
        swprintf(name, 32, L"step %d", i);
        push_wide(name, _i == 1);
        swprintf(name, 32, L"tensor %d", i);
        push_wide(name, _i == 1);
    }
    ck_assert_uint_eq(atomic_load(&v.h->strings_used), before);
    ck_assert_uint_ge(atomic_load(&v.h->steps), 10);
    view_close(&v);
}
