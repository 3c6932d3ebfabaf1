/* The collector: what it takes while the program runs, what it keeps of a dead one, and what it
 * does when its sink fails. */
#include "tests/unit/test.h"
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/unit/collect_spools.h"

TEST_FIXTURE(setup, teardown)

TEST(test_live)
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

TEST(test_not_ready_yet)
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

/* One that was killed before it had written its first word. */
TEST(test_never_ready)
{
    struct spool_writer w = writer("a", DEAD, 1);
    drain();
    finish();
    ck_assert_uint_eq(collect_processes(c), 0);
    ck_assert(access(w.path, F_OK) < 0);
    spool_end(&w);
}

TEST(test_reused_pointer)
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

TEST(test_adopted)
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

/* Another process has the pid now, which is younger. */
TEST(test_reused_pid)
{
    struct spool_writer w = writer("a", getpid(), spool_ticks(getpid()) - 1);
    uint64_t at = 0;
    spool_kernel(&w, 0, &at, stamp(1), stamp(2), 1, 0x1000);
    spool_state(&w, 0, SPOOL_OWNED, 0);
    spool_ready(&w);
    drain();
    ck_assert_int_eq(KERNELS, 1);
    spool_end(&w);
}

TEST(test_several_processes)
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

TEST(test_failed_files)
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

TEST(test_failing_sink)
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

TEST(test_losses)
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

/* A process that outlives the program is asked to stop, and its buffers are taken as they are. */
TEST(test_outlives)
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

static void *seal_soon(void *header)
{
    struct spool_header *h = header;
    nanosleep(&(struct timespec){0, 100000000}, NULL);
    atomic_store(&h->sealed, 1);
    return NULL;
}

/* A helper of the program, which ends a little later by itself: nothing is missing. */
TEST(test_ends_a_little_later)
{
    struct spool_writer w = live("a");
    uint64_t at = 0;
    pthread_t thread;
    spool_kernel(&w, 0, &at, stamp(1), stamp(2), 1, 0x1000);
    ck_assert_int_eq(pthread_create(&thread, NULL, seal_soon, w.h), 0);
    finish();
    pthread_join(thread, NULL);
    ck_assert_uint_eq(atomic_load(&w.h->control), 0);
    ck_assert_int_eq(memory_health(m, "outlived"), -1);
    spool_end(&w);
}

/* It ends while its last records are read: it did not continue. */
TEST(test_ends_while_it_is_read)
{
    struct spool_writer w = live("a");
    uint64_t at = 0;
    spool_kernel(&w, 0, &at, stamp(1), stamp(2), 1, 0x1000);
    spool_state(&w, 0, SPOOL_READY, at);
    m->ends = &w.h->sealed;
    finish();
    ck_assert_int_eq(KERNELS, 1);
    ck_assert_uint_eq(atomic_load(&w.h->control), 0);
    ck_assert_int_eq(memory_health(m, "outlived"), -1);
    ck_assert_int_eq(MEMORY_ROW(m, process, ROW_PROCESS, 0)->sealed, 1);
    spool_end(&w);
}

/* Killed before its GPU was described: still said to be virtual. */
TEST(test_virtual_unnamed)
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

static int64_t read_a_file(void)
{
    char text[4096];
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof text);
    close(fd);
    return n;
}

/* Reads for so many hundredths of a second, and on until a sample is due: a sample costs an emulator more, and the pause
 * behind it is longer. Returns the bytes read. */
static int64_t read_until_sampled(int hundredths)
{
    int before = m->count[ROW_HOST_SAMPLE];
    clock_t from = clock();
    int64_t bytes = 0;
    while (m->count[ROW_HOST_SAMPLE] == before && clock() - from < 10 * CLOCKS_PER_SEC) {
        bytes += read_a_file();
        if (clock() - from >= CLOCKS_PER_SEC * hundredths / 100)
            collect_sample(c);
    }
    ck_assert_int_gt(m->count[ROW_HOST_SAMPLE], before);
    return bytes;
}

/* What this process has used of the CPU, as it is seen from outside. */
TEST(test_host_samples)
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
    ck_assert_int_eq(collect_pause_ms(c), 10); /* the first seconds of a process */
    read_until_sampled(6);
    int64_t bytes = read_until_sampled(30);
    const struct row_host_sample *a = MEMORY_ROW(m, host_sample, ROW_HOST_SAMPLE, 0);
    const struct row_host_sample *b =
        MEMORY_ROW(m, host_sample, ROW_HOST_SAMPLE, m->count[ROW_HOST_SAMPLE] - 1);
    ck_assert_int_eq(a->thread, b->thread);
    ck_assert_int_ge(b->cpu_ns - a->cpu_ns, 200000000);
    ck_assert_int_ge(b->time_ns - a->time_ns, 200000000);
    ck_assert(a->run_queue_ns >= 0 && b->major_faults >= 0 && b->io_wait_ns >= -1);
    if (access("/proc/self/io", R_OK) == 0) {
        ck_assert_int_ge(b->read_bytes - a->read_bytes, bytes);
        ck_assert_int_ge(b->storage_bytes, a->storage_bytes);
        ck_assert_int_ge(a->storage_bytes, 0);
    }
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
