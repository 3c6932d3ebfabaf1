/* Measures what a range and a call cost on this machine, and writes it into the spool as META
 * records. */
#include "agent/core/cost.h"

#include "agent/core/clock.h"
#include "agent/core/ranges.h"

enum { ROUNDS = 256, TURNS = 4 };

/* Begins and ends a range without committing its record, so that the collector never sees it. */

static void range(struct thread *t)
{
    struct open_range r = {.name = strings_id(t, "cost.range_ns")};
    ranges_push(t, &r);
    t->block->depth--;
    struct spool_rec_range *rec = ring_reserve(t, SPOOL_REC_RANGE, sizeof *rec);
    if (rec) {
        rec->head.end_ns = clock_now_ns();
        rec->name = r.name;
    }
    t->pending = t->head;
}

static void call(struct thread *t)
{
    int64_t start = clock_now_ns();
    int64_t end = clock_now_ns();
    uint32_t name = strings_id(t, "cost.call_ns");
    struct spool_rec_call *rec = ring_reserve(t, SPOOL_REC_CALL, sizeof *rec);
    if (rec) {
        rec->head.start_ns = start;
        rec->head.end_ns = end;
        rec->function = name;
    }
    t->pending = t->head;
}

static int64_t best_ns(struct thread *t, void (*one)(struct thread *))
{
    int64_t best = INT64_MAX;
    for (int turn = 0; turn < TURNS; turn++) {
        int64_t start = clock_now_ns();
        for (int i = 0; i < ROUNDS; i++)
            one(t);
        int64_t ns = (clock_now_ns() - start) / ROUNDS;
        best = ns < best ? ns : best;
    }
    return best;
}

void cost_measure(struct thread *t)
{
    about_meta_number(t, "cost.range_ns", best_ns(t, range));
    about_meta_number(t, "cost.call_ns", best_ns(t, call));
}
