/* Checks that the facts agree with each other. Every report calls this, and none prints numbers
 * that contradict each other. Cost: one pass over the operations. */
#include "analyzer/facts/passes.h"
#include "analyzer/facts/limits.h"

#include <stdlib.h>

static const char *check_parts(struct facts *f)
{
    int64_t sum = 0;
    for (int p = 0; p < PART_COUNT; p++) {
        sum += f->breakdown_ns[p];
        if (f->breakdown_ns[p] < 0)
            return arena_printf(&f->arena, "a step's part '%s' is negative", part_key[p]);
    }
    if (f->steps.used && sum != f->step_ns)
        return arena_printf(&f->arena,
                            "the parts of a step sum to %.3f ms, but the step takes %.3f ms",
                            (double)sum / 1e6, (double)f->step_ns / 1e6);
    return NULL;
}

/* Fills busy[] with the time that each stream works for used steps; `until` is scratch space.
 * Overlapping operations count once; operations are sorted by start. */
static void stream_times(const struct facts *f, int64_t *busy, int64_t *until)
{
    const struct timeline *t = f->tl;
    for (size_t i = 0; i < t->stream_count; i++)
        until[i] = INT64_MIN;
    for (uint32_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        uint32_t k = f->steps.op_step[i];
        if (k == TL_NONE || !f->steps.at[k].used || tl_op_device(t, i) != f->steps.device)
            continue;
        int64_t from = o->start_ns > until[o->stream] ? o->start_ns : until[o->stream];
        if (o->end_ns <= from)
            continue;
        busy[o->stream] += o->end_ns - from;
        until[o->stream] = o->end_ns;
    }
}

static const char *check_streams(struct facts *f)
{
    const struct timeline *t = f->tl;
    int64_t *busy = calloc(2 * t->stream_count + 1, sizeof *busy), most = 0;
    if (busy)
        stream_times(f, busy, busy + t->stream_count);
    for (size_t i = 0; busy && i < t->stream_count; i++)
        most = busy[i] > most ? busy[i] : most;
    free(busy);
    int64_t each = facts_per_step(f, most), used = (int64_t)f->steps.used;
    if (used && each > f->step_ns + f->step_ns * FACTS_SPARE_PCT / 100 + f->step_ns / used)
        return arena_printf(&f->arena, "one stream works for %.3f ms per step of %.3f ms",
                            (double)each / 1e6, (double)f->step_ns / 1e6);
    return NULL;
}

void facts_check(struct facts *f)
{
    f->contradiction = check_parts(f);
    if (!f->contradiction && f->steps.source != STEPS_NONE)
        f->contradiction = check_streams(f);
}
