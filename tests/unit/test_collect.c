/* The collector on spools made by hand: live, dead, damaged, hostile. A live process is this one; a
 * dead one is a pid that the kernel never gives out. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/import/collect.h"
#include "tests/unit/memory_sink.h"
#include "tests/unit/write_spool.h"

enum { DEAD = 2147483000, START = 1000000 };      /* START: monotonic ns of profile time 0 */
static const int64_t epoch = 1700000000000000000; /* CUPTI's clock at monotonic 0 */

static char dir[64];
static struct memory *m;
static struct collector *c;

static void setup(void)
{
    struct sink out;
    struct err e = ERR_INIT;
    strcpy(dir, "/tmp/gpuprof-collect-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    m = memory_new(&out);
    ck_assert_ptr_nonnull(c = collect_open(dir, START, out, &e));
}

static void teardown(void)
{
    collect_close(c);
    memory_free(m);
    ck_assert_int_eq(rmdir(dir), 0); /* all spools are gone */
}

static struct spool_writer writer(const char *name, int pid, uint64_t ticks)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s.spool", dir, name);
    struct spool_writer w = spool_begin(path, pid, ticks);
    spool_anchor(&w, START, epoch + START);
    spool_add_name(&w, 0x1000, "_Z4gemmv");
    return w;
}

/* A process that is there, by its name in the directory. */
static struct spool_writer live(const char *name)
{
    struct spool_writer w = writer(name, getpid(), spool_ticks(getpid()));
    spool_ready(&w);
    return w;
}

static struct spool_writer dead(const char *name)
{
    struct spool_writer w = writer(name, DEAD, 1);
    spool_ready(&w);
    return w;
}

static int64_t drain(void)
{
    struct err e = ERR_INIT;
    int64_t n = collect_drain(c, &e);
    ck_assert_msg(n >= 0, "%s", e.text);
    return n;
}

static void finish(void)
{
    struct err e = ERR_INIT;
    ck_assert_msg(collect_finish(c, &e) == 0, "%s", e.text);
}

/* CUPTI's stamp of a profile time. */
static int64_t stamp(int64_t ns)
{
    return epoch + START + ns;
}

#define KERNEL(i) MEMORY_ROW(m, kernel, ROW_KERNEL, i)
#define KERNELS   m->count[ROW_KERNEL]

/* ---- what is taken while the program runs ------------------------------------------------------
 */

START_TEST(test_live)
{
    struct spool_writer w = live("a");
    uint64_t at = 0, open = 0;
    spool_kernel(&w, 2, &at, stamp(100), stamp(350), 7, 0x1000);
    spool_kernel(&w, 2, &at, stamp(400), stamp(500), 8, 0x2000);
    spool_state(&w, 2, SPOOL_READY, at);
    spool_kernel(&w, 1, &open, stamp(600), stamp(700), 9, 0x1000);
    spool_state(&w, 1, SPOOL_OWNED, 0); /* CUPTI is still writing there */
    ck_assert_int_eq(drain(), 2);
    ck_assert_int_eq(drain(), 0);
    ck_assert_int_eq(atomic_load(&spool_desc(&w, 2)->state), SPOOL_FREE);
    for (int i = 0; i < SPOOL_TEST_BYTES; i++)
        ck_assert_uint_eq(spool_buffer(&w, 2)[i], 0);
    ck_assert_int_eq(atomic_load(&spool_desc(&w, 1)->state), SPOOL_OWNED);
    ck_assert_int_eq(KERNEL(0)->start_ns, 100);
    ck_assert_int_eq(KERNEL(0)->end_ns, 350);
    ck_assert_int_eq(KERNEL(0)->correlation, 7);
    ck_assert_int_eq(KERNEL(0)->grid_x, 64);
    ck_assert_int_eq(KERNEL(0)->registers, 32);
    ck_assert_int_eq(KERNEL(0)->graph, 9);
    ck_assert_str_eq(memory_text(m, KERNEL(0)->name), "_Z4gemmv");
    ck_assert_str_eq(memory_text(m, KERNEL(1)->name), "kernel@0x2000");
    atomic_store(&w.h->sealed, 1);
    spool_state(&w, 1, SPOOL_READY, open);
    finish();
    ck_assert_int_eq(KERNELS, 3);
    const struct row_process *p = MEMORY_ROW(m, process, ROW_PROCESS, 0);
    ck_assert_int_eq(m->count[ROW_PROCESS], 1);
    ck_assert_int_eq(p->pid, getpid());
    ck_assert_int_eq(p->sealed, 1);
    ck_assert_int_eq(p->id, KERNEL(0)->process);
    const struct row_stream *s = MEMORY_ROW(m, stream, ROW_STREAM, 0);
    ck_assert_int_eq(m->count[ROW_STREAM], 1);
    ck_assert(s->stream == 13 && s->id == KERNEL(0)->stream &&
              s->device == MEMORY_ROW(m, device, ROW_DEVICE, 0)->id);
    spool_end(&w);
}
END_TEST

START_TEST(test_not_ready_yet)
{
    struct spool_writer w = writer("a", getpid(), spool_ticks(getpid()));
    ck_assert_int_eq(drain(), 0);
    ck_assert_uint_eq(collect_processes(c), 0);
    spool_ready(&w);
    drain();
    ck_assert_uint_eq(collect_processes(c), 1);
    atomic_store(&w.h->sealed, 1);
    finish();
    ck_assert_int_eq(memory_health(m, "bad-spool"), -1);
    spool_end(&w);
}
END_TEST

/* One that was killed before it had written its first word. */
START_TEST(test_never_ready)
{
    struct spool_writer w = writer("a", DEAD, 1);
    drain();
    finish();
    ck_assert_uint_eq(collect_processes(c), 0);
    ck_assert(access(w.path, F_OK) < 0);
    spool_end(&w);
}
END_TEST

START_TEST(test_reused_pointer)
{
    struct spool_writer w = live("a");
    uint64_t at = 0;
    spool_kernel(&w, 0, &at, stamp(1), stamp(2), 1, 0x1000);
    spool_state(&w, 0, SPOOL_READY, at);
    drain();
    spool_add_name(&w, 0x1000, "_Z5otherv"); /* module unloaded, another at its place */
    at = 0;
    spool_kernel(&w, 0, &at, stamp(3), stamp(4), 2, 0x1000);
    spool_state(&w, 0, SPOOL_READY, at);
    drain();
    ck_assert_str_eq(memory_text(m, KERNEL(0)->name), "_Z4gemmv");
    ck_assert_str_eq(memory_text(m, KERNEL(1)->name), "_Z5otherv");
    atomic_store(&w.h->sealed, 1);
    spool_end(&w);
}
END_TEST

/* ---- what is kept of a dead one ----------------------------------------------------------------
 */

START_TEST(test_adopted)
{
    struct spool_writer w = writer("a", DEAD, 1);
    uint64_t at = 0;
    spool_kernel(&w, 0, &at, stamp(100), stamp(200), 1, 0x1000);
    spool_kernel(&w, 0, &at, stamp(300), stamp(400), 2, 0x1000);
    spool_state(&w, 0, SPOOL_OWNED, 0); /* its size was never set; ends at the first zero kind */
    at = 0;
    spool_kernel(&w, 3, &at, stamp(10), stamp(20), 3, 0x1000);
    spool_state(&w, 3, SPOOL_COMPLETE, at);
    spool_ring_open(&w, 1, 77);
    spool_range(&w, 1, 77, spool_text(&w, "step"), START + 5, START + 50, 0);
    spool_ready(&w);
    ck_assert_int_ge(drain(), 4);
    ck_assert_int_eq(KERNELS, 3);
    ck_assert_int_eq(KERNEL(0)->correlation,
                     1); /* in the order in which the buffers were asked for */
    ck_assert_int_eq(KERNEL(2)->correlation, 3);
    const struct row_range *r = MEMORY_ROW(m, range, ROW_RANGE, 0);
    ck_assert(r->start_ns == 5 && r->end_ns == 50);
    ck_assert_str_eq(memory_text(m, r->name), "step");
    ck_assert_int_eq(MEMORY_ROW(m, thread, ROW_THREAD, 0)->tid, 77);
    ck_assert_int_eq(MEMORY_ROW(m, process, ROW_PROCESS, 0)->sealed, 0);
    ck_assert(access(w.path, F_OK) < 0);
    ck_assert_int_eq(drain(), 0); /* once */
    finish();
    ck_assert_int_eq(KERNELS, 3);
    spool_end(&w);
}
END_TEST

/* Another process has the pid now. */
START_TEST(test_reused_pid)
{
    struct spool_writer w = writer("a", getpid(), spool_ticks(getpid()) + 1);
    uint64_t at = 0;
    spool_kernel(&w, 0, &at, stamp(1), stamp(2), 1, 0x1000);
    spool_state(&w, 0, SPOOL_OWNED, 0);
    spool_ready(&w);
    drain();
    ck_assert_int_eq(KERNELS, 1);
    spool_end(&w);
}
END_TEST

START_TEST(test_several_processes)
{
    struct spool_writer a = dead("a"), b = live("b");
    uint64_t at = 0;
    spool_kernel(&a, 0, &at, stamp(1), stamp(2), 1, 0x1000);
    spool_state(&a, 0, SPOOL_READY, at);
    at = 0;
    spool_kernel(&b, 0, &at, stamp(1), stamp(2), 1, 0x1000);
    spool_state(&b, 0, SPOOL_READY, at);
    spool_ring_open(&b, 0, 5);
    spool_meta(&b, 0, "rank", "3");
    spool_meta(&b, 0, "world_size", "8");
    drain();
    atomic_store(&b.h->sealed, 1);
    finish();
    ck_assert_int_eq(m->count[ROW_PROCESS], 2);
    ck_assert_int_ne(KERNEL(0)->process, KERNEL(1)->process);
    ck_assert_int_ne(KERNEL(0)->stream, KERNEL(1)->stream);
    ck_assert_int_ne(KERNEL(0)->id, KERNEL(1)->id);
    for (int i = 0; i < 2; i++) {
        const struct row_process *p = MEMORY_ROW(m, process, ROW_PROCESS, i);
        ck_assert_int_eq(p->rank, p->pid == DEAD ? -1 : 3);
        ck_assert_int_eq(p->world_size, p->pid == DEAD ? -1 : 8);
    }
    ck_assert_ptr_nonnull(strstr(memory_meta(m, "have"), "ranks"));
    spool_end(&a);
    spool_end(&b);
}
END_TEST

START_TEST(test_failed_files)
{
    char path[128];
    snprintf(path, sizeof path, "%s/123-456.28.failed", dir);
    FILE *f = fopen(path, "w");
    fclose(f);
    drain();
    drain();
    ck_assert_int_eq(m->count[ROW_HEALTH], 1);
    ck_assert_int_eq(memory_health(m, "no-spool"), 28);
    ck_assert(access(path, F_OK) < 0);
}
END_TEST

/* ---- records -----------------------------------------------------------------------------------
 */

/* Older releases: the same fields, fewer of them at the end. */
START_TEST(test_strides)
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
END_TEST

START_TEST(test_copies)
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
END_TEST

START_TEST(test_device_and_streams)
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
END_TEST

START_TEST(test_api_names)
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
END_TEST

START_TEST(test_skipped_and_cut)
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
    ck_assert_int_eq(memory_health(m, "unknown-kinds"), 1);
    ck_assert_int_eq(memory_health(m, "cut-buffers"), 3);
    spool_end(&w);
}
END_TEST

START_TEST(test_small_strides)
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
END_TEST

START_TEST(test_untimed_and_in_flight)
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
END_TEST

START_TEST(test_correlation_wraps)
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
END_TEST

/* The real-time clock is set back by an hour in mid-run, then forward. */
START_TEST(test_stepped_clock)
{
    const int64_t hour = 3600000000000, second = 1000000000;
    struct spool_writer w = dead("a");
    for (int i = 0; i < 10; i++)
        spool_anchor(&w, START + i * second, epoch + START + i * second);
    for (int i = 10; i < 20; i++)
        spool_anchor(&w, START + i * second, epoch + START + i * second - hour);
    uint64_t at = 0;
    spool_kernel(&w, 0, &at, stamp(3 * second), stamp(3 * second) + 10, 1, 0x1000);
    spool_kernel(&w, 0, &at, stamp(15 * second) - hour, stamp(15 * second) - hour + 10, 2, 0x1000);
    spool_kernel(&w, 0, &at, stamp(9 * second) + second / 4, stamp(9 * second) + second / 2, 3,
                 0x1000);
    spool_state(&w, 0, SPOOL_READY, at);
    finish();
    ck_assert_int_eq(KERNEL(0)->start_ns, 3 * second);
    ck_assert_int_eq(KERNEL(1)->start_ns, 15 * second);
    ck_assert_int_eq(KERNEL(1)->end_ns, 15 * second + 10);
    ck_assert_int_eq(KERNEL(2)->start_ns, 9 * second + second / 4);
    ck_assert_int_eq(memory_health(m, "clock-set"), 1);
    spool_end(&w);
}
END_TEST

/* Set back by so little that the same stamps come twice: what was delivered before the step belongs
 * before it, what came after it behind. */
START_TEST(test_small_step)
{
    const int64_t second = 1000000000;
    struct spool_writer w = live("a");
    uint64_t at = 0;
    for (int i = 1; i < 10; i++)
        spool_anchor(&w, START + i * second, epoch + START + i * second);
    spool_kernel(&w, 0, &at, stamp(8 * second), stamp(8 * second) + 10, 1, 0x1000);
    spool_state(&w, 0, SPOOL_READY, at);
    ck_assert_int_eq(drain(), 1);
    for (int i = 10; i < 15; i++)
        spool_anchor(&w, START + i * second, epoch + START + i * second - 3 * second);
    at = 0;
    spool_kernel(&w, 1, &at, stamp(8 * second), stamp(8 * second) + 10, 2, 0x1000);
    spool_state(&w, 1, SPOOL_READY, at);
    finish();
    ck_assert_int_eq(KERNEL(0)->start_ns, 8 * second);
    ck_assert_int_eq(KERNEL(1)->start_ns, 11 * second);
    ck_assert_int_eq(KERNEL(1)->end_ns, 11 * second + 10);
    spool_end(&w);
}
END_TEST

/* CUPTI's clock runs 200 ppm fast, as one that is slewed does: no anchor is far, none is exact. */
START_TEST(test_slewed_clock)
{
    const int64_t second = 1000000000;
    struct spool_writer w = dead("a");
    for (int i = 1; i <= 10; i++)
        spool_anchor(&w, START + i * second, epoch + START + i * (second + 200000));
    uint64_t at = 0;
    for (int i = 0; i < 8; i++) {
        int64_t ns = second + i * (second + second / 10);
        int64_t fast = ns + ns / 5000;
        spool_kernel(&w, 0, &at, stamp(fast), stamp(fast) + 10, i, 0x1000);
    }
    spool_state(&w, 0, SPOOL_READY, at);
    finish();
    ck_assert_int_eq(KERNELS, 8);
    for (int i = 0; i < 8; i++) {
        int64_t ns = second + i * (second + second / 10);
        ck_assert_int_le(llabs(KERNEL(i)->start_ns - ns), 1000);
    }
    ck_assert_int_eq(memory_health(m, "clock-set"), -1);
    spool_end(&w);
}
END_TEST

START_TEST(test_no_anchors)
{
    struct spool_writer w = writer("a", DEAD, 1);
    atomic_store(&w.h->anchors_head, 0);
    w.h->start_monotonic_ns = START;
    w.h->start_realtime_ns = epoch + START;
    uint64_t at = 0;
    spool_kernel(&w, 0, &at, stamp(3), stamp(4), 1, 0x1000);
    spool_state(&w, 0, SPOOL_READY, at);
    spool_ready(&w);
    finish();
    ck_assert_int_eq(KERNEL(0)->start_ns, 3);
    spool_end(&w);
}
END_TEST

/* ---- rings -------------------------------------------------------------------------------------
 */

START_TEST(test_ring_wraps)
{
    struct spool_writer w = live("a");
    uint32_t name = spool_text(&w, "r");
    uint8_t long_record[104] = {
        0}; /* of no kind that is known: leaves room of odd sizes before the end */
    uint16_t head[2] = {200, sizeof long_record};
    memcpy(long_record, head, sizeof head);
    spool_ring_open(&w, 0, 9);
    int64_t put = 0;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 25; i++, put++) {
            spool_range(&w, 0, 9, name, START + put, START + put + 1, (uint16_t)(put % 3));
            if (i % 10 == 0)
                spool_append(&w, 0, long_record, sizeof long_record);
        }
        drain();
    }
    ck_assert_int_eq(m->count[ROW_RANGE], put);
    for (int i = 0; i < put; i++) {
        const struct row_range *r = MEMORY_ROW(m, range, ROW_RANGE, i);
        ck_assert(r->start_ns == i && r->depth == i % 3);
    }
    ck_assert_uint_eq(atomic_load(&spool_ring_at(&w, 0)->tail),
                      atomic_load(&spool_ring_at(&w, 0)->head));
    atomic_store(&spool_ring_at(&w, 0)->state, SPOOL_RING_CLOSED);
    drain();
    ck_assert_int_eq(atomic_load(&spool_ring_at(&w, 0)->state), SPOOL_RING_FREE);
    atomic_store(&w.h->sealed, 1);
    finish();
    ck_assert_int_eq(memory_health(m, "bad-records"), -1);
    spool_end(&w);
}
END_TEST

START_TEST(test_ring_kinds)
{
    struct spool_writer w = dead("a");
    spool_ring_open(&w, 0, 9);
    struct spool_rec_call call = {{SPOOL_REC_CALL, sizeof call, 9, START + 1, START + 4},
                                  .function = spool_text(&w, "cudnnConvolutionForward"),
                                  .family = SPOOL_CALL_CONV_FWD,
                                  .in_type = SPOOL_DT_F16,
                                  .algo = -1,
                                  .dim = {32, 64},
                                  .bytes = 77};
    spool_append(&w, 0, &call, sizeof call);
    struct spool_rec_call all = {{SPOOL_REC_CALL, sizeof all, 9, START + 5, START + 6},
                                 .function = spool_text(&w, "AllReduce"),
                                 .family = SPOOL_CALL_COLLECTIVE,
                                 .bytes = 4096,
                                 .comm = 3,
                                 .sequence = 12};
    spool_append(&w, 0, &all, sizeof all);
    struct spool_rec_loader load = {
        {SPOOL_REC_LOADER, sizeof load, 10, START + 2, START + 8}, SPOOL_LOADER_FETCH, 1, 5, 6};
    spool_append(&w, 0, &load, sizeof load);
    struct spool_rec_health health = {{SPOOL_REC_HEALTH, sizeof health, 9, START, START},
                                      spool_text(&w, "cupti-busy"),
                                      spool_text(&w, "another profiler is there"),
                                      99,
                                      0,
                                      39};
    spool_append(&w, 0, &health, sizeof health);
    struct spool_rec_meta thread = {
        {SPOOL_REC_THREAD, sizeof thread, 10, 0, 0}, spool_text(&w, "loader-0"), 0};
    spool_append(&w, 0, &thread, sizeof thread);
    struct spool_rec_range mark = {
        {SPOOL_REC_RANGE, sizeof mark, 9, START, START}, 0, 0, 0, SPOOL_RANGE_MARK, 0, 0};
    spool_append(&w, 0, &mark, sizeof mark);
    spool_meta(&w, 0, "command", "./train");
    finish();
    const struct row_call *r = MEMORY_ROW(m, call, ROW_CALL, 0);
    ck_assert(m->count[ROW_CALL] == 1 && r->algo == -1 && r->dim[0] == 32 && r->dim[1] == 64 &&
              r->workspace_bytes == 77);
    ck_assert(r->start_ns == 1 && r->end_ns == 4 && r->in_type == SPOOL_DT_F16);
    const struct row_collective *a = MEMORY_ROW(m, collective, ROW_COLLECTIVE, 0);
    ck_assert(a->bytes == 4096 && a->communicator == 3 && a->sequence == 12 && a->kernel == -1);
    const struct row_loader *l = MEMORY_ROW(m, loader, ROW_LOADER, 0);
    ck_assert(l->what == SPOOL_LOADER_FETCH && l->worker == 1 && l->batch == 5 && l->cpu_ns == 6);
    ck_assert_int_eq(memory_health(m, "cupti-busy"), 39);
    ck_assert_int_eq(MEMORY_ROW(m, health, ROW_HEALTH, 0)->severity, 1); /* 99 is none */
    ck_assert_str_eq(memory_text(m, MEMORY_ROW(m, thread, ROW_THREAD, 1)->name), "loader-0");
    ck_assert_int_eq(m->count[ROW_RANGE], 0);
    ck_assert_str_eq(memory_text(m, MEMORY_ROW(m, process, ROW_PROCESS, 0)->command), "./train");
    const char *have = memory_meta(m, "have");
    ck_assert(strstr(have, "calls") && strstr(have, "loader") && strstr(have, "collectives"));
    spool_end(&w);
}
END_TEST

/* ---- hostile -----------------------------------------------------------------------------------
 */

static void damage_ring(struct spool_writer *w, int how)
{
    struct spool_ring *r = spool_ring_at(w, 1); /* the last of the file: behind it is nothing */
    uint8_t *data = w->map + w->h->ring_data_off + SPOOL_TEST_BYTES;
    uint16_t words[2] = {SPOOL_REC_RANGE, 48};
    memcpy(data, words, sizeof words);
    atomic_store(&r->state, SPOOL_RING_OPEN);
    uint64_t head = 48, tail = 0;
    switch (how) {
    case 0: /* head before tail */
        head = 8, tail = 16;
        break;
    case 1: /* more than fits */
        head = UINT64_MAX;
        break;
    case 2: /* a record that starts in the last byte */
        head = SPOOL_TEST_BYTES + 47, tail = SPOOL_TEST_BYTES - 1;
        break;
    case 3: /* longer than what was written */
        words[1] = 4096;
        break;
    case 4: /* shorter than its head */
        words[1] = 4;
        break;
    case 5: /* not in eights */
        words[1] = 45;
        break;
    case 6: /* a pad of no size */
        words[0] = SPOOL_REC_PAD, words[1] = 0;
        break;
    default: /* reaches over the end of the ring */
        tail = SPOOL_TEST_BYTES - 8, head = tail + 48;
        memcpy(data + SPOOL_TEST_BYTES - 8, words, sizeof words);
        break;
    }
    memcpy(data, words, sizeof words);
    atomic_store(&r->head, head);
    atomic_store(&r->tail, tail);
}

START_TEST(test_hostile_rings)
{
    struct spool_writer w = live("a");
    damage_ring(&w, _i);
    drain();
    ck_assert_int_eq(m->count[ROW_RANGE], 0);
    ck_assert_uint_eq(atomic_load(&spool_ring_at(&w, 1)->tail),
                      atomic_load(&spool_ring_at(&w, 1)->head));
    atomic_store(&w.h->sealed, 1);
    finish();
    ck_assert_int_eq(memory_health(m, "bad-records"), 1); /* once, not once a drain */
    spool_end(&w);
}
END_TEST

START_TEST(test_hostile_ids)
{
    static const uint32_t ids[] = {UINT32_MAX, SPOOL_TEST_BYTES / 8, SPOOL_TEST_BYTES / 8 - 1, 500,
                                   1};
    struct spool_writer w = dead("a");
    spool_ring_open(&w, 0, 1);
    for (int i = 0; i < 5; i++) {
        spool_range(&w, 0, 1, ids[i], INT64_MIN, INT64_MAX, UINT16_MAX);
        struct spool_rec_meta r = {{SPOOL_REC_META, sizeof r, 1, 0, 0}, ids[i], ids[4 - i]};
        spool_append(&w, 0, &r, sizeof r);
    }
    /* an entry whose length reaches far beyond the table */
    uint32_t id = spool_text(&w, "long");
    struct spool_string *s =
        (struct spool_string *)(void *)(w.map + w.h->strings_off + (uint64_t)id * 8);
    atomic_store(&s->length, UINT32_MAX);
    spool_range(&w, 0, 1, id, START, START, 0);
    atomic_store(&w.h->names_used, UINT32_MAX);
    struct spool_name *names = (struct spool_name *)(void *)(w.map + w.h->names_off);
    for (int i = 1; i < SPOOL_TEST_NAMES; i++)
        names[i] = (struct spool_name){0x7000, UINT32_MAX - (uint32_t)i, 0};
    uint64_t at = 0;
    spool_kernel(&w, 0, &at, stamp(1), stamp(2), 1, 0x7000);
    spool_kernel(&w, 0, &at, INT64_MAX - 1, INT64_MAX, 2, UINT64_MAX);
    spool_state(&w, 0, SPOOL_READY, at);
    atomic_store(&w.h->strings_used, UINT64_MAX);
    atomic_store(&w.h->anchors_head, UINT32_MAX);
    w.h->anchors[5] = (struct spool_anchor){INT64_MIN, INT64_MAX, INT64_MAX, 0};
    finish();
    ck_assert_int_eq(m->count[ROW_RANGE], 6);
    ck_assert_str_eq(memory_text(m, MEMORY_ROW(m, range, ROW_RANGE, 5)->name), "");
    ck_assert_int_eq(KERNELS, 2);
    ck_assert_str_eq(memory_text(m, KERNEL(0)->name), "");
    spool_end(&w);
}
END_TEST

static void damage_header(struct spool_header *h, int how)
{
    switch (how) {
    case 0:
        h->version = SPOOL_VERSION + 1;
        break;
    case 1:
        h->header_bytes = 8;
        break;
    case 2:
        h->descs_off = h->file_bytes - 8;
        break;
    case 3:
        h->rings_off = UINT64_MAX - 7;
        break;
    case 4:
        h->names_cap = UINT32_MAX;
        break;
    case 5:
        h->strings_cap = UINT64_MAX;
        break;
    case 6:
        h->buffer_bytes = UINT32_MAX;
        break;
    case 7:
        h->buffer_count = UINT32_MAX;
        break;
    case 8:
        h->ring_bytes = 4097;
        break;
    case 9:
        h->ring_bytes = 0;
        break;
    case 10:
        h->ring_count = 60000;
        break;
    case 11:
        h->ring_data_off += 4;
        break;
    case 12:
        h->anchors_cap = 1 << 30;
        break;
    default:
        h->header_bytes = UINT32_MAX;
        break;
    }
}

START_TEST(test_hostile_headers)
{
    struct spool_writer w = writer("a", DEAD, 1);
    damage_header(w.h, _i);
    uint64_t bytes = w.h->file_bytes;
    spool_ready(&w);
    drain();
    finish();
    ck_assert_int_eq(m->count[ROW_PROCESS], 0);
    ck_assert_int_eq(memory_health(m, "bad-spool"), 1);
    ck_assert(access(w.path, F_OK) < 0);
    munmap(w.map, bytes);
}
END_TEST

/* What was checked at opening is changed behind the collector's back. */
START_TEST(test_header_changes)
{
    struct spool_writer w = live("a");
    drain();
    struct spool_header saved;
    memcpy(&saved, w.h, sizeof saved);
    uint64_t at = 0;
    spool_kernel(&w, 0, &at, stamp(1), stamp(2), 1, 0x1000);
    spool_state(&w, 0, SPOOL_READY, at);
    w.h->buffers_off = UINT64_MAX - 4096, w.h->buffer_bytes = UINT32_MAX,
    w.h->descs_off = 1ull << 40;
    w.h->ring_count = w.h->buffer_count = UINT32_MAX,
    w.h->ring_data_off = w.h->rings_off = 1ull << 40;
    w.h->strings_off = w.h->names_off = 1ull << 40, w.h->strings_cap = UINT64_MAX,
    w.h->names_cap = UINT32_MAX;
    atomic_store(&w.h->names_used, 1000);
    drain();
    ck_assert_int_eq(KERNELS, 1);
    atomic_store(&w.h->sealed, 1);
    finish();
    spool_end(&(struct spool_writer){.map = w.map, .h = &saved});
}
END_TEST

START_TEST(test_truncated_file)
{
    struct spool_writer w = dead("a");
    ck_assert_int_eq(truncate(w.path, (off_t)(w.h->file_bytes - 4096)), 0);
    drain();
    char path[128];
    snprintf(path, sizeof path, "%s/b.spool", dir);
    FILE *f = fopen(path, "w");
    fputs("GPUPSPL", f);
    fclose(f);
    drain();
    finish();
    ck_assert_uint_eq(collect_processes(c), 0);
    ck_assert_int_eq(memory_health(m, "bad-spool"), 1);
    ck_assert(access(path, F_OK) < 0);
    spool_end(&w);
}
END_TEST

/* ---- the sink fails ----------------------------------------------------------------------------
 */

START_TEST(test_failing_sink)
{
    struct spool_writer w = live("a");
    struct err e = ERR_INIT;
    m->limit = 2;
    uint64_t at = 0;
    for (int i = 0; i < 5; i++)
        spool_kernel(&w, 0, &at, stamp(i + 1), stamp(i + 2), (uint32_t)i, 0x1000);
    spool_state(&w, 0, SPOOL_READY, at);
    ck_assert_int_eq(collect_drain(c, &e), -1);
    ck_assert_str_eq(e.text, "the memory is full");
    ck_assert_int_eq(atomic_load(&spool_desc(&w, 0)->state),
                     SPOOL_FREE); /* the target does not feel it */
    ck_assert_int_eq(KERNELS, 2);
    at = 0;
    spool_kernel(&w, 1, &at, stamp(50), stamp(51), 9, 0x1000);
    spool_state(&w, 1, SPOOL_READY, at);
    ck_assert_int_eq(collect_drain(c, &e), -1);
    ck_assert_int_eq(atomic_load(&spool_desc(&w, 1)->state), SPOOL_FREE);
    atomic_store(&w.h->sealed, 1);
    ck_assert_int_eq(collect_finish(c, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "the memory is full ("));
    ck_assert_int_eq(KERNELS, 2);
    spool_end(&w);
}
END_TEST

START_TEST(test_losses)
{
    struct spool_writer w = dead("a");
    atomic_store(&w.h->counter[SPOOL_CUPTI_DROPPED], 11);
    atomic_store(&w.h->counter[SPOOL_RING_FULL], 12);
    atomic_store(&w.h->counter[SPOOL_BUFFER_STARVED], UINT64_MAX);
    finish();
    ck_assert_int_eq(memory_health(m, "cupti-dropped"), 11);
    ck_assert_int_eq(memory_health(m, "ring-full"), 12);
    ck_assert_int_eq(memory_health(m, "buffer-starved"), -1);
    ck_assert_int_eq(memory_health(m, "no-ring"), -1);
    spool_end(&w);
}
END_TEST

/* A process that outlives the program is asked to stop, and its buffers are taken as they are. */
START_TEST(test_outlives)
{
    struct spool_writer w = live("a");
    uint64_t at = 0;
    spool_kernel(&w, 0, &at, stamp(1), stamp(2), 1, 0x1000);
    spool_state(&w, 0, SPOOL_OWNED, 0);
    atomic_store(&w.h->passive, 1);
    finish();
    ck_assert_uint_eq(atomic_load(&w.h->control), SPOOL_STOP);
    ck_assert_int_eq(KERNELS, 1);
    ck_assert_int_eq(MEMORY_ROW(m, process, ROW_PROCESS, 0)->sealed, 0);
    ck_assert_int_eq(memory_health(m, "outlived"), 1);
    spool_end(&w);
}
END_TEST

/* Killed before its GPU was described: still said to be virtual. */
START_TEST(test_virtual_unnamed)
{
    struct spool_writer w = dead("a");
    uint64_t at = 0;
    spool_ring_open(&w, 0, 5);
    spool_meta(&w, 0, "env.GPUPROF_VGPU", "h200");
    spool_kernel(&w, 0, &at, stamp(1), stamp(2), 1, 0x1000);
    spool_state(&w, 0, SPOOL_OWNED, 0);
    finish();
    const struct row_device *d = MEMORY_ROW(m, device, ROW_DEVICE, 0);
    ck_assert_int_eq(m->count[ROW_DEVICE], 1);
    ck_assert_int_eq(d->is_virtual, 1);
    ck_assert_ptr_nonnull(strstr(memory_text(m, d->name), "Virtual "));
    spool_end(&w);
}
END_TEST

/* What this process has used of the CPU, as it is seen from outside. */
START_TEST(test_host_samples)
{
    if (access("/proc/self/schedstat", R_OK) != 0)
        return; /* a kernel that does not keep it: no samples there */
    struct spool_writer w = live("a");
    drain();
    collect_sample(c);
    ck_assert_int_ge(m->count[ROW_HOST_SAMPLE], 1);
    int before = m->count[ROW_HOST_SAMPLE];
    collect_sample(c); /* too early for another */
    ck_assert_int_eq(m->count[ROW_HOST_SAMPLE], before);
    clock_t from = clock();
    while (clock() - from < CLOCKS_PER_SEC * 3 / 10)
        ;
    collect_sample(c);
    ck_assert_int_gt(m->count[ROW_HOST_SAMPLE], before);
    const struct row_host_sample *a = MEMORY_ROW(m, host_sample, ROW_HOST_SAMPLE, 0);
    const struct row_host_sample *b =
        MEMORY_ROW(m, host_sample, ROW_HOST_SAMPLE, m->count[ROW_HOST_SAMPLE] - 1);
    ck_assert_int_eq(a->thread, b->thread);
    ck_assert_int_ge(b->cpu_ns - a->cpu_ns, 200000000);
    ck_assert_int_ge(b->time_ns - a->time_ns, 200000000);
    ck_assert(a->run_queue_ns >= 0 && b->major_faults >= 0 && b->io_wait_ns >= 0);
    atomic_store(&w.h->sealed, 1);
    finish();
    const struct row_thread *thread = MEMORY_ROW(m, thread, ROW_THREAD, 0);
    ck_assert_int_eq(thread->id, a->thread);
    ck_assert_int_eq(thread->tid, getpid());
    ck_assert_str_eq(memory_text(m, thread->name), "unit_tests");
    int last = m->count[ROW_HOST_SAMPLE];
    collect_sample(c); /* nobody is left */
    ck_assert_int_eq(m->count[ROW_HOST_SAMPLE], last);
    spool_end(&w);
}
END_TEST

Suite *test_collect_suite(void)
{
    Suite *suite = suite_create("collect");
    TCase *t = tcase_create("collect");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_live);
    tcase_add_test(t, test_not_ready_yet);
    tcase_add_test(t, test_never_ready);
    tcase_add_test(t, test_reused_pointer);
    tcase_add_test(t, test_adopted);
    tcase_add_test(t, test_reused_pid);
    tcase_add_test(t, test_several_processes);
    tcase_add_test(t, test_failed_files);
    tcase_add_test(t, test_strides);
    tcase_add_test(t, test_copies);
    tcase_add_test(t, test_device_and_streams);
    tcase_add_test(t, test_api_names);
    tcase_add_test(t, test_skipped_and_cut);
    tcase_add_test(t, test_small_strides);
    tcase_add_test(t, test_untimed_and_in_flight);
    tcase_add_test(t, test_correlation_wraps);
    tcase_add_test(t, test_stepped_clock);
    tcase_add_test(t, test_small_step);
    tcase_add_test(t, test_slewed_clock);
    tcase_add_test(t, test_no_anchors);
    tcase_add_test(t, test_ring_wraps);
    tcase_add_test(t, test_ring_kinds);
    tcase_add_loop_test(t, test_hostile_rings, 0, 8);
    tcase_add_test(t, test_hostile_ids);
    tcase_add_loop_test(t, test_hostile_headers, 0, 14);
    tcase_add_test(t, test_header_changes);
    tcase_add_test(t, test_truncated_file);
    tcase_add_test(t, test_failing_sink);
    tcase_add_test(t, test_losses);
    tcase_add_test(t, test_outlives);
    tcase_add_test(t, test_virtual_unnamed);
    tcase_add_test(t, test_host_samples);
    suite_add_tcase(suite, t);
    return suite;
}
