/* The collector with two clocks, one of which is stepped, slewed or never related to the other. */

#include "tests/unit/test.h"
#include "tests/unit/collect_spools.h"

TEST_FIXTURE(setup, teardown)

/* The real-time clock is set back by an hour in mid-run, then forward. */
TEST(test_stepped_clock)
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
    /* within the second in which it was set; from before it until after it, either way; from after
     * it back to before it, which is damaged */
    spool_kernel(&w, 0, &at, stamp(9 * second) + second / 4, stamp(9 * second) + second / 2, 3,
                 0x1000);
    spool_kernel(&w, 0, &at, stamp(8 * second), stamp(12 * second) - hour, 4, 0x1000);
    spool_kernel(&w, 0, &at, stamp(12 * second) - hour, stamp(8 * second), 5, 0x1000);
    spool_api(&w, 0, &at, 5, 211, stamp(8 * second), stamp(12 * second) - hour, 7, 6);
    spool_state(&w, 0, SPOOL_READY, at);
    finish();
    ck_assert_int_eq(KERNEL(0)->start_ns, 3 * second);
    ck_assert_int_eq(KERNEL(1)->start_ns, 15 * second);
    ck_assert_int_eq(KERNEL(1)->end_ns, 15 * second + 10);
    ck_assert_int_eq(KERNELS, 2);
    ck_assert_int_eq(memory_health(m, "clock-set"), 1);
    ck_assert_int_eq(memory_health(m, "off-clock"), 4);
    spool_end(&w);
}

/* Set back by so little that the same stamps come twice: what was delivered before the step belongs
 * before it, what came after it behind. */
TEST(test_small_step)
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

/* CUPTI's clock runs 200 ppm fast, as one that is slewed does: no anchor is far, none is exact. */
TEST(test_slewed_clock)
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

TEST(test_no_anchors)
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
