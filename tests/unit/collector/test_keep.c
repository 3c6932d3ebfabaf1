/* Which rows of a long run the collector keeps: windows, up to the size limit. The spools are made
 * by hand, for this process. */
#include "tests/unit/test.h"
#include "tests/unit/keep_spool.h"

/* ---- up to a size */

static int64_t as_rows(void *self)
{
    return 100 * ((struct memory *)self)->count[ROW_KERNEL];
}

TEST_FIXTURE(setup, teardown)

TEST(test_size_limit)
{
    collect_limit(c, 64 << 20, as_rows, m);
    kernels(0, 2000);
    collect_limit(c, 400000 + (64 << 20), as_rows, m); /* the spools take their part */
    kernels(2000, 4000);
    ck_assert_uint_eq(atomic_load(&w.h->full), 0);
    kernels(6000, 10);
    finish();
    ck_assert_int_ge(m->count[ROW_KERNEL], 2000);
    ck_assert_int_eq(memory_health(m, "size-limit"), -1);
}

TEST(test_size_limit_reached)
{
    collect_limit(c, 300000, as_rows, m); /* less than the spool takes: full at the first look */
    kernels(0, 4000);
    ck_assert_uint_eq(atomic_load(&w.h->full), 1); /* no more of the disk for the spool either */
    kernels(4000, 100);
    finish();
    int kept = m->count[ROW_KERNEL];
    ck_assert(kept > 0 && kept < 1200); /* it looks every 1024 rows */
    ck_assert_int_eq(memory_health(m, "size-limit"), 300000);
    ck_assert_int_eq(m->count[ROW_PROCESS], 1); /* rows without a time are always kept */
    ck_assert_int_eq(m->count[ROW_RECORDED], 1);
    const struct row_recorded *r = MEMORY_ROW(m, recorded, ROW_RECORDED, 0);
    ck_assert_int_eq(r->end_ns, (int64_t)kept * KERNEL_NS); /* up to the first that is missing */
    ck_assert_int_eq(r->gpu_end_ns, r->end_ns);
    ck_assert_int_eq(r->process, MEMORY_ROW(m, process, ROW_PROCESS, 0)->id);
}

/* ---- windows */

/* Opened at `from`; closed at `to` (0: still open). Profile ns. */
static void window(int64_t from, int64_t to, int64_t gpu_to, uint64_t first_step)
{
    uint32_t head = atomic_load(&w.h->windows_head);
    struct spool_window *x = &w.h->windows[head % SPOOL_WINDOWS];
    atomic_store(&x->from_ns, START + from);
    atomic_store(&x->gpu_to_ns, to ? START + gpu_to : INT64_MAX);
    atomic_store(&x->to_ns, to ? START + to : INT64_MAX);
    atomic_store(&x->first_step, first_step);
    atomic_store(&w.h->windows_head, head + 1);
}

static void close_window(int64_t to, int64_t gpu_to)
{
    struct spool_window *x = &w.h->windows[(atomic_load(&w.h->windows_head) - 1) % SPOOL_WINDOWS];
    atomic_store(&x->gpu_to_ns, START + gpu_to);
    atomic_store(&x->to_ns, START + to);
}

static void setup_gated(void)
{
    setup();
    w.h->window = SPOOL_WINDOWS_EVERY;
    atomic_store(&w.h->steps, 1);
}

static int kernels_in(int64_t from, int64_t to)
{
    int n = 0;
    for (int i = 0; i < m->count[ROW_KERNEL]; i++) {
        int64_t ns = MEMORY_ROW(m, kernel, ROW_KERNEL, i)->start_ns;
        n += ns >= from && ns < to;
    }
    return n;
}

TEST(test_times)
{
    collect_times(c, &(struct collect_times){.delay_ns = 1000, .duration_ns = 500});
    kernels(0, 30);
    ck_assert_uint_eq(atomic_load(&w.h->control), SPOOL_PAUSE); /* long over */
    finish();
    ck_assert_int_eq(kernels_in(0, 1000), 0);
    ck_assert_int_eq(kernels_in(1000, INT64_MAX), 20); /* what was queued runs on */
    ck_assert_int_eq(m->count[ROW_RECORDED], 1);
    const struct row_recorded *r = MEMORY_ROW(m, recorded, ROW_RECORDED, 0);
    ck_assert(r->start_ns == 1000 && r->end_ns == 1500 && r->first_step == -1);
}

TEST_FIXTURE(setup_gated, teardown)

TEST(test_windows)
{
    window(0, 1000, 1500, 0);
    kernels(0, 20);
    window(5000, 0, 0, 50);
    kernels(20, 80);
    close_window(8000, 8200);
    kernels(100, 50);
    finish();
    ck_assert_int_eq(kernels_in(0, 1500), 15); /* what was queued runs on */
    ck_assert_int_eq(kernels_in(1500, 5000), 0);
    ck_assert_int_eq(kernels_in(5000, 10000), 50); /* open when they were read */
    ck_assert_int_eq(kernels_in(10000, INT64_MAX), 0);
    ck_assert_int_eq(m->count[ROW_RECORDED], 2);
    const struct row_recorded *r = MEMORY_ROW(m, recorded, ROW_RECORDED, 0);
    ck_assert(r->end_ns == 1000 && r->gpu_end_ns == 1500 && r->first_step == 0);
    r = MEMORY_ROW(m, recorded, ROW_RECORDED, 1);
    ck_assert(r->start_ns == 5000 && r->end_ns == 8000 && r->gpu_start_ns == -1);
    ck_assert_int_eq(r->first_step, 50);
}

/* Of what runs behind a window only what was launched in it. */
TEST(test_tail)
{
    uint64_t at = 0;
    int64_t zero = epoch + START;
    window(0, 1000, 5000, 0);
    for (uint32_t i = 1; i <= 4; i++) /* two of the calls come too late */
        spool_api(&w, 0, &at, 5, 211, zero + i * 400, zero + i * 400 + 10, 7, i);
    for (uint32_t i = 1; i <= 4; i++)
        spool_kernel(&w, 0, &at, zero + 1000 + i * 500, zero + 1100 + i * 500, i, 0x1000);
    spool_state(&w, 0, SPOOL_READY, at);
    drain();
    ck_assert_int_eq(m->count[ROW_API], 2);
    ck_assert_int_eq(m->count[ROW_KERNEL], 2);
    window(6000, 0, 0, 9);
    at = 0;
    spool_api(&w, 0, &at, 5, 211, zero + 6100, zero + 6110, 7, 9);
    spool_kernel(&w, 0, &at, zero + 6200, zero + 6300, 9, 0x1000);
    spool_state(&w, 0, SPOOL_READY, at);
    finish();
    ck_assert_int_eq(m->count[ROW_KERNEL], 3);
}

/* The reader slept while the ring of windows came round: the newest are known. */
TEST(test_windows_overtaken)
{
    for (int i = 0; i < SPOOL_WINDOWS * 2; i++)
        window((int64_t)i * 1000, (int64_t)i * 1000 + 100, (int64_t)i * 1000 + 100,
               (uint64_t)i * 10);
    finish();
    ck_assert_int_eq(m->count[ROW_RECORDED], SPOOL_WINDOWS);
    ck_assert_int_eq(MEMORY_ROW(m, recorded, ROW_RECORDED, 0)->start_ns, SPOOL_WINDOWS * 1000);
}

/* A worker that counts no steps is recorded when the process that does is. */
TEST(test_follower)
{
    char path[128];
    snprintf(path, sizeof path, "%s/b.spool", dir);
    struct spool_writer b = spool_begin(path, getpid(), spool_ticks(getpid()));
    spool_anchor(&b, START, epoch + START);
    b.h->window = SPOOL_WINDOWS_EVERY;
    spool_ready(&b);
    window(0, 1000, 1000, 0); /* long ago, by the clock of this test */
    drain();
    ck_assert_uint_eq(atomic_load(&w.h->control), SPOOL_RUN); /* decides by itself */
    ck_assert_uint_eq(atomic_load(&b.h->control), SPOOL_PAUSE);
    uint64_t at = 0;
    spool_kernel(&b, 0, &at, epoch + START + 500, epoch + START + 600, 1, 0x1000);
    spool_kernel(&b, 0, &at, epoch + START + 1500, epoch + START + 1600, 2, 0x1000);
    spool_state(&b, 0, SPOOL_READY, at);
    drain();
    ck_assert_int_eq(m->count[ROW_KERNEL], 1);
    window(2000, 0, 0, 5);
    drain();
    ck_assert_uint_eq(atomic_load(&b.h->control), SPOOL_RUN);
    atomic_store(&b.h->sealed, 1);
    finish();
    spool_end(&b);
}

/* A run that goes light once enough is known: as long as it is not, all of it is recorded. */
TEST(test_steady)
{
    w.h->window = SPOOL_WINDOWS_STEADY;
    window(0, 0, 0, 0);
    kernels(0, 20);
    finish();
    ck_assert_int_eq(kernels_in(0, INT64_MAX), 20);
    ck_assert_int_eq(m->count[ROW_RECORDED], 0);
    ck_assert_int_eq(m->count[ROW_STEP_BLOCK], 0);
}

TEST(test_steady_enough)
{
    w.h->window = SPOOL_WINDOWS_STEADY;
    window(0, 0, 0, 0);
    kernels(0, 10);
    close_window(1000, 1500);
    kernels(10, 20);
    finish();
    ck_assert_int_eq(kernels_in(0, INT64_MAX), 15);
    ck_assert_int_eq(m->count[ROW_RECORDED], 1);
    const struct row_recorded *r = MEMORY_ROW(m, recorded, ROW_RECORDED, 0);
    ck_assert_int_eq(r->start_ns, 0);
    ck_assert_int_eq(r->end_ns, 1000);
    ck_assert_int_eq(r->gpu_end_ns, 1500);
}

/* `--light`: a worker waits for the first window of the process that marks steps, and so does one
 * that belongs to nobody. */
TEST(test_light_follower)
{
    char path[128];
    snprintf(path, sizeof path, "%s/b.spool", dir);
    struct spool_writer b = spool_begin(path, getpid(), spool_ticks(getpid()));
    spool_anchor(&b, START, epoch + START);
    b.h->window = SPOOL_WINDOWS_LIGHT;
    w.h->window = SPOOL_WINDOWS_LIGHT;
    spool_ready(&b);
    atomic_store(&w.h->steps, 0);
    drain();
    ck_assert_uint_eq(atomic_load(&w.h->control), SPOOL_PAUSE);
    ck_assert_uint_eq(atomic_load(&b.h->control), SPOOL_PAUSE);
    atomic_store(&w.h->steps, 1);
    drain();
    ck_assert_uint_eq(atomic_load(&w.h->control), SPOOL_RUN);
    ck_assert_uint_eq(atomic_load(&b.h->control), SPOOL_PAUSE);
    window(2000, 0, 0, 60);
    drain();
    ck_assert_uint_eq(atomic_load(&b.h->control), SPOOL_RUN);
    close_window(3000, 3000);
    drain();
    ck_assert_uint_eq(atomic_load(&b.h->control), SPOOL_PAUSE);
    atomic_store(&b.h->sealed, 1);
    finish();
    ck_assert_int_eq(m->count[ROW_RECORDED], 2);
    spool_end(&b);
}

/* Killed in its first step, before that was read: its window holds for its worker until the next
 * look. */
TEST(test_leader_dies)
{
    enum { DEAD = 2147483000 };
    char path[128];
    snprintf(path, sizeof path, "%s/b.spool", dir);
    struct spool_writer b = spool_begin(path, DEAD, 1);
    spool_anchor(&b, START, epoch + START);
    b.h->window = SPOOL_WINDOWS_EVERY;
    atomic_store(&b.h->steps, 1);
    atomic_store(&b.h->windows[0].from_ns, START + 1000);
    atomic_store(&b.h->windows[0].to_ns, INT64_MAX);
    atomic_store(&b.h->windows[0].gpu_to_ns, INT64_MAX);
    atomic_store(&b.h->windows_head, 1);
    spool_ready(&b);
    atomic_store(&w.h->steps, 0);
    drain();
    ck_assert_int_eq(m->count[ROW_PROCESS], 1); /* the dead one's */
    int before = m->count[ROW_RECORDED];
    collect_put_now(c);
    ck_assert_int_eq(m->count[ROW_RECORDED], before + 1);
    ck_assert_int_eq(MEMORY_ROW(m, recorded, ROW_RECORDED, before)->start_ns, 1000);
    drain();
    finish();
    spool_end(&b);
}

/* `--every N` of a program that marks no steps. */
TEST_EACH(test_no_marks, 0, 2)
{
    w.h->cupti_version = 26;
    atomic_store(&w.h->steps, (unsigned)_i);
    window(0, 0, 0, 0);
    kernels(0, 10);
    finish();
    ck_assert_int_eq(memory_health(m, "no-marks"), _i ? -1 : 1);
    ck_assert_int_eq(m->count[ROW_KERNEL], 10);
}

TEST(test_step_blocks)
{
    enum { STEPS = 5000, STEP_NS = 1000 };
    int64_t steps = 0, next = 1;
    uint32_t name = spool_text(&w, "step");
    window(0, 1000, 1000, 0);
    spool_ring_open(&w, 0, 7);
    for (int i = 0; i < STEPS; i++) {
        struct spool_rec_range r = {{SPOOL_REC_STEP, sizeof r, 7, START + (int64_t)i * STEP_NS,
                                     START + (int64_t)i * STEP_NS + 900 + (i == 77) * 5},
                                    name,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0};
        spool_append(&w, 0, &r, sizeof r);
        drain();
    }
    finish();
    ck_assert_int_eq(m->count[ROW_RANGE], 1); /* the others are summed up alone */
    ck_assert(m->count[ROW_STEP_BLOCK] > 1000 && m->count[ROW_STEP_BLOCK] <= 2049);
    for (int i = 0; i < m->count[ROW_STEP_BLOCK]; i++) {
        const struct row_step_block *b = MEMORY_ROW(m, step_block, ROW_STEP_BLOCK, i);
        ck_assert(b->first_step == next && b->start_ns == (next - 1) * STEP_NS);
        next += b->steps;
        steps += b->steps;
        if (next <= STEPS)
            ck_assert(b->min_ns == STEP_NS && b->max_ns == STEP_NS);
    }
    ck_assert_int_eq(steps, STEPS);
}
