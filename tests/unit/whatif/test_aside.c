/* A loader's thread that copies batches to the GPU and waits for these copies itself. These waits
 * do not end a step, and their present length does not limit how fast a step can become. */
#include "analyzer/measure/launched.h"
#include "tests/unit/replay_steps.h"
#include "tests/unit/rule_case.h"

static bool waits; /* the loader, for its copies */
static int64_t event_of_copies;

/* 9 ms of products in FP32 in steps of 10 ms; beside them a copy that takes until 3 to 14 ms behind the
 * step's begin, in a stream of the loader's. */
static void fill_loader(struct builder *b, int64_t at)
{
    int64_t step = (at - MS(100)) / MS(10), until = MS(3) + MS(11) * (step % 4) / 4;
    for (int i = 0; i < 9; i++)
        build_kernel(b, "ampere_sgemm_128x64_nn", at + US(10) * i, at + US(200) + MS(1) * i,
                     US(998));
    build_sync(b, at + US(100), MS(9.2));
    b->thread = b->stream = 2;
    build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 1 << 20, at + US(1),
               waits ? until : US(5), at + until - MS(1), MS(1));
    if (event_of_copies && at > MS(100)) {
        struct row_sync r = {.id = ++b->next_id,
                             .process = 1,
                             .start_ns = at + US(20),
                             .end_ns = at + US(20),
                             .type = SYNC_STREAM_WAIT_EVENT,
                             .stream = 1,
                             .event = event_of_copies,
                             .event_sync = -1};
        struct row_event e = {.id = ++b->next_id, .process = 1, .stream = 2};
        e.correlation = build_api(b, "cudaEventRecord", at + MS(3), US(1));
        e.event = event_of_copies;
        build_put(b, ROW_SYNC, &r);
        build_put(b, ROW_EVENT, &e);
    }
    b->thread = b->stream = 1;
}

static bool aside(bool loader_waits, int64_t event)
{
    waits = loader_waits;
    event_of_copies = event;
    struct bench x = bench_start(MS(10), fill_loader);
    bool *of = launched_aside(x.b.t);
    ck_assert_ptr_nonnull(of);
    bool any = of[0] || of[1];
    free(of);
    return any;
}

TEST(copies_that_a_loader_waits_for_end_no_step)
{
    waits = true;
    event_of_copies = 0;
    struct bench x = bench_start(MS(10), fill_loader);
    const struct facts *f = x.b.a->facts;
    for (size_t i = 1; i + 1 < f->steps.count; i++)
        ck_assert_int_eq(f->steps.at[i].length_ns, MS(10));
    const struct outcome *o = case_outcome(x.b.a, "tensor-cores");
    ck_assert(o->verdict == RULE_FIRES && !o->upper_bound);
    ck_assert_int_gt(o->saves_mid_ns, MS(5)); /* though the loader's calls fill the steps */
}

TEST(other_copies_are_of_the_program)
{
    ck_assert(aside(true, 0));
    ck_assert(!aside(false, 0)); /* it goes on: the copies have their order on the GPU */
    ck_assert(!aside(true, 7));  /* the program's stream waits for them */
}
