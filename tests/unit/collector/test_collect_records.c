/* The collector: CUPTI's records of several releases, copies, names of calls, and records that are
 * cut off or have no times. */

#include "tests/unit/test.h"
#include "analyzer/collector/spool/spool.h"
#include "tests/unit/collect_spools.h"

TEST_FIXTURE(setup, teardown)

/* Older releases: the same fields, fewer of them at the end. */
TEST(test_strides)
{
    static const uint32_t kernel[] = {200, 208, 216, 112}, event[] = {24, 24, 56, 24},
                          sync[] = {40, 40, 56, 40};
    for (int v = 0; v < 4; v++) {
        char name[8];
        snprintf(name, sizeof name, "v%d", v);
        struct spool_writer w = writer(name, DEAD, 1);
        w.h->stride[10] = kernel[v];
        w.h->stride[36] = event[v];
        w.h->stride[38] = sync[v];
        uint64_t at = 0;
        spool_kernel(&w, 0, &at, stamp(1), stamp(2), 41, 0x1000);
        uint8_t *r = spool_record(&w, 0, &at, 36);
        spool_set(r, 4, 42, 4), spool_set(r, 8, 1, 4), spool_set(r, 12, 13, 4),
            spool_set(r, 16, 6, 4);
        if (event[v] == 56)
            spool_set(r, 40, (uint64_t)stamp(77), 8), spool_set(r, 48, 1234, 8);
        r = spool_record(&w, 0, &at, 38);
        spool_set(r, 4, SYNC_EVENT, 4), spool_set(r, 8, (uint64_t)stamp(5), 8),
            spool_set(r, 16, (uint64_t)stamp(9), 8);
        spool_set(r, 24, 43, 4), spool_set(r, 28, 1, 4), spool_set(r, 32, UINT32_MAX, 4),
            spool_set(r, 36, 6, 4);
        if (sync[v] == 56)
            spool_set(r, 40, 1234, 8);
        spool_state(&w, 0, SPOOL_READY, at);
        spool_ready(&w);
        drain();
        ck_assert_int_eq(KERNELS, v + 1);
        ck_assert_int_eq(KERNEL(v)->correlation, 41);
        ck_assert_int_eq(KERNEL(v)->graph, v == 3 ? 0 : 9);
        const struct row_event *e = MEMORY_ROW(m, event, ROW_EVENT, v);
        ck_assert(e->event == 6 && e->correlation == 42 && e->stream == KERNEL(v)->stream);
        ck_assert_int_eq(e->event_sync, v == 2 ? 1234 : -1);
        ck_assert_int_eq(e->device_ns, v == 2 ? 77 : -1);
        const struct row_sync *s = MEMORY_ROW(m, sync, ROW_SYNC, v);
        ck_assert(s->type == SYNC_EVENT && s->start_ns == 5 && s->end_ns == 9 && s->stream == -1 &&
                  s->event == 6);
        ck_assert_int_eq(s->event_sync, v == 2 ? 1234 : -1);
        spool_end(&w);
    }
}

TEST(test_copies)
{
    struct spool_writer w = dead("a");
    uint64_t at = 0;
    uint8_t *r = spool_record(&w, 0, &at, 1);
    spool_set(r, 4, COPY_H2D, 1), spool_set(r, 5, MEMORY_PAGEABLE, 1),
        spool_set(r, 6, MEMORY_DEVICE, 1);
    spool_set(r, 7, 1, 1), spool_set(r, 8, 4096, 8), spool_set(r, 16, (uint64_t)stamp(1), 8);
    spool_set(r, 24, (uint64_t)stamp(4), 8), spool_set(r, 44, 5, 4), spool_set(r, 64, 8, 8),
        spool_set(r, 72, 3, 4);
    r = spool_record(&w, 0, &at, 22);
    spool_set(r, 8, 100, 8), spool_set(r, 16, (uint64_t)stamp(5), 8),
        spool_set(r, 24, (uint64_t)stamp(6), 8);
    spool_set(r, 52, 1, 4), spool_set(r, 60, 6, 4);
    r = spool_record(&w, 0, &at, 2);
    spool_set(r, 4, 255, 4), spool_set(r, 8, 512, 8), spool_set(r, 16, (uint64_t)stamp(7), 8);
    spool_set(r, 24, (uint64_t)stamp(8), 8), spool_set(r, 44, 7, 4);
    r = spool_record(&w, 0, &at, 51);
    spool_set(r, 4, 8, 4), spool_set(r, 8, (uint64_t)stamp(9), 8),
        spool_set(r, 16, (uint64_t)stamp(10), 8);
    spool_set(r, 28, 2, 4);
    spool_state(&w, 0, SPOOL_READY, at);
    finish();
    const struct row_copy *h2d = MEMORY_ROW(m, copy, ROW_COPY, 0),
                          *peer = MEMORY_ROW(m, copy, ROW_COPY, 1);
    ck_assert(h2d->kind == COPY_H2D && h2d->src_kind == MEMORY_PAGEABLE &&
              h2d->dst_kind == MEMORY_DEVICE);
    ck_assert(h2d->is_async == 1 && h2d->bytes == 4096 && h2d->end_ns - h2d->start_ns == 3 &&
              h2d->correlation == 5);
    ck_assert(h2d->graph_node == 8 && h2d->graph == 3 && h2d->peer_device == -1);
    ck_assert(peer->kind == COPY_P2P && peer->peer_device == 1 && peer->correlation == 6 &&
              peer->is_async == 0);
    const struct row_memset *z = MEMORY_ROW(m, memset, ROW_MEMSET, 0);
    ck_assert(z->value == 255 && z->bytes == 512 && z->correlation == 7);
    ck_assert_str_eq(memory_text(m, KERNEL(0)->name), "CUDA graph");
    ck_assert(KERNEL(0)->graph == 2 && KERNEL(0)->start_ns == 9);
    spool_end(&w);
}

TEST(test_device_and_streams)
{
    struct spool_writer w = dead("a");
    spool_add_name(&w, 0x9000, "Virtual A100 (gpuprof model)");
    uint64_t at = 0;
    uint8_t *r =
        spool_record(&w, 0, &at, 38); /* a wait in a stream whose device is told only later */
    spool_set(r, 4, SYNC_STREAM, 4), spool_set(r, 8, (uint64_t)stamp(1), 8),
        spool_set(r, 16, (uint64_t)stamp(2), 8);
    spool_set(r, 28, 1, 4), spool_set(r, 32, 13, 4);
    spool_kernel(&w, 0, &at, stamp(3), stamp(4), 1, 0x1000);
    r = spool_record(&w, 0, &at, 38);
    spool_set(r, 4, SYNC_STREAM, 4), spool_set(r, 8, (uint64_t)stamp(5), 8),
        spool_set(r, 16, (uint64_t)stamp(6), 8);
    spool_set(r, 28, 1, 4), spool_set(r, 32, 13, 4);
    r = spool_record(&w, 0, &at, 8);
    spool_set(r, 8, 2000000000, 8), spool_set(r, 16, 80ull << 30, 8), spool_set(r, 36, 1410000, 4);
    spool_set(r, 44, 108, 4), spool_set(r, 104, 8, 4), spool_set(r, 120, 0xab, 1),
        spool_set(r, 136, 0x9000, 8);
    r = spool_record(&w, 0, &at, 9); /* context 1, device 0, null stream 7 */
    spool_set(r, 4, 1, 4), spool_set(r, 14, 7, 2);
    r = spool_record(&w, 0, &at, 37);
    spool_set(r, 4, 1, 4), spool_set(r, 8, 13, 4), spool_set(r, 12, (uint32_t)-1, 4),
        spool_set(r, 16, 2, 4);
    r = spool_record(&w, 0, &at, 2); /* on the null stream */
    spool_set(r, 16, (uint64_t)stamp(7), 8), spool_set(r, 24, (uint64_t)stamp(8), 8),
        spool_set(r, 36, 1, 4);
    spool_set(r, 40, 7, 4);
    spool_state(&w, 0, SPOOL_READY, at);
    finish();
    ck_assert_int_eq(m->count[ROW_DEVICE], 1);
    const struct row_device *d = MEMORY_ROW(m, device, ROW_DEVICE, 0);
    ck_assert(d->is_virtual == 1 && d->cc_major == 8 && d->sm_count == 108 &&
              d->clock_khz == 1410000);
    ck_assert(d->memory_bytes_per_s == 2000000000000 && d->memory_bytes == (int64_t)80 << 30);
    ck_assert_str_eq(memory_text(m, d->name), "Virtual A100 (gpuprof model)");
    ck_assert_str_eq(memory_text(m, d->uuid), "GPU-ab000000-0000-0000-0000-000000000000");
    ck_assert_int_eq(m->count[ROW_STREAM], 2); /* the waits made no streams of their own */
    const struct row_stream *side = MEMORY_ROW(m, stream, ROW_STREAM, 0),
                            *null = MEMORY_ROW(m, stream, ROW_STREAM, 1);
    ck_assert(side->stream == 13 && side->flags == STREAM_NON_BLOCKING && side->priority == -1 &&
              side->device == d->id);
    ck_assert(null->stream == 7 && null->flags == STREAM_LEGACY_DEFAULT && null->device == d->id);
    ck_assert_int_eq(MEMORY_ROW(m, sync, ROW_SYNC, 0)->stream, side->id);
    ck_assert_int_eq(MEMORY_ROW(m, sync, ROW_SYNC, 1)->stream, side->id);
    spool_end(&w);
}

TEST(test_api_names)
{
    struct spool_writer w = dead("a");
    spool_ring_open(&w, 0, 5);
    spool_meta(&w, 0, "cbid.runtime.211", "cudaLaunchKernel");
    spool_meta(&w, 0, "cbid.driver.307", "cuLaunchKernel");
    spool_meta(&w, 0, "cbid.runtime.99999999999", "no such number");
    uint64_t at = 0;
    spool_api(&w, 0, &at, 5, 211, stamp(1), stamp(3), 500, 1);
    spool_api(&w, 0, &at, 4, 307, stamp(1), stamp(2), 500, 1);
    spool_api(&w, 0, &at, 4, 211, stamp(1), stamp(2), 501, 2);
    spool_api(&w, 0, &at, 5, UINT32_MAX, stamp(1), stamp(2), 501, 3);
    spool_state(&w, 0, SPOOL_READY, at);
    finish();
    static const char *const names[] = {"cudaLaunchKernel", "cuLaunchKernel", "driver call 211",
                                        "runtime call 4294967295"};
    for (int i = 0; i < 4; i++) {
        const struct row_api *a = MEMORY_ROW(m, api, ROW_API, i);
        ck_assert_str_eq(memory_text(m, a->name), names[i]);
        ck_assert_int_eq(a->layer, i == 1 || i == 2);
    }
    ck_assert_ptr_null(memory_meta(m, "cbid.runtime.211")); /* they are no facts for the user */
    ck_assert_int_eq(m->count[ROW_THREAD], 2);
    spool_end(&w);
}

TEST(test_skipped_and_cut)
{
    struct spool_writer w = dead("a");
    w.h->stride[99] = 48; /* a kind of the future */
    uint64_t at = 0;
    spool_kernel(&w, 0, &at, stamp(1), stamp(2), 1, 0x1000);
    spool_record(&w, 0, &at, 99);
    spool_kernel(&w, 0, &at, stamp(3), stamp(4), 2, 0x1000);
    spool_record(&w, 0, &at, 98); /* no stride: what follows cannot be found */
    at += 64;
    spool_kernel(&w, 0, &at, stamp(5), stamp(6), 3, 0x1000);
    spool_state(&w, 0, SPOOL_READY, at);
    at = 0;
    spool_kernel(&w, 1, &at, stamp(7), stamp(8), 4, 0x1000);
    spool_kernel(&w, 1, &at, stamp(9), stamp(10), 5, 0x1000);
    spool_state(&w, 1, SPOOL_READY, at - 8); /* the last record is cut off */
    memset(spool_buffer(&w, 2), 0xff, SPOOL_TEST_BYTES);
    spool_state(&w, 2, SPOOL_READY, SPOOL_TEST_BYTES);
    at = 0;
    spool_kernel(&w, 3, &at, stamp(11), stamp(12), 6, 0x1000);
    spool_state(&w, 3, SPOOL_READY, UINT64_MAX); /* claims more than the buffer holds */
    finish();
    ck_assert_int_eq(KERNELS, 4);
    ck_assert_int_eq(KERNEL(3)->correlation, 6);
    ck_assert_int_eq(memory_health(m, "unknown-kinds"), -1); /* the agent asked for none */
    ck_assert_int_eq(memory_health(m, "cut-buffers"), 3);
    spool_end(&w);
}

TEST(test_small_strides)
{
    struct spool_writer w = dead("a");
    for (int k = 0; k < SPOOL_STRIDES; k++)
        w.h->stride[k] = 8; /* less than any record: every field reads as 0 */
    for (uint64_t at = 0, k = 1; at + 8 <= SPOOL_TEST_BYTES; at += 8, k = k % 60 + 1)
        spool_set(spool_buffer(&w, 0), (uint32_t)at, k, 4);
    spool_state(&w, 0, SPOOL_READY, SPOOL_TEST_BYTES);
    spool_set(spool_buffer(&w, 1), 0, 10, 4);
    w.h->stride[11] = UINT32_MAX;
    spool_set(spool_buffer(&w, 1), 8, 11, 4);
    spool_state(&w, 1, SPOOL_READY, 64);
    finish();
    ck_assert_int_eq(KERNELS, 0);
    ck_assert_int_gt(memory_health(m, "untimed"), 0);
    spool_end(&w);
}

TEST(test_untimed_and_in_flight)
{
    struct spool_writer w = dead("a");
    uint64_t at = 0;
    spool_kernel(&w, 0, &at, 0, 0, 1, 0x1000);
    spool_kernel(&w, 0, &at, stamp(5), stamp(4), 2, 0x1000);
    spool_kernel(&w, 0, &at, -5, INT64_MAX, 3, 0x1000);
    spool_kernel(&w, 0, &at, stamp(7), 0, 4, 0x1000);
    spool_kernel(&w, 0, &at, stamp(8), stamp(8), 5, 0x1000);
    spool_api(&w, 0, &at, 5, 1, INT64_MIN, INT64_MAX, 1, 6);
    spool_state(&w, 0, SPOOL_READY, at);
    finish();
    ck_assert_int_eq(KERNELS, 1);
    ck_assert_int_eq(KERNEL(0)->correlation, 5);
    ck_assert_int_eq(m->count[ROW_API], 0);
    ck_assert_int_eq(memory_health(m, "untimed"), 4);
    ck_assert_int_eq(memory_health(m, "in-flight"), 1);
    spool_end(&w);
}

static void untimed_wait(struct spool_writer *w, uint64_t *at, uint32_t correlation)
{
    uint8_t *r = spool_record(w, 0, at, 38);
    spool_set(r, 4, SYNC_EVENT, 4), spool_set(r, 24, correlation, 4), spool_set(r, 28, 1, 4),
        spool_set(r, 32, 13, 4), spool_set(r, 36, 6, 4);
}

/* CUPTI gives some waits no times: they have those of their calls, whichever record comes first. */
TEST(test_untimed_waits)
{
    struct spool_writer w = dead("a");
    uint64_t at = 0;
    spool_api(&w, 0, &at, 5, 1, stamp(10), stamp(20), 500, 41);
    untimed_wait(&w, &at, 41);
    spool_set(spool_buffer(&w, 0), (uint32_t)at + 16, stamp(50), 8); /* the end alone */
    untimed_wait(&w, &at, 42);
    untimed_wait(&w, &at, 43); /* nobody tells of its call */
    untimed_wait(&w, &at, 0);
    spool_api(&w, 0, &at, 5, 1, stamp(30), stamp(50), 500, 42);
    spool_state(&w, 0, SPOOL_READY, at);
    finish();
    ck_assert_int_eq(m->count[ROW_SYNC], 2);
    for (int i = 0; i < 2; i++) {
        const struct row_sync *s = MEMORY_ROW(m, sync, ROW_SYNC, i);
        ck_assert(s->type == SYNC_EVENT && s->event == 6 && s->correlation == 41 + i);
        ck_assert_int_eq(s->start_ns, i ? 30 : 10);
        ck_assert_int_eq(s->end_ns, i ? 50 : 20);
    }
    ck_assert_int_eq(memory_health(m, "untimed"), 2);
    spool_end(&w);
}

/* A CUPTI that numbers no calls: nothing is joined by their one number. */
TEST(test_calls_without_numbers)
{
    struct spool_writer w = dead("a");
    uint64_t at = 0;
    for (int i = 0; i <= SPOOL_SAME_IDS; i++)
        spool_api(&w, 0, &at, 5, 211, stamp(10 + 10 * i), stamp(15 + 10 * i), 500, 118);
    spool_kernel(&w, 0, &at, stamp(400), stamp(410), 118, 0x1000);
    untimed_wait(&w, &at, 118);
    spool_api(&w, 0, &at, 5, 211, stamp(500), stamp(505), 500, 119);
    spool_state(&w, 0, SPOOL_READY, at);
    finish();
    ck_assert_int_eq(KERNELS, 1);
    ck_assert_int_eq(KERNEL(0)->correlation, 0);
    ck_assert_int_eq(m->count[ROW_SYNC], 0);
    ck_assert_int_eq(memory_health(m, "cupti-ids"), 1);
    spool_end(&w);
}

/* More of them than are kept. */
TEST(test_many_untimed_waits)
{
    enum { MANY = SPOOL_CALLS_SEEN + 6 }; /* a page holds them */
    struct spool_writer w = dead("a");
    uint64_t at = 0;
    w.h->stride[38] = 40;
    for (int i = 0; i < MANY; i++)
        untimed_wait(&w, &at, 100 + (uint32_t)i);
    spool_api(&w, 0, &at, 5, 1, stamp(30), stamp(50), 500, 100); /* forgotten */
    spool_api(&w, 0, &at, 5, 1, stamp(60), stamp(70), 500, 100 + MANY - 1);
    spool_state(&w, 0, SPOOL_READY, at);
    finish();
    ck_assert_int_eq(m->count[ROW_SYNC], 1);
    ck_assert_int_eq(MEMORY_ROW(m, sync, ROW_SYNC, 0)->start_ns, 60);
    ck_assert_int_eq(memory_health(m, "untimed"), MANY - 1);
    spool_end(&w);
}

/* Killed with work in the queue: it never ran, which is no fault of CUPTI's clock. */
TEST(test_killed_with_a_queue)
{
    struct spool_writer w = dead("a");
    uint64_t at = 0;
    spool_kernel(&w, 0, &at, stamp(5), stamp(6), 1, 0x1000);
    spool_kernel(&w, 0, &at, stamp(7), 0, 2, 0x1000);
    spool_kernel(&w, 0, &at, 0, 0, 3, 0x1000);
    spool_state(&w, 0, SPOOL_OWNED, 0);
    finish();
    ck_assert_int_eq(KERNELS, 1);
    ck_assert_int_eq(memory_health(m, "untimed"), -1);
    ck_assert_int_eq(memory_health(m, "in-flight"), 2);
    spool_end(&w);
}

TEST(test_correlation_wraps)
{
    static const uint32_t given[] = {0xfffffff0u, 0, 5, 0xfffffff8u, 6, 0};
    static const int64_t wanted[] = {0xfffffff0, 0, 0x100000005, 0xfffffff8, 0x100000006, 0};
    struct spool_writer w = dead("a");
    uint64_t at = 0;
    for (int i = 0; i < 6; i++)
        spool_kernel(&w, 0, &at, stamp(i + 1), stamp(i + 2), given[i], 0x1000);
    spool_state(&w, 0, SPOOL_READY, at);
    finish();
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(KERNEL(i)->correlation, wanted[i]);
    spool_end(&w);
}
