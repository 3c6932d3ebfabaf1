/* When most memory is in use, and who holds it then. */
#include "analyzer/facts/allocations.h"
#include "report/words/text.h"
#include "tests/unit/build_timeline.h"

static int64_t in_use, held;
static bool totals; /* the recording says what is in use */

static void piece(struct builder *b, int64_t at, int64_t address, int64_t bytes)
{
    in_use += bytes;
    struct row_allocation r = {.id = ++b->next_id,
                               .device = 1,
                               .thread = 1,
                               .time_ns = at,
                               .bytes = bytes,
                               .address = address,
                               .in_use_bytes = totals ? in_use : -1,
                               .held_bytes = totals ? held : -1};
    build_put(b, ROW_ALLOCATION, &r);
}

/* Three steps, of which each keeps two activations, frees them in its backward pass, and frees a piece
 * from before the recording; the second step's are larger. */
static struct advice *three_steps(bool with_totals)
{
    struct builder b = build_start();
    totals = with_totals;
    in_use = 1000, held = 9000;
    for (int i = 0; i < 3; i++) {
        int64_t at = MS(1 + 10 * i), size = i == 1 ? 600 : 500;
        build_range(&b, "step", at, at + MS(10));
        build_range(&b, "aten::linear", at + US(10), at + US(30));
        build_range(&b, "aten::addmm", at + US(12), at + US(28));
        build_range(&b, "aten::relu", at + US(40), at + US(50));
        piece(&b, at + US(20), 100, size);
        piece(&b, at + US(45), 200, 50);
        build_kernel(&b, "gemm", at + US(20), at + US(60), MS(8));
        piece(&b, at + MS(5), 200, -50);
        piece(&b, at + MS(6), 100, -size);
        piece(&b, at + MS(7), 900 + i, -10);
    }
    return build_analyze(&b);
}

TEST(the_peak_is_found_with_its_holders)
{
    struct text line;
    const struct advice *a = three_steps(true);
    const struct allocations *m = a->facts->allocations;
    ck_assert_ptr_nonnull(m);
    ck_assert(m->whole);
    ck_assert_int_eq(m->peak_bytes, 1000 - 10 + 650);
    ck_assert_int_eq(m->held_bytes, 9000);
    ck_assert_int_eq(m->peak_ns, MS(11) + US(45));
    ck_assert_uint_eq(m->step, 1);
    ck_assert_int_eq(m->before_bytes, 990);
    ck_assert_uint_eq(m->holder_count, 2);
    ck_assert_str_eq(m->holders[0].name, "aten::linear"); /* the outermost operator */
    ck_assert_int_eq(m->holders[0].bytes, 600);
    ck_assert_str_eq(m->holders[1].name, "aten::relu");
    ck_assert_int_eq(m->holders[1].pieces, 1);
    ck_assert_str_eq(
        text_memory(&line, a),
        "1.64 KB in use at the peak, 9.00 KB held by the allocator then; 990 B from before "
        "the recording; since then the most by aten::linear: 600 B");
}

/* What the recording does not say is summed up from 0; pieces that are taken back without having been
 * given out were there before. */
TEST(without_totals_the_peak_is_a_bound)
{
    const struct allocations *m = three_steps(false)->facts->allocations;
    ck_assert(!m->whole);
    ck_assert_int_eq(m->peak_bytes, 650);
    ck_assert_int_eq(m->before_bytes, 0);
    ck_assert_int_eq(m->held_bytes, -1);
}

/* `gpuprof run --memory` notes the line that asked with the piece itself. */
TEST(a_piece_with_its_line_is_held_by_it)
{
    struct text line;
    struct builder b = build_start();
    struct row_stack frame = {.id = 7,
                              .file = build_text(&b, "/home/me/train.py"),
                              .function = build_text(&b, "forward"),
                              .line = 8};
    struct row_allocation r = {.id = 1,
                               .device = 1,
                               .thread = 1,
                               .time_ns = MS(1),
                               .bytes = 700,
                               .in_use_bytes = 700,
                               .held_bytes = -1,
                               .stack = 7};
    build_put(&b, ROW_STACK, &frame);
    build_put(&b, ROW_ALLOCATION, &r);
    build_kernel(&b, "gemm", US(20), US(60), MS(8));
    struct advice *a = build_analyze(&b);
    ck_assert_str_eq(text_memory(&line, a),
                     "700 B in use at the peak; the most by train.py:8 (forward): 700 B");
}

TEST(without_pieces_there_is_nothing)
{
    struct builder b = build_start();
    build_kernel(&b, "gemm", US(20), US(60), MS(8));
    ck_assert_ptr_null(build_analyze(&b)->facts->allocations);
}
