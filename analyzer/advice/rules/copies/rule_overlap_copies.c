/* Fires if the GPU or the host waits for copies from pinned memory that could run beside
 * computing. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/query.h"

/* Chooses the change, and what gpuprof can try of it. PyTorch copies in the stream that computes;
 * without non_blocking=True the host waits for each copy as well, so that comes first. A side
 * stream does not help if the GPU idles because the host spends its time in copy calls. */
static void advise(const struct facts *f, struct outcome *o, bool in_calls)
{
    o->edit.kind = &edit_overlap;
    if (!query_of_pytorch(f))
        return;
    o->edit.overlap.in_stream = query_h2d_waited(f, MEMORY_PINNED);
    o->remedy.action = o->edit.overlap.in_stream ? ACTION_COPY_WITHOUT_WAITING
                       : in_calls                ? ACTION_JOIN_COPIES
                                                 : ACTION_COPY_AHEAD;
}

/* Returns true if steps alternate between several streams (judged by the longest kernel of each
 * step): then the copy of one step does not wait for a kernel of the step before. */
static bool takes_turns(const struct facts *f, struct arena *arena)
{
    int64_t *longest = arena_array(arena, f->steps.count + 1, sizeof *longest);
    uint32_t *stream = arena_array(arena, f->steps.count + 1, sizeof *stream);
    size_t pairs = 0, turns = 0;
    for (size_t i = 0; longest && stream && i < f->tl->op_count; i++) {
        const struct op *op = &f->tl->ops[i];
        uint32_t step = f->steps.op_step[i];
        if (op->kind == OP_KERNEL && query_used(f, (uint32_t)i) &&
            op->end_ns - op->start_ns > longest[step]) {
            longest[step] = op->end_ns - op->start_ns;
            stream[step] = op->stream;
        }
    }
    for (size_t i = 1; longest && stream && i < f->steps.count; i++)
        if (longest[i] > 0 && longest[i - 1] > 0) {
            pairs++;
            turns += stream[i] != stream[i - 1];
        }
    return pairs > 1 && turns * 100 >= pairs * QUERY_ALMOST_PCT;
}

static void add_evidence(const struct facts *f, struct outcome *o, const struct query_copies *c,
                         int64_t copying)
{
    const char *rows =
        "SELECT * FROM copy WHERE kind = 1 AND src_kind = 2 ORDER BY end_ns - start_ns DESC";
    outcome_evidence_per(o, "pinned H2D copies", (double)c->count / (double)f->steps.used, "count",
                         rows);
    outcome_evidence_per(o, "time copying", ms(per_step(f, c->total_ns)), "ms", rows);
    outcome_evidence(o, "of that, exposed (no kernel runs)", ms(copying), "ms", rows);
    outcome_evidence_per(o, "GPU idle while the host waits for copies", ms(c->idle_ns), "ms", NULL);
    if (c->total_ns > 0)
        outcome_evidence(o, "rate", (double)c->bytes / (double)c->total_ns, "GB/s", rows);
}

/* These bytes may be other buffers of the same size, or results of the step before: that cannot be
 * decided. */
static void doubt_size(struct outcome *o, double back_pct)
{
    o->edit = (struct edit){.kind = NULL};
    o->error_class = ERROR_RERUN_DECIDES;
    outcome_evidence(o, "share of these bytes whose size is copied back as well", back_pct, "%",
                     NULL);
}

static void check_overlap_copies(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_copies c = query_h2d(f, MEMORY_PINNED);
    int64_t copying = query_exposed(f, &c), exposed = copying + c.idle_ns;
    int64_t beside = f->breakdown_ns[PART_COMPUTE] + f->breakdown_ns[PART_COMM];
    int64_t gain = (copying < beside ? copying : beside) + c.idle_ns;
    if (c.count == 0) {
        o->why = "no host-to-device copy reads pinned memory";
        return;
    }
    if (analysis_of_window(f) && c.count < RULES_SEVERAL_COPIES) {
        o->why = "all other work may wait for the few pinned copies";
        return;
    }
    o->why = arena_printf(arena, "pinned copies are exposed for %.3f ms %s", ms(exposed),
                          scope_words(f)->per);
    if (exposed * QUERY_WORTH < f->step_ns)
        return;
    if (c.idle_ns * QUERY_SOME <= exposed && takes_turns(f, arena)) {
        o->verdict = RULE_SUPPRESSED;
        o->why =
            "steps take turns in several streams, so a copy need not wait for the step before; "
            "it is exposed because the GPU has no other work then";
        return;
    }
    size_t sizes;
    double back = query_comes_back_pct(f, &sizes);
    if (back > 50 && sizes > 1) {
        o->verdict = RULE_SUPPRESSED;
        o->why = arena_printf(
            arena,
            "by their sizes, %.0f %% of the bytes copied to the GPU came from it in the previous "
            "step, so the program cannot copy them ahead of time (see copy-volume)",
            back);
        return;
    }
    add_evidence(f, o, &c, copying);
    advise(f, o, c.idle_ns > copying);
    if (back > 50)
        doubt_size(o, back);
    if (beside < copying)
        outcome_evidence_per(o, "time that they could overlap with,", ms(beside), "ms", NULL);
    outcome_fires(
        o, gain,
        arena_printf(arena,
                     "the GPU computes nothing for %s %s while copies from pinned memory run%s",
                     time_text(arena, exposed), scope_words(f)->per,
                     c.idle_ns * QUERY_SOME > exposed ? " or hold up the host" : ""));
    outcome_example_op(o, f->tl, c.longest, "longest exposed copy");
    outcome_example_gaps(o, f, PART_IDLE_COPY, "GPU idle, host waits for a copy");
}

const struct rule rule_overlap_copies = {
    .id = "overlap-copies",
    .title = "Copy the next batch while the current one computes",
    .needs = HAVE_COPIES | HAVE_MEMORY_KINDS | HAVE_STEPS,
    .check = check_overlap_copies,
    .in_window = true,
    .window_title = "Copy while the GPU computes",
    .looks_for = "Pinned H2D copies that overlap with no compute kernel, and the time for which "
                 "they block the host.",
    .doc = "A copy on the compute stream, or one that the host waits for, stops the GPU for its "
           "whole length. On a separate stream, one batch ahead, it overlaps with the kernels, "
           "because the copy engines are separate hardware. This needs pinned memory. gpuprof does "
           "not advise it if most of the data are results of the previous step (offloaded "
           "weights), which do not exist before that step has ended.",
    .remedy = {.action = ACTION_OVERLAP_COPIES, .object.kind = OBJECT_COPY},
    .tips = {{"overlap-copies", "Copy without blocking, on a separate stream, one batch ahead",
              NULL}},
};
