/* The agent's rings when they are full: its threads continue in other rings. */
#include "tests/unit/test.h"
#include "tests/unit/agent/spool_agent.h"

#include <sys/resource.h>

enum { MANY = 60000 }; /* ranges: those of nearly three rings */

TEST_FIXTURE(load, done)

/* Nobody reads: the thread goes on in other rings, in an order that can be followed. */
TEST(a_full_ring_is_left_for_another)
{
    ranges("x", MANY);
    view_files(dir, SPOOL_SUFFIX, path, sizeof path);
    struct spool_view v = view_open(path);
    ck_assert_uint_eq(view_each(&v, SPOOL_REC_RANGE, NULL, NULL), MANY);
    ck_assert_uint_eq(atomic_load(&v.h->counter[SPOOL_RING_FULL]), 0);
    ck_assert_uint_eq(atomic_load(&v.h->counter[SPOOL_RINGS_LEFT]), 2);
    uint32_t i = 0, n = 0;
    for (uint32_t next; (next = atomic_load(&view_ring(&v, i)->next)); i = next - 1, n++) {
        ck_assert_uint_eq(atomic_load(&view_ring(&v, i)->state), SPOOL_RING_LEFT);
        ck_assert_uint_eq(atomic_load(&view_ring(&v, next - 1)->after), i + 1);
    }
    ck_assert_uint_eq(n, 2);
    ck_assert_uint_eq(atomic_load(&view_ring(&v, i)->state), SPOOL_RING_OPEN);
    view_close(&v);
}

/* The same where there is a ring to spare: nothing is made for it. */
TEST(a_free_ring_is_taken_again)
{
    struct stat before, after;
    ranges("x", MANY / 2);
    view_files(dir, SPOOL_SUFFIX, path, sizeof path);
    struct spool_view v = view_open(path);
    view_drain(&v);
    atomic_store(&view_ring(&v, 0)->state, SPOOL_RING_FREE); /* as a collector that has read it */
    atomic_store(&view_ring(&v, 0)->next, 0);
    atomic_store(&view_ring(&v, 1)->after, 0);
    ck_assert_int_eq(stat(path, &before), 0);
    ranges("x", MANY / 2);
    ck_assert_int_eq(stat(path, &after), 0);
    ck_assert_int_eq(after.st_blocks, before.st_blocks);
    ck_assert_uint_eq(atomic_load(&view_ring(&v, 1)->next), 1);
    ck_assert_uint_eq(view_each(&v, SPOOL_REC_RANGE, NULL, NULL), MANY / 2);
    ck_assert_uint_eq(atomic_load(&v.h->counter[SPOOL_RING_FULL]), 0);
    view_close(&v);
}

TEST(without_another_a_full_ring_drops_and_counts)
{
    ranges("x", 1);
    view_files(dir, SPOOL_SUFFIX, path, sizeof path);
    struct spool_view v = view_open(path);
    atomic_store(&v.h->full, 1); /* no more of the disk */
    ranges("x", MANY - 1);
    uint64_t kept = view_each(&v, SPOOL_REC_RANGE, NULL, NULL);
    uint64_t dropped = atomic_load(&v.h->counter[SPOOL_RING_FULL]);
    ck_assert_uint_gt(kept, 5000);
    ck_assert_uint_eq(kept + dropped, MANY);
    /* drained, it takes records again, across the end of the ring */
    view_drain(&v);
    for (int turn = 0; turn < 7; turn++) {
        ranges("y", 1000);
        ck_assert_uint_eq(view_each(&v, SPOOL_REC_RANGE, NULL, NULL), 1000);
        view_drain(&v);
    }
    ck_assert_uint_eq(atomic_load(&v.h->counter[SPOOL_RING_FULL]), dropped);
    view_close(&v);
}

/* The collector reads the ring and then ends: the thread notices that nobody reads before another
 * half of the ring is full, so that a spare ring can be made in time. */
TEST(a_thread_looks_again_whether_its_ring_is_read)
{
    enum { A_THIRD = SPOOL_RING_BYTES / 3 / sizeof(struct spool_rec_range) };
    ranges("x", A_THIRD);
    view_files(dir, SPOOL_SUFFIX, path, sizeof path);
    struct spool_view v = view_open(path);
    uint32_t woken = atomic_load(&v.h->wake);
    ck_assert_uint_gt(woken, 0);
    view_drain(&v);
    for (int i = 0; i < 2; i++) {
        ranges("x", A_THIRD);
        ck_assert_uint_gt(atomic_load(&v.h->wake), woken);
        woken = atomic_load(&v.h->wake);
    }
    view_close(&v);
}

/* The program's limits leave room for few rings: 16 of them take what nobody reads, and a new
 * thread has one all the same. */
TEST(new_threads_find_a_ring_when_the_others_are_full)
{
    enum { FEW = 16, TOO_MANY = 20 * 22000 };
    pthread_t t;
    struct rlimit small = {640 << 20, 640 << 20};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    ranges("x", TOO_MANY);
    view_files(dir, SPOOL_SUFFIX, path, sizeof path);
    struct spool_view v = view_open(path);
    uint64_t kept = view_each(&v, SPOOL_REC_RANGE, NULL, NULL);
    ck_assert_uint_eq(atomic_load(&v.h->counter[SPOOL_RINGS_LEFT]), FEW - 1);
    ck_assert_uint_gt(kept, FEW * 21000);
    ck_assert_uint_eq(kept + atomic_load(&v.h->counter[SPOOL_RING_FULL]), TOO_MANY);
    ck_assert_int_eq(pthread_create(&t, NULL, one_range, NULL), 0);
    pthread_join(t, NULL);
    ck_assert_uint_eq(view_each(&v, SPOOL_REC_RANGE, NULL, NULL), kept + 1);
    ck_assert_uint_eq(atomic_load(&v.h->counter[SPOOL_NO_RING]), 0);
    view_close(&v);
}

/* What a thread has open goes with it, and the next one finds nothing of that. */
TEST(open_ranges_go_along)
{
    struct nest x = {0};
    pthread_t t;
    range_begin("outer");
    ranges("x", MANY / 2);
    view_files(dir, SPOOL_SUFFIX, path, sizeof path);
    struct spool_view v = view_open(path);
    view_drain(&v);
    range_begin("inner");
    range_end();
    range_end();
    range_end();
    ck_assert_uint_eq(view_each(&v, SPOOL_REC_RANGE, see_nest, &x), 2);
    ck_assert_str_eq(x.name[0], "inner");
    ck_assert_str_eq(x.name[1], "outer");
    ck_assert_uint_eq(x.depth[0], 1);
    ck_assert_uint_eq(x.depth[1], 0);
    view_drain(&v);
    atomic_store(&view_ring(&v, 0)->state, SPOOL_RING_FREE);
    atomic_store(&view_ring(&v, 0)->next, 0);
    ck_assert_int_eq(pthread_create(&t, NULL, one_range, NULL), 0);
    pthread_join(t, NULL);
    x.n = 0;
    ck_assert_uint_eq(view_each(&v, SPOOL_REC_RANGE, see_nest, &x), 1);
    ck_assert_uint_eq(x.depth[0], 0);
    view_close(&v);
}
