/* The collector: rings that a thread of the program has left to continue in another one. */

#include "tests/unit/test.h"
#include "tests/unit/collect_spools.h"

enum { TID = 7 };

static struct spool_ring *left(struct spool_writer *w, int from, int to)
{
    spool_ring_open(w, to, TID);
    atomic_store(&spool_ring_at(w, to)->after, (uint32_t)from + 1);
    atomic_store(&spool_ring_at(w, from)->next, (uint32_t)to + 1);
    atomic_store(&spool_ring_at(w, from)->state, SPOOL_RING_LEFT);
    return spool_ring_at(w, to);
}

static void put(struct spool_writer *w, int ring, int64_t from, int64_t to)
{
    uint32_t name = spool_text(w, "r");
    for (int64_t ns = from; ns < to; ns++)
        spool_range(w, ring, TID, name, START + ns, START + ns + 1, 0);
}

static void check_order(int64_t n)
{
    ck_assert_int_eq(m->count[ROW_RANGE], n);
    for (int64_t i = 0; i < n; i++)
        ck_assert_int_eq(MEMORY_ROW(m, range, ROW_RANGE, i)->start_ns, i);
}

TEST_FIXTURE(setup, teardown)

/* Whichever has the lower number, the one that was left is read first, and is free then. */
TEST_EACH(records_come_in_the_order_of_their_thread, 0, 2)
{
    int first = _i;
    struct spool_writer w = live("a");
    spool_ring_open(&w, first, TID);
    put(&w, first, 0, 20);
    left(&w, first, !first);
    put(&w, !first, 20, 40);
    drain();
    check_order(40);
    ck_assert_uint_eq(atomic_load(&spool_ring_at(&w, first)->state), SPOOL_RING_FREE);
    ck_assert_uint_eq(atomic_load(&spool_ring_at(&w, first)->next), 0);
    ck_assert_uint_eq(atomic_load(&spool_ring_at(&w, !first)->after), 0);
    ck_assert_uint_eq(atomic_load(&spool_ring_at(&w, !first)->state), SPOOL_RING_OPEN);
    left(&w, !first, first); /* and back */
    put(&w, first, 40, 60);
    drain();
    check_order(60);
    atomic_store(&w.h->sealed, 1);
    finish();
    spool_end(&w);
}

/* Not even where it was left after the collector had looked at it. */
TEST(a_later_ring_waits_for_the_one_before)
{
    struct spool_writer w = live("a");
    spool_ring_open(&w, 1, TID);
    left(&w, 1, 0);
    atomic_store(&spool_ring_at(&w, 1)->state, SPOOL_RING_OPEN); /* as it saw it */
    put(&w, 1, 0, 10);
    put(&w, 0, 10, 20);
    drain();
    check_order(10);
    atomic_store(&spool_ring_at(&w, 1)->state, SPOOL_RING_LEFT);
    drain();
    check_order(20);
    atomic_store(&w.h->sealed, 1);
    finish();
    spool_end(&w);
}

/* What a thread that was killed had written in both is there. */
TEST(a_dead_process_leaves_both)
{
    struct spool_writer w = dead("a");
    spool_ring_open(&w, 1, TID);
    put(&w, 1, 0, 30);
    left(&w, 1, 0);
    put(&w, 0, 30, 45);
    finish();
    check_order(45);
    spool_end(&w);
}

/* Links that lead nowhere, or in a circle. */
TEST_EACH(broken_links_end, 0, 4)
{
    static const uint32_t next[] = {1, 2, 3, UINT32_MAX};
    struct spool_writer w = live("a");
    spool_ring_open(&w, 0, TID);
    put(&w, 0, 0, 5);
    atomic_store(&spool_ring_at(&w, 0)->next, next[_i]);
    atomic_store(&spool_ring_at(&w, 0)->state, SPOOL_RING_LEFT);
    spool_ring_open(&w, 1, TID);
    atomic_store(&spool_ring_at(&w, 1)->next, 1);
    atomic_store(&spool_ring_at(&w, 1)->state, SPOOL_RING_LEFT);
    drain();
    check_order(5);
    atomic_store(&w.h->rings_used, UINT32_MAX);
    drain();
    check_order(5);
    atomic_store(&w.h->sealed, 1);
    finish();
    spool_end(&w);
}
