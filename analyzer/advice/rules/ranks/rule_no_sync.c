/* Fires if gradient accumulation exchanges the gradients after every part of the batch. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/ranks/comm.h"
#include "wire/fact_keys.h"

#include <string.h>

/* What one exchange per step makes needless: all collectives but the last round, the kernels that
 * pack gradients into buckets (dividing them by the number of ranks), and the copies back. */
struct needless {
    const bool *marks; /* by operation; NULL: no memory */
    int64_t packing_ns;
};

/* Exchanges of one step, launched by one thread. */
struct exchanges {
    int64_t last_needless_ns, first_needed_ns; /* 0: none was seen */
    uint32_t thread;
};

static bool divides(const struct timeline *t, const struct op *o)
{
    const char *name = o->kind == OP_KERNEL ? tl_text(t, o->full_name) : "";
    return strstr(name, "UnaryFunctor") && (strstr(name, "Mul") || strstr(name, "Div"));
}

static bool packs(const struct facts *f, uint32_t op, const struct exchanges *x)
{
    const struct op *o = &f->tl->ops[op];
    if (o->api == TL_NONE || f->tl->apis[o->api].thread != x->thread)
        return false;
    int64_t launched = f->tl->apis[o->api].start_ns;
    /* copies back, behind the last collective */
    if (o->kind == OP_COPY && o->copy_kind == COPY_D2D)
        return launched < x->first_needed_ns;
    return launched < x->last_needless_ns && divides(f->tl, o);
}

static void mark_packing(const struct facts *f, const struct exchanges *of, bool *marks,
                         struct needless *n)
{
    for (uint32_t i = 0; i < f->tl->op_count; i++) {
        uint32_t step = f->steps.op_step[i];
        if (!query_used(f, i) || marks[i] || !of[step].last_needless_ns || !packs(f, i, &of[step]))
            continue;
        marks[i] = true;
        n->packing_ns += f->tl->ops[i].end_ns - f->tl->ops[i].start_ns;
    }
}

/* Marks, in each step, all collectives of gradients but those of the last of k rounds, and their
 * packing. */
static struct needless needless(const struct facts *f, struct arena *arena,
                                const struct query_exchange *x, size_t k)
{
    const struct timeline *t = f->tl;
    struct needless n = {arena_array(arena, t->op_count + 1, sizeof(bool)), 0};
    bool *marks = (bool *)n.marks;
    size_t *done = arena_array(arena, f->steps.count + 1, sizeof *done);
    struct exchanges *of = arena_array(arena, f->steps.count + 1, sizeof *of);
    if (!marks || !done || !of)
        return (struct needless){NULL, 0};
    size_t gradients = 0;
    for (size_t i = 0; i < x->count; i++)
        gradients += t->collectives[x->at[i]].row.bytes >= x->least_bytes;
    for (size_t i = 0; i < t->collective_count; i++) {
        const struct collective *c = &t->collectives[i];
        uint32_t op = c->op, step = op == TL_NONE ? TL_NONE : f->steps.op_step[op];
        if (step == TL_NONE || tl_op_device(t, op) != f->steps.device ||
            c->row.bytes < x->least_bytes)
            continue;
        struct exchanges *s = &of[step];
        marks[op] = done[step]++ < gradients - gradients / k;
        s->thread = c->thread;
        if (marks[op])
            s->last_needless_ns = c->row.start_ns;
        else if (!s->first_needed_ns)
            s->first_needed_ns = c->row.start_ns;
    }
    mark_packing(f, of, marks, &n);
    return n;
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
    struct needless n = k > 1 ? needless(f, arena, &x, k) : (struct needless){NULL, 0};
    int64_t packing = per_step(f, n.packing_ns);
    int64_t gain = exposed - exposed / (int64_t)k + packing;
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
    outcome_evidence_per(o, "divisions and copies of gradients that go with the needless ones",
                         ms(packing), "ms", NULL);
    o->error_class = ERROR_STRUCTURAL;
    o->edit = (struct edit){.kind = &edit_remove, .at.op_marks = n.marks};
    o->remedy.conditions[CONDITION_NO_SYNC_USED] = timeline_meta(f->tl, FACT_TORCH_DDP_NO_SYNC);
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
    .program = {.line = FACT_TORCH_DDP_WHERE},
    .doc = "If the program accumulates the gradients of several parts of a batch, the ranks need "
           "to exchange only the sum. An exchange after every part moves the same bytes again and "
           "makes the ranks wait for each other each time; before it all gradients are "
           "divided and packed into buckets, and behind it copied back. Layers that communicate "
           "(tensor "
           "parallel) also repeat their messages, but not all kernels of the step with them.",
    .remedy = {.action = ACTION_EXCHANGE_ONCE},
    .tips = {{"accumulation", "Accumulate gradients, and exchange them only before the update",
              "gpuprof sees the exchanges; with one rank accumulation leaves no trace"}},
};
