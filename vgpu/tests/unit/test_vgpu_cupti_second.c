/* The second activity interface of the virtual GPU's CUPTI: several subscribers, each with its own
 * kinds, buffers and fields; and what the two interfaces answer beside each other. */
#include "shims/cupti/shim_cupti_second.h"
#include "tests/unit/vgpu_records.h"

Suite *test_vgpu_cupti_second_suite(void);

typedef CUpti_SubscriberHandle subscriber;
CUptiResult second_register(subscriber, second_request,
                            second_complete) __asm__("cuptiActivityRegisterCallbacks_v2");
CUptiResult second_enable(subscriber, CUpti_ActivityKind,
                          const struct second_config *) __asm__("cuptiActivityEnable_v2");
CUptiResult second_disable(subscriber, CUpti_ActivityKind,
                           const struct second_config *) __asm__("cuptiActivityDisable_v2");
CUptiResult second_set(subscriber, int, size_t *,
                       const void *) __asm__("cuptiActivitySetAttribute_v2");
CUptiResult second_next(subscriber, uint8_t *, size_t,
                        CUpti_Activity **) __asm__("cuptiActivityGetNextRecord_v2");
CUptiResult second_runtime(subscriber, CUpti_CallbackId,
                           uint8_t) __asm__("cuptiActivityEnableRuntimeApi_v2");
CUptiResult second_now(subscriber, uint64_t *) __asm__("cuptiGetTimestamp_v2");
CUptiResult second_dropped(subscriber, CUcontext, uint32_t,
                           size_t *) __asm__("cuptiActivityGetNumDroppedRecords_v2");

/* What came to each of two subscribers. */
enum { CORRELATION = 22, START = 7, END = 8, NAME = 24 }; /* fields of kernels */
static subscriber one, two;
static struct {
    int kinds[64], kernels, good;
    size_t bytes;
    uint64_t correlation[MANY];
} got[2];

static void ask(uint8_t **buffer, size_t *size, size_t *most, struct second_requested *info)
{
    ck_assert_uint_eq(info->bytes, sizeof *info);
    request(buffer, size, most);
}

static uint64_t field(const uint8_t *record, const struct second_layout *l, int id)
{
    uint64_t v = 0;
    for (size_t i = 0; i < l->fields; i++)
        if (l->entries[i].id == id)
            memcpy(&v, record + l->entries[i].offset, l->entries[i].size);
    return v;
}

static void see(int who, const uint8_t *record, const struct second_completed *info)
{
    const CUpti_ActivityKernel4 *k = (const void *)record;
    got[who].kinds[k->kind]++;
    if (k->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || got[who].kernels == MANY)
        return;
    const struct second_layout *l = info->layouts ? info->layouts[k->kind] : NULL;
    uint64_t start = l ? field(record, l, START) : k->start,
             end = l ? field(record, l, END) : k->end;
    uint64_t name = l ? field(record, l, NAME) : (uint64_t)k->name;
    got[who].correlation[got[who].kernels++] = l ? field(record, l, CORRELATION) : k->correlationId;
    got[who].good += start > 0 && end > start && strcmp((const char *)name, "_Z4workPf") == 0;
}

static void take(int who, uint8_t *buffer, size_t valid, const struct second_completed *info)
{
    CUpti_Activity *r = NULL;
    pthread_mutex_lock(&seen_lock);
    while (second_next(who ? two : one, buffer, valid, &r) == CUPTI_SUCCESS)
        see(who, (uint8_t *)r, info);
    got[who].bytes += valid;
    seen.completions++;
    pthread_mutex_unlock(&seen_lock);
    free(buffer);
}

static void take_one(uint8_t *buffer, size_t size, size_t valid, struct second_completed *info)
{
    ck_assert_uint_eq(size, BYTES);
    take(0, buffer, valid, info);
}

static void take_two(uint8_t *buffer, size_t size, size_t valid, struct second_completed *info)
{
    ck_assert_uint_eq(size, BYTES);
    take(1, buffer, valid, info);
}

static void nothing(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    (void)user, (void)domain, (void)id, (void)data;
}

static CUptiResult join(subscriber *s, const char *name, uint8_t several, char *old)
{
    struct second_params p = {
        .bytes = sizeof p, .name = name, .old_name = old, .old_size = 64, .several = several};
    return cuptiSubscribe_v2(s, nothing, NULL, (CUpti_SubscriberParams *)(void *)&p);
}

static void start(const char *device)
{
    static void *fat;
    setenv("GPUPROF_VGPU", device, 1);
    __cudaRegisterFunction(__cudaRegisterFatBinary(&fat), &kernel, NULL, "_Z4workPf", -1, NULL,
                           NULL, NULL, NULL, NULL);
}

static void start_both(const char *device)
{
    char old[64];
    start(device);
    CUPTI(join(&one, "the first", 1, old));
    ck_assert_str_eq(old, "");
    CUPTI(join(&two, "the second", 1, old));
    ck_assert_str_eq(old, "CUPTI for the first");
    CUPTI(second_register(one, ask, take_one));
    CUPTI(second_register(two, ask, take_two));
}

START_TEST(each_subscriber_gets_its_kinds)
{
    size_t dropped = 1;
    start_both("h200,noise=0,cupti=13.4");
    CUPTI(second_enable(one, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, NULL));
    CUPTI(second_enable(one, CUPTI_ACTIVITY_KIND_RUNTIME, NULL));
    CUPTI(second_runtime(one, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020, 0));
    launch_many(10);
    CUPTI(second_enable(two, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, NULL));
    launch_many(5);
    CUPTI(second_disable(one, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, NULL));
    launch_many(3);
    settle();
    ck_assert_int_eq(got[0].kernels, 15);
    ck_assert_int_eq(got[0].good, 15);
    ck_assert_int_eq(got[0].kinds[CUPTI_ACTIVITY_KIND_RUNTIME], 18);
    ck_assert_int_eq(got[1].kernels, 8);
    ck_assert_int_eq(got[1].good, 8);
    ck_assert_int_eq(got[1].kinds[CUPTI_ACTIVITY_KIND_RUNTIME], 0);
    ck_assert_mem_eq(got[1].correlation, got[0].correlation + 10, 5 * sizeof(uint64_t));
    CUPTI(second_dropped(one, NULL, 0, &dropped));
    ck_assert_uint_eq(dropped, 0);
}
END_TEST

START_TEST(one_chooses_fields_and_the_other_does_not)
{
    static const int ids[] = {0, START, END, CORRELATION, NAME};
    struct second_config config = {sizeof config, {sizeof config.selection, 5, ids}, NULL};
    struct second_config no_kind = {sizeof config, {sizeof config.selection, 4, ids + 1}, NULL};
    const uint8_t yes = 1, no = 0;
    size_t n = 1;
    start_both("h200,noise=0,cupti=13.4");
    CUPTI(second_set(two, SECOND_ATTR_OWN_RECORDS, &n, &yes));
    ck_assert_int_eq(second_enable(two, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, NULL),
                     CUPTI_ERROR_INVALID_PARAMETER);
    ck_assert_int_eq(second_enable(two, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, &no_kind),
                     CUPTI_ERROR_INVALID_PARAMETER);
    CUPTI(second_enable(one, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, NULL));
    CUPTI(second_enable(two, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, &config));
    ck_assert_int_eq(second_set(two, SECOND_ATTR_OWN_RECORDS, &n, &no),
                     CUPTI_ERROR_INVALID_OPERATION);
    launch_many(20);
    settle();
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(got[i].kernels, 20);
        ck_assert_int_eq(got[i].good, 20);
    }
    ck_assert_mem_eq(got[1].correlation, got[0].correlation, 20 * sizeof(uint64_t));
    ck_assert_uint_eq(got[0].bytes, 20 * 248);
    ck_assert_uint_eq(got[1].bytes, 20 * 40);
}
END_TEST

START_TEST(one_interface_at_a_time)
{
    uint64_t ns;
    char old[64];
    start("h200,cupti=13.4");
    CUPTI(join(&one, "one", 1, old));
    CUPTI(second_now(one, &ns)); /* from here on the second one is in use */
    ck_assert_int_eq(cuptiGetTimestamp(&ns), CUPTI_ERROR_NOT_COMPATIBLE);
    ck_assert_int_eq(cuptiActivityRegisterCallbacks(request, complete), CUPTI_ERROR_NOT_COMPATIBLE);
    ck_assert_int_eq(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_ERROR_NOT_COMPATIBLE);
    ck_assert_int_eq(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_ERROR_NOT_COMPATIBLE);
    ck_assert_int_eq(cuptiSubscribe(&two, nothing, NULL),
                     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    CUPTI(cuptiActivityFlushAll(0));
    CUPTI(cuptiUnsubscribe(one));
    CUPTI(cuptiActivityRegisterCallbacks(request, complete)); /* and now the first one */
    CUPTI(join(&one, "one", 1, old));
    ck_assert_int_eq(second_register(one, ask, take_one), CUPTI_ERROR_NOT_COMPATIBLE);
}
END_TEST

START_TEST(who_subscribes_first_says_how_many)
{
    char old[64];
    start("h200,cupti=13.4");
    CUPTI(join(&one, "alone", 0, old));
    ck_assert_int_eq(join(&two, "late", 1, old), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    ck_assert_str_eq(old, "CUPTI for alone");
    CUPTI(cuptiUnsubscribe(one));
    CUPTI(join(&two, "late", 1, old));
    ck_assert_int_eq(join(&one, "alone", 0, old), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    ck_assert_str_eq(old, "CUPTI for late");
}
END_TEST

START_TEST(older_drivers_and_releases_have_one)
{
    char old[64];
    uint64_t ns;
    start(_i ? "h200,cupti=13.4,one_subscriber=1" : "h200,cupti=13.0");
    CUptiResult rc = join(&one, "one", 1, old);
    if (_i)
        ck_assert_int_eq(rc, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    else
        ck_assert_int_eq(second_now(one, &ns), CUPTI_ERROR_NOT_SUPPORTED);
}
END_TEST

Suite *test_vgpu_cupti_second_suite(void)
{
    Suite *s = suite_create("vgpu_cupti_second");
    TCase *t = tcase_create("all");
    tcase_add_test(t, each_subscriber_gets_its_kinds);
    tcase_add_test(t, one_chooses_fields_and_the_other_does_not);
    tcase_add_test(t, one_interface_at_a_time);
    tcase_add_test(t, who_subscribes_first_says_how_many);
    tcase_add_loop_test(t, older_drivers_and_releases_have_one, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
