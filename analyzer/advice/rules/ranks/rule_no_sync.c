/* Gradient accumulation that exchanges gradients after every part of the batch. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/ranks/comm.h"

/* The kernels of all exchanges but the last of each step, by op. NULL: no memory. */
static const bool *needless(const struct facts *f, struct arena *arena,
                            const struct query_exchange *x, size_t k)
{
    const struct timeline *t = f->tl;
    bool *marks = arena_array(arena, t->op_count + 1, sizeof *marks);
    size_t *done = arena_array(arena, f->steps.count + 1, sizeof *done);
    if (!marks || !done)
        return NULL;
    size_t gradients = 0;
    for (size_t i = 0; i < x->count; i++)
        gradients += t->collectives[x->at[i]].row.bytes >= x->least_bytes;
    for (size_t i = 0; i < t->collective_count; i++) {
        uint32_t op = t->collectives[i].op, step = op == TL_NONE ? TL_NONE : f->steps.op_step[op];
        if (step != TL_NONE && tl_op_device(t, op) == f->steps.device &&
            t->collectives[i].row.bytes >= x->least_bytes)
            marks[op] = done[step]++ < gradients - gradients / k;
    }
    return marks;
}

static void check_no_sync(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_exchange x = query_exchange(f, arena);
    size_t k = query_repeats(f, arena, &x);
    if (x.step == TL_NONE && f->totals.family_count[FAMILY_COMM] > 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: the sizes of the collectives (gpuprof run records them)";
        return;
    }
    int64_t exposed = f->breakdown_ns[PART_COMM];
    int64_t gain = exposed - exposed / (int64_t)k;
    o->why = x.step == TL_NONE ? "no collectives on this GPU"
             : k < 2           ? "ranks exchange gradients once per step"
                               : arena_printf(arena,
                                              "ranks exchange gradients %zu times per step, but computing "
                                                        "hides all except %.3f ms of that",
                                              k, ms(gain));
    if (k < 2 || gain * QUERY_WORTH < f->step_ns)
        return;
    const char *rows = "SELECT * FROM collective ORDER BY start_ns";
    outcome_evidence_per(o, "exchanges of the same gradients", (double)k, "count", rows);
    outcome_evidence_per(o, "collectives", (double)x.count, "count", rows);
    outcome_evidence_per(o, "bytes", (double)x.bytes / 1e6, "MB", rows);
    outcome_evidence_per(o, "exposed communication", ms(exposed), "ms", NULL);
    o->error_class = ERROR_STRUCTURAL;
    o->edit = (struct edit){.kind = &edit_remove, .at.op_marks = needless(f, arena, &x, k)};
    outcome_fires(
        o, gain,
        arena_printf(arena,
                     "the %zu parts of each batch exchange their gradients one by one: %.0f MB per "
                     "step, although %.0f MB after the last part would suffice",
                     k, (double)x.bytes / 1e6, (double)x.bytes / 1e6 / (double)k));
    uint32_t op = f->tl->collectives[x.at[0]].op;
    outcome_example_op(o, f->tl, op, "an exchange that could wait for the last part");
}

const struct rule rule_no_sync = {
    .id = "no-sync",
    .title = "Exchange gradients once per step",
    .needs = HAVE_KERNELS | HAVE_STEPS,
    .check = check_no_sync,
    .looks_for = "A step in which the whole sequence of collectives (names and bytes) repeats, "
                 "together with the kernels around it.",
    .doc = "If the program accumulates the gradients of several parts of a batch, the ranks need "
           "to exchange only the sum. An exchange after every part moves the same bytes again and "
           "makes the ranks wait for each other each time. Layers that communicate (tensor "
           "parallel) also repeat their messages, but not all kernels of the step with them.",
    .remedy = {.action = ACTION_EXCHANGE_ONCE},
    .tips = {{"accumulation", "Accumulate gradients, and exchange them only before the update",
              "gpuprof sees the exchanges; with one rank accumulation leaves no trace"}},
};
