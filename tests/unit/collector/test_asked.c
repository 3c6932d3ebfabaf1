/* Windows that are asked for while the program runs. The spools are made by hand. A window begins
 * by the clock, so these tests wait for it. */
#include "tests/unit/test.h"
#include "tests/unit/collect_spools.h"

#include <time.h>

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec - START;
}

static struct spool_writer w;
static uint64_t correlation;

static void begin(void)
{
    setup();
    collect_on_request(c);
    w = live("1-1");
    correlation = 0;
}

static void end(void)
{
    spool_end(&w);
    teardown();
}

/* A kernel that runs now, in a buffer of its own. Profile time. */
static void kernel_at(int64_t ns)
{
    uint64_t at = 0;
    spool_anchor(&w, START + ns, stamp(ns));
    spool_kernel(&w, 0, &at, stamp(ns), stamp(ns + 100), (uint32_t)++correlation, 0x1000);
    spool_state(&w, 0, SPOOL_READY, at);
    drain();
}

static void until_open(void)
{
    for (int i = 0; i < 400 && now() <= collect_ask_began(c); i++) {
        usleep(1000);
        drain();
    }
    drain();
}

TEST_FIXTURE(begin, end)

TEST(test_nothing_before)
{
    kernel_at(now());
    ck_assert_uint_eq(atomic_load(&w.h->control), SPOOL_PAUSE);
    ck_assert_int_eq(collect_asked(c), COLLECT_NONE);
    atomic_store(&w.h->sealed, 1);
    finish();
    ck_assert_int_eq(KERNELS, 0);
    ck_assert_int_eq(m->count[ROW_RECORDED], 0);
}

TEST(test_steps)
{
    atomic_store(&w.h->steps, 7);
    drain();
    collect_ask(c, 3, 0);
    ck_assert_int_eq(collect_asked(c), COLLECT_OPEN);
    until_open();
    ck_assert_uint_eq(atomic_load(&w.h->control), SPOOL_RUN);
    ck_assert_int_eq(collect_ask_first_step(c), 8);
    kernel_at(now());
    atomic_store(&w.h->steps, 10); /* the last one is not over */
    drain();
    kernel_at(now());
    ck_assert_int_eq(KERNELS, 2);
    atomic_store(&w.h->steps, 11);
    drain();
    kernel_at(now() + 10000000000); /* long behind it */
    ck_assert_int_eq(KERNELS, 2);
    for (int i = 0; i < 3000 && collect_asked(c) != COLLECT_OVER; i++)
        usleep(1000);
    drain();
    ck_assert_int_eq(collect_asked(c), COLLECT_OVER);
    ck_assert_uint_eq(atomic_load(&w.h->control), SPOOL_PAUSE);
    atomic_store(&w.h->sealed, 1);
    finish();
    ck_assert_int_eq(m->count[ROW_RECORDED], 1);
    const struct row_recorded *r = MEMORY_ROW(m, recorded, ROW_RECORDED, 0);
    ck_assert(r->start_ns == collect_ask_began(c) && r->end_ns < now() && r->first_step == -1);
}

/* The recorder gets no core for a while: the agents are told late, so the window begins late. */
TEST(test_told_late)
{
    drain();
    collect_ask(c, 0, 50000000);
    usleep(400000);
    ck_assert_uint_eq(atomic_load(&w.h->control), SPOOL_PAUSE);
    drain();
    ck_assert_uint_eq(atomic_load(&w.h->control), SPOOL_RUN);
    ck_assert_int_gt(collect_ask_began(c), now());
    ck_assert(!collect_ask_has_begun(c));
    until_open();
    ck_assert(collect_ask_has_begun(c));
    atomic_store(&w.h->sealed, 1);
    finish();
}

/* What is lost before the window and behind it, most of all while CUPTI is turned on or off, is not
 * missing from it; what the agent's thread used before it is not of it. */
TEST(test_losses)
{
    _Atomic uint64_t *counter = w.h->counter;
    int64_t before, inside;
    uint64_t at = 0;
    atomic_store(&counter[SPOOL_CUPTI_DROPPED], 100);
    atomic_store(&counter[SPOOL_RING_FULL], 30);
    atomic_store(&counter[SPOOL_SELF_NS], 5000);
    drain();
    collect_ask(c, 0, 3600000000000);
    before = now();
    until_open();
    usleep(2000);
    inside = now();
    atomic_store(&counter[SPOOL_CUPTI_DROPPED], 103);
    atomic_store(&counter[SPOOL_CUPTI_UNASKED], 20);
    atomic_store(&counter[SPOOL_SELF_NS], 7000);
    spool_anchor(&w, START + inside, stamp(inside));
    for (uint32_t i = 1; i <= 4; i++)
        spool_kernel(&w, 0, &at, 0, 0, i, 0x1000); /* before the window: the next one says so, */
    spool_state(&w, 0, SPOOL_READY, at);           /* although it is in another buffer */
    drain();
    at = 0;
    spool_kernel(&w, 0, &at, stamp(before), stamp(before + 100), 5, 0x1000);
    spool_kernel(&w, 0, &at, stamp(inside), stamp(inside + 100), 6, 0x1000);
    for (uint32_t i = 7; i <= 8; i++)
        spool_kernel(&w, 0, &at, 0, 0, i, 0x1000); /* in it */
    spool_state(&w, 0, SPOOL_READY, at);
    drain();
    collect_ask_end(c);
    atomic_store(&w.h->sealed, 1);
    finish();
    ck_assert_int_eq(KERNELS, 1);
    ck_assert_int_eq(memory_health(m, "cupti-dropped"), 3);
    ck_assert_int_eq(memory_health(m, "ring-full"), -1);
    ck_assert_int_eq(memory_health(m, "untimed"), 2);
    ck_assert_int_eq(memory_health(m, "unasked"), 24);
    ck_assert_int_eq(memory_health(m, "agent-cpu"), 2000);
}

/* Of two that count, the slower one is waited for, but not for ever. */
TEST_EACH(test_two_count, 0, 2)
{
    struct spool_writer other = live("1-2");
    atomic_store(&w.h->steps, 5);
    atomic_store(&other.h->steps, 50);
    drain();
    collect_ask(c, 4, 0);
    until_open();
    atomic_store(&w.h->steps, 10);
    atomic_store(&other.h->steps, 52);
    kernel_at(now());
    kernel_at(now());
    ck_assert_int_eq(KERNELS, 2);
    atomic_store(&w.h->steps, 5 + (_i ? 9 : 5));
    atomic_store(&other.h->steps, _i ? 52 : 55);
    drain();
    kernel_at(now() + 10000000000);
    ck_assert_int_eq(KERNELS, 2);
    spool_end(&other);
}

TEST(test_ended_early)
{
    collect_ask(c, 0, 3600000000000);
    collect_ask_end(c); /* before it began */
    ck_assert(!collect_ask_has_begun(c));
    collect_ask(c, 0, 3600000000000);
    until_open();
    usleep(2000);
    kernel_at(now());
    collect_ask_end(c);
    ck_assert(collect_ask_has_begun(c));
    atomic_store(&w.h->sealed, 1);
    finish();
    ck_assert_int_eq(KERNELS, 1);
}
