/* Fires if each step begins with broadcasts of buffers (running statistics) from rank 0. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/ranks/comm.h"
#include "wire/fact_keys.h"

#include <stdlib.h>

struct found {
    bool *marks;              /* by operation: broadcasts at the start, and the copies around
                                 them */
    size_t broadcasts;        /* in used steps */
    size_t steps;             /* steps with such broadcasts */
    bool reduces;             /* the program also exchanges gradients */
    int64_t bytes;            /* of the broadcasts; 0 = not recorded */
    int64_t other_ns, own_ns; /* time of the gradients' exchange, and of the broadcasts */
    int64_t other_bytes;
};

static bool computes(const struct op *o)
{
    return o->kind == OP_KERNEL && o->class.family != FAMILY_COMM && o->class.family != FAMILY_COPY;
}

static void add_bytes(const struct facts *f, struct found *x)
{
    for (size_t i = 0; i < f->tl->collective_count; i++) {
        const struct collective *c = &f->tl->collectives[i];
        if (c->op == TL_NONE || c->row.bytes <= 0 || !query_used(f, c->op))
            continue;
        if (x->marks[c->op])
            x->bytes += c->row.bytes;
        else
            x->other_bytes += c->row.bytes;
    }
}

/* Returns true near the start of a step, by how much of its computing is done. */
static bool is_early(const struct facts *f, int64_t computed_ns)
{
    return computed_ns * RULES_EARLY < f->breakdown_ns[PART_COMPUTE];
}

/* Marks broadcasts before much of the step's computing is done, and the copies that fill their
 * buffers. Returns false without memory. */
static bool find_broadcasts(const struct facts *f, struct arena *arena, struct found *x)
{
    const struct timeline *t = f->tl;
    uint32_t step = TL_NONE, with = TL_NONE;
    int64_t computed = 0;
    x->marks = arena_array(arena, t->op_count + 1, sizeof *x->marks);
    if (!x->marks)
        return false;
    for (uint32_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        int64_t ns = o->end_ns - o->start_ns;
        x->marks[i] = false;
        if (!query_used(f, i))
            continue;
        if (f->steps.op_step[i] != step) {
            step = f->steps.op_step[i];
            computed = 0;
        }
        computed += computes(o) ? ns : 0;
        bool early = is_early(f, computed);
        if (o->kind == OP_KERNEL && o->class.family == FAMILY_COMM) {
            x->marks[i] = early && query_is_broadcast(f, i);
            x->broadcasts += x->marks[i];
            x->reduces = x->reduces || !x->marks[i];
            *(x->marks[i] ? &x->own_ns : &x->other_ns) += ns;
            x->steps += x->marks[i] && step != with;
            with = x->marks[i] ? step : with;
        } else if (early) {
            x->marks[i] = query_fills_buffer(f, i);
        }
    }
    add_bytes(f, x);
    return true;
}

static enum query_take is_marked(const struct facts *f, uint32_t op, const void *marks)
{
    (void)f;
    return ((const bool *)marks)[op] ? QUERY_ALL : QUERY_NO;
}

/* Returns true if the hook recorded how large DDP's buffers are, and no more than that was sent.
 * (Buffers can be larger than the gradients, for example causal masks.) */
static bool fits_ddp_buffers(const struct facts *f, const struct found *x)
{
    const char *bytes = timeline_meta(f->tl, FACT_TORCH_DDP_BUFFERS);
    return bytes && x->bytes &&
           (double)per_step(f, x->bytes) <= RULES_SAME_BYTES * strtod(bytes, NULL);
}

/* Returns true if the broadcasts are small. Broadcasts of weights are no buffers: they are as large
 * as the gradients. */
static bool small(const struct facts *f, const struct found *x)
{
    if (fits_ddp_buffers(f, x))
        return true;
    if (x->bytes && x->other_bytes)
        return x->bytes * RULES_SMALL_PART < x->other_bytes;
    return x->own_ns * RULES_SMALL_PART < x->other_ns;
}

static void check_broadcast_buffers(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct found x = {0};
    if (f->totals.family_count[FAMILY_COMM] == 0 || !find_broadcasts(f, arena, &x)) {
        o->why = "no collectives on this GPU";
        return;
    }
    struct query_ops ops = query_ops_of(f, is_marked, x.marks);
    int64_t gain = per_step(f, ops.busy_ns + ops.idle_ns);
    o->why = arena_printf(arena, "broadcasts at the start of the step take %.3f ms", ms(gain));
    if (!x.reduces || x.steps * 100 < f->steps.used * QUERY_ALMOST_PCT ||
        query_replicated(f, arena) || !small(f, &x) || gain * QUERY_WORTH < f->steps.median_ns)
        return;
    outcome_evidence_per(
        o, "broadcasts at the start of a step,", (double)x.broadcasts / (double)f->steps.used,
        "count",
        "SELECT name, calls, total_ms FROM kernel_time WHERE name LIKE '%roadcast%' "
        "UNION ALL SELECT name, ranges, total_ms FROM range_time WHERE name LIKE "
        "'%roadcast%'");
    if (x.bytes)
        outcome_evidence_per(
            o, "bytes that they move", (double)per_step(f, x.bytes) / 1e6, "MB",
            "SELECT * FROM collective WHERE name IN (SELECT id FROM string WHERE text "
            "LIKE '%roadcast%')");
    outcome_evidence_per(o, "copies into and out of the send buffers,",
                         (double)(ops.count - (int64_t)x.broadcasts) / (double)f->steps.used,
                         "count", NULL);
    outcome_evidence_per(o, "GPU time of broadcasts and copies", ms(per_step(f, ops.busy_ns)), "ms",
                         NULL);
    outcome_evidence_per(o, "GPU idle until their launch,", ms(per_step(f, ops.idle_ns)), "ms",
                         NULL);
    o->error_class = ERROR_STRUCTURAL;
    o->edit = (struct edit){.kind = &edit_remove, .at.op_marks = x.marks};
    outcome_fires(o, gain,
                  arena_printf(arena,
                               "each step begins with %.0f broadcast%s of buffers and copies "
                               "around them: %s before any computing",
                               (double)x.broadcasts / (double)f->steps.used,
                               x.broadcasts == f->steps.used ? "" : "s", time_text(arena, gain)));
    outcome_example_op(o, f->tl, ops.longest, "longest broadcast or copy");
}

const struct rule rule_broadcast_buffers = {
    .id = "broadcast-buffers",
    .title = "Do not broadcast buffers in every step",
    .needs = HAVE_KERNELS | HAVE_STEPS,
    .check = check_broadcast_buffers,
    .program = {.line = FACT_TORCH_DDP_WHERE, .now = FACT_TORCH_DDP},
    .looks_for =
        "Broadcasts before the computing of each step that also exchanges gradients: small "
        "ones, or as many bytes as the buffers of DDP have; and copies around them.",
    .doc = "Before each forward pass DistributedDataParallel sends the buffers of rank 0 (running "
           "means and variances of batch normalisation) to all ranks: it packs them, sends them "
           "and copies them back one by one, and all ranks synchronise once more. Training does "
           "not read these buffers. Ranks that keep their own buffers evaluate slightly "
           "differently; one broadcast before evaluating or saving fixes this. The saving is "
           "small, mostly 1 to 2 %. Synchronised batch normalisation needs no such broadcast.",
    .remedy = {.action = ACTION_KEEP_OWN_BUFFERS},
    .tips = {{"own-buffers", "Let each rank keep its own running statistics", NULL}},
};
