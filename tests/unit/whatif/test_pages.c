/* Pages of managed memory that move while steps run: no stream orders them, and no call waits for
 * them. */
#include "tests/unit/test.h"
#include "tests/unit/replay_steps.h"

static void put_page(struct builder *b, int64_t kind, int64_t at, int64_t length)
{
    struct row_copy r = {.id = ++b->next_id,
                         .process = 1,
                         .stream = 2,
                         .start_ns = at,
                         .end_ns = at + length,
                         .kind = kind,
                         .src_kind = MEMORY_MANAGED,
                         .dst_kind = MEMORY_MANAGED,
                         .bytes = 65536,
                         .is_async = -1,
                         .peer_device = -1};
    build_put(b, ROW_COPY, &r);
}

static bool reads_back;

/* A kernel of 4 ms brings its pages, the last one 10 us longer than itself; the host works for 5 ms
 * behind the wait, and reads a result there or not. */
static void fill_managed(struct builder *b, int64_t at)
{
    build_kernel(b, "update_particles", at, at + US(10), MS(4));
    put_page(b, COPY_H2D, at + US(100), US(20));
    put_page(b, COPY_H2D, at + MS(4), US(20));
    build_sync(b, at + US(5), MS(4) + US(7));
    if (reads_back)
        put_page(b, COPY_D2H, at + MS(5), US(20));
}

TEST(pages_on_their_way_hold_up_no_wait)
{
    reads_back = true;
    struct bench x = bench_start(MS(9), fill_managed);
    const struct whatif *w = &x.b.a->whatif;
    ck_assert_uint_eq(x.g->violations, 0);
    ck_assert_double_lt(w->unexplained_pct, 0.1);
    ck_assert_int_gt(w->path[PATH_KERNEL].path_ns, MS(3.9));
    ck_assert_int_gt(w->path[PATH_KERNEL].worth_ns, MS(3.9));
}

/* Whoever reads what a kernel left waits for it, with or without a call. */
TEST(a_wait_before_the_host_reads_stays)
{
    reads_back = true;
    struct bench x = bench_start(MS(9), fill_managed);
    ck_assert_int_le(bench_span(&x, (struct edit){.kind = &edit_unsync}).high_ns, MS(0.2));
    reads_back = false;
    x = bench_start(MS(9), fill_managed);
    ck_assert_int_ge(bench_span(&x, (struct edit){.kind = &edit_unsync}).low_ns, MS(3.5));
}
