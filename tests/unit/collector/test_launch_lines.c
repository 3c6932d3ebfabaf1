/* The program's lines of launches: one row of `stack` for each line, and stretches with and without
 * an end. Memory refers to the same rows. */
#include "tests/unit/collect_spools.h"

static uint32_t train, forward, module; /* ids in the spool */

static struct spool_writer begin(void)
{
    struct spool_writer w = dead("a");
    spool_ring_open(&w, 0, 77);
    train = spool_text(&w, "/home/me/train.py");
    forward = spool_text(&w, "forward");
    module = 0;
    return w;
}

static void launch(struct spool_writer *w, uint32_t tid, int line, int what, int stretch,
                   int64_t start, int64_t end)
{
    struct spool_rec_line r = {.head = {SPOOL_REC_LINE, sizeof r, tid, START + start, START + end},
                               .file = line ? train : 0,
                               .function = line ? forward : 0,
                               .line = line,
                               .what = (uint16_t)what,
                               .stretch = (uint32_t)stretch,
                               .module = module};
    spool_append(w, 0, &r, sizeof r);
}

#define LAUNCH(i) MEMORY_ROW(m, launch_line, ROW_LAUNCH_LINE, i)
#define STACK(i)  MEMORY_ROW(m, stack, ROW_STACK, i)

TEST_FIXTURE(setup, teardown)

TEST(lines_become_rows)
{
    struct spool_writer w = begin();
    launch(&w, 77, 9, SPOOL_LINE_OWN, 1, 10, 10);
    launch(&w, 77, 12, SPOOL_LINE_FORWARD, 1, 20, 20);
    launch(&w, 77, 0, SPOOL_LINE_NONE, 1, 25, 25);
    launch(&w, 77, 9, SPOOL_LINE_OWN, 1, 30, 30);
    launch(&w, 77, 0, SPOOL_LINE_STRETCH, 1, 5, 40);
    launch(&w, 77, 0, SPOOL_LINES, 1, 50, 50); /* no such kind */
    finish();
    ck_assert_int_eq(m->count[ROW_LAUNCH_LINE], 5);
    ck_assert_int_eq(m->count[ROW_STACK], 2);
    ck_assert_str_eq(memory_text(m, STACK(0)->file), "/home/me/train.py");
    ck_assert_str_eq(memory_text(m, STACK(0)->function), "forward");
    ck_assert(STACK(0)->line == 9 && STACK(0)->caller == 0 && STACK(1)->line == 12);
    ck_assert(LAUNCH(0)->start_ns == 10 && LAUNCH(0)->what == SPOOL_LINE_OWN);
    ck_assert(LAUNCH(0)->stack == STACK(0)->id && LAUNCH(1)->stack == STACK(1)->id);
    ck_assert(LAUNCH(2)->stack == 0 && LAUNCH(3)->stack == STACK(0)->id);
    ck_assert(LAUNCH(4)->what == SPOOL_LINE_STRETCH && LAUNCH(4)->thread == -1);
    ck_assert(LAUNCH(4)->start_ns == 5 && LAUNCH(4)->end_ns == 40 && LAUNCH(4)->stretch == 1);
    spool_end(&w);
}

TEST(memory_has_the_line_that_asked)
{
    struct spool_writer w = begin();
    launch(&w, 77, 9, SPOOL_LINE_OWN, 1, 10, 10);
    struct spool_rec_piece r = {.head = {SPOOL_REC_PIECE, sizeof r, 77, START + 20, START + 20},
                                .bytes = 512,
                                .address = 4096,
                                .in_use = 700,
                                .held = 2048,
                                .file = train,
                                .function = forward,
                                .line = 9,
                                .device = 1};
    spool_append(&w, 0, &r, sizeof r);
    r.bytes = -512, r.file = 0, r.head.start_ns = START + 30;
    spool_append(&w, 0, &r, sizeof r);
    r.bytes = 0; /* says nothing */
    spool_append(&w, 0, &r, sizeof r);
    finish();
    const struct row_allocation *out = MEMORY_ROW(m, allocation, ROW_ALLOCATION, 0),
                                *back = MEMORY_ROW(m, allocation, ROW_ALLOCATION, 1);
    ck_assert_int_eq(m->count[ROW_ALLOCATION], 2);
    ck_assert(out->bytes == 512 && out->time_ns == 20 && out->address == 4096);
    ck_assert(out->in_use_bytes == 700 && out->held_bytes == 2048);
    ck_assert(out->stack == STACK(0)->id && out->thread == LAUNCH(0)->thread);
    ck_assert_int_eq(MEMORY_ROW(m, device, ROW_DEVICE, 0)->id, out->device);
    ck_assert_int_eq(MEMORY_ROW(m, device, ROW_DEVICE, 0)->ordinal, 1);
    ck_assert(back->bytes == -512 && back->stack == 0);
    spool_end(&w);
}

/* The same line in two modules is two rows, each below its module. */
TEST(modules_are_callers)
{
    struct spool_writer w = begin();
    launch(&w, 77, 9, SPOOL_LINE_OWN, 1, 10, 10);
    module = spool_text(&w, "blocks.0 (Block)");
    launch(&w, 77, 9, SPOOL_LINE_OWN, 1, 20, 20);
    launch(&w, 77, 9, SPOOL_LINE_OWN, 1, 30, 30);
    finish();
    ck_assert_int_eq(m->count[ROW_STACK], 3);
    ck_assert(STACK(0)->caller == 0 && STACK(1)->file == 0);
    ck_assert_str_eq(memory_text(m, STACK(1)->function), "blocks.0 (Block)");
    ck_assert(STACK(2)->caller == STACK(1)->id && STACK(2)->line == 9);
    ck_assert(LAUNCH(1)->stack == STACK(2)->id && LAUNCH(2)->stack == STACK(2)->id);
    spool_end(&w);
}

/* The thread that ends a stretch is read before another thread's last line in it: that opens no
 * new one. A process that was killed in a stretch had it until its last record. */
TEST(stretches_end_once)
{
    struct spool_writer w = begin();
    launch(&w, 77, 0, SPOOL_LINE_STRETCH, 1, 5, 40);
    launch(&w, 78, 9, SPOOL_LINE_OWN, 1, 39, 39);
    launch(&w, 77, 9, SPOOL_LINE_OWN, 2, 50, 50);
    spool_range(&w, 0, 77, spool_text(&w, "step"), START + 45, START + 90, 0);
    finish();
    ck_assert_int_eq(m->count[ROW_LAUNCH_LINE], 4);
    ck_assert(LAUNCH(3)->what == SPOOL_LINE_STRETCH && LAUNCH(3)->stretch == 2);
    ck_assert(LAUNCH(3)->start_ns == 50 && LAUNCH(3)->end_ns == 90);
    spool_end(&w);
}
