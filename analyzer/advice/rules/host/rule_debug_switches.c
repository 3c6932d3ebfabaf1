/* Fires if debugging aids were left on: launches that wait for their kernel, a check for NaN behind
 * every operation, a value in each new tensor, NCCL's log. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/training/checks.h"
#include "wire/fact_keys.h"

#include <stdlib.h>
#include <string.h>

struct debug {
    struct query_launches of;
    const char *nccl; /* value of NCCL_DEBUG if it makes NCCL log; else NULL */
};

static struct debug find_switches(const struct facts *f)
{
    struct debug d = {.of = query_launches(f)};
    const char *nccl = timeline_meta(f->tl, "env.NCCL_DEBUG");
    if (nccl && (strcasestr(nccl, "INFO") || strcasestr(nccl, "TRACE")))
        d.nccl = nccl;
    return d;
}

static void blocking_evidence(struct outcome *o, const struct debug *d, int64_t idle)
{
    outcome_evidence(o, "launches that return only after their kernel has run",
                     d->of.launches ? 100.0 * (double)d->of.waited / (double)d->of.launches : 100,
                     "%",
                     "SELECT a.* FROM api a JOIN kernel k ON k.process = a.process AND "
                     "k.correlation = a.correlation WHERE a.end_ns >= k.end_ns");
    outcome_evidence(o, "CUDA_LAUNCH_BLOCKING is set", d->of.set, "",
                     d->of.set ? "SELECT * FROM fact WHERE key = 'env.CUDA_LAUNCH_BLOCKING'"
                               : NULL);
    outcome_evidence_per(o, "GPU idle while the host launches or does other work,", ms(idle), "ms",
                         NULL);
}

static void check_evidence(const struct facts *f, struct outcome *o, const struct query_checks *k)
{
    const char *rows = "SELECT * FROM kernel_time WHERE name LIKE '%nan%' OR name LIKE '%finite%' "
                       "OR name LIKE '%isinf%' OR name LIKE '%CompareEq%'";
    outcome_evidence_per(o, "kernels that look for NaN or infinity",
                         (double)each_step(f, k->ops.count), "count", rows);
    outcome_evidence_per(o, "their GPU time", ms(per_step(f, k->ops.busy_ns)), "ms", rows);
    outcome_evidence_per(o, "GPU idle while the host reads their results,",
                         ms(per_step(f, k->read_ns)), "ms", NULL);
}

static const char *check_summary(const struct facts *f, struct arena *arena,
                                 const struct query_checks *k, int64_t cost)
{
    const char *where = timeline_meta(f->tl, FACT_TORCH_ANOMALY_MODE_WHERE);
    if (k->anomaly)
        return arena_printf(
            arena,
            "anomaly detection is on%s%s: behind each function of the backward pass "
            "the GPU looks for NaN and the host waits for the answer, %s %s",
            where ? ", set at " : "", where ? where : "", time_text(arena, cost),
            scope_words(f)->per);
    return arena_printf(arena, "%lld checks for NaN %s take %s",
                        (long long)each_step(f, k->ops.count), scope_words(f)->per,
                        time_text(arena, cost));
}

static void fire(const struct facts *f, struct arena *arena, struct outcome *o,
                 const struct debug *d, const struct query_checks *k, int64_t cost)
{
    o->edit = (struct edit){.kind = d->of.block ? &edit_unblock : &edit_remove,
                            .at = {.op_marks = k->op_marks, .call_marks = k->call_marks}};
    if (k->anomaly && !d->of.block) {
        o->remedy.action = ACTION_STOP_ANOMALY_DETECTION;
        o->remedy.object.place = timeline_meta(f->tl, FACT_TORCH_ANOMALY_MODE_WHERE);
    }
    outcome_fires(o, cost,
                  d->of.block
                      ? arena_printf(arena,
                                     "every launch waits for its kernel (%s): the GPU idles "
                                     "for %s %s",
                                     d->of.set ? "CUDA_LAUNCH_BLOCKING is set"
                                               : "as with CUDA_LAUNCH_BLOCKING=1",
                                     time_text(arena, cost), scope_words(f)->per)
                      : check_summary(f, arena, k, cost));
    outcome_example_op(o, f->tl, k->ops.longest, "longest check");
    outcome_example_gaps(o, f, d->of.block ? PART_IDLE_LAUNCH : PART_IDLE_SYNC, "GPU idle");
}

/* Takes fills outside zero_grad(). In deterministic mode PyTorch fills all memory that it hands out,
 * so that an operation that reads it unwritten reads the same in each run. Fills that the program
 * itself asks for look the same. */
static enum query_take fills_new(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    bool fills = o->kind == OP_KERNEL && o->class.family == FAMILY_FILL && !o->class.fused;
    return fills && query_is_zeroing(f, op) == QUERY_NO ? QUERY_ALL : QUERY_NO;
}

static bool is_new_fill(const struct facts *f, uint32_t op)
{
    return fills_new(f, op) != QUERY_NO;
}

static void check_fills(const struct facts *f, struct arena *arena, struct outcome *o)
{
    const char *mode = timeline_meta(f->tl, FACT_TORCH_FILLS_NEW);
    struct query_ops fills = query_ops(f, fills_new);
    int64_t cost = per_step(f, fills.busy_ns + fills.idle_ns);
    if (!mode || strcmp(mode, "True") != 0 || cost * QUERY_WORTH < f->step_ns)
        return;
    const char *where = timeline_meta(f->tl, FACT_TORCH_FILLS_NEW_WHERE);
    long long count = (long long)each_step(f, fills.count);
    outcome_evidence_per(o, "kernels that fill a tensor with one value", (double)count, "count",
                         "SELECT * FROM kernel_time WHERE name LIKE '%FillFunctor%'");
    outcome_evidence_per(o, "their GPU time", ms(per_step(f, fills.busy_ns)), "ms", NULL);
    o->title = "Do not fill new tensors before they are written";
    o->edit = (struct edit){.kind = &edit_remove, .at.ops = is_new_fill};
    o->remedy.action = ACTION_KEEP_NEW_UNFILLED;
    o->remedy.object.place = where;
    outcome_fires(
        o, cost,
        arena_printf(arena,
                     "deterministic mode%s%s%s fills each new tensor before it is written: "
                     "up to %lld fills %s, %s",
                     where ? ", set at " : "", where ? where : "", where ? "," : "", count,
                     scope_words(f)->per, time_text(arena, cost)));
    outcome_example_op(o, f->tl, fills.longest, "longest fill");
}

/* Without a GPU the mode costs time within the passes, and none of it is recorded apart. */
static void check_on_cpu(const struct facts *f, struct arena *arena, struct outcome *o)
{
    const char *mode = timeline_meta(f->tl, FACT_TORCH_ANOMALY_MODE);
    const char *where = timeline_meta(f->tl, FACT_TORCH_ANOMALY_MODE_WHERE);
    int64_t passes_ns = f->breakdown_ns[PART_FORWARD] + f->breakdown_ns[PART_BACKWARD];
    o->why = "PyTorch's anomaly detection is off";
    if (!mode) {
        o->verdict = RULE_CANNOT_TELL;
        o->why =
            "not recorded: whether PyTorch's anomaly detection is on (gpuprof run records it at "
            "an optimizer's first step)";
        return;
    }
    if (strcmp(mode, "True") != 0)
        return;
    outcome_evidence_per(o, "forward and backward pass with anomaly detection", ms(passes_ns), "ms",
                         "SELECT * FROM fact WHERE key = 'torch.anomaly_mode'");
    o->remedy.action = ACTION_STOP_ANOMALY_DETECTION;
    o->remedy.object.place = where;
    o->error_class = ERROR_RERUN_DECIDES;
    outcome_fires(o, passes_ns,
                  arena_printf(arena,
                               "anomaly detection is on%s%s: each function of the forward pass "
                               "keeps the Python stack that called it, and each of the backward "
                               "pass looks for NaN; the two passes take %s %s",
                               where ? ", set at " : "", where ? where : "",
                               time_text(arena, passes_ns), scope_words(f)->per));
}

static void check_debug_switches(const struct facts *f, struct arena *arena, struct outcome *o)
{
    if (f->on_cpu) {
        check_on_cpu(f, arena, o);
        return;
    }
    struct debug d = find_switches(f);
    struct query_checks k = query_checks(f, arena);
    const int64_t *part = f->breakdown_ns;
    bool checks = k.op_marks;
    int64_t idle = d.of.block ? part[PART_IDLE_LAUNCH] + part[PART_IDLE_HOST] : 0;
    int64_t read = checks ? per_step(f, k.read_ns) : 0;
    int64_t cost = idle + read;
    if (checks)
        cost += per_step(f, k.ops.busy_ns + (d.of.block ? 0 : k.ops.idle_ns));
    o->why = arena_printf(arena, "launches do not wait, %lld checks for NaN %s%s%s",
                          (long long)each_step(f, k.ops.count), scope_words(f)->per,
                          d.nccl ? "; NCCL_DEBUG logs (cheap after the start): " : "",
                          d.nccl ? d.nccl : "");
    if (d.of.untold && !checks) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: CUDA_LAUNCH_BLOCKING (gpuprof run records it). Launches end behind "
                 "their kernels, but all of these take under 10 us, as slow launches do";
        return;
    }
    if (!d.of.block && !checks)
        check_fills(f, arena, o);
    if ((!d.of.block && !checks) || cost * QUERY_WORTH < f->step_ns)
        return;
    if (d.of.block)
        blocking_evidence(o, &d, idle);
    if (checks)
        check_evidence(f, o, &k);
    fire(f, arena, o, &d, &k, cost);
}

const struct rule rule_debug_switches = {
    .id = "debug-switches",
    .title = "Switch debugging aids off",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_debug_switches,
    .asks_cpu = true,
    .in_window = true,
    .looks_for =
        "Launches that return only after their kernel has run, kernels that look for NaN "
        "or infinity after many operations, those of PyTorch's anomaly detection among "
        "them, fills of new tensors in PyTorch's deterministic mode, and CUDA_LAUNCH_BLOCKING "
        "and NCCL_DEBUG in the environment. On a CPU: anomaly mode alone.",
    .doc = "CUDA_LAUNCH_BLOCKING=1 makes the host wait for each kernel, so that CUDA reports an "
           "error where it happens; the next launch then finds an idle GPU. Anomaly detection adds "
           "a check and a read-back to every operation. Deterministic mode also fills all memory "
           "that PyTorch "
           "hands out, which reproducible results need only where an operation reads memory that "
           "none has written. All are tools for finding an error, not "
           "for training. NCCL's log costs time only at the start, so gpuprof names it but does "
           "not count it.",
    .remedy = {.action = ACTION_SWITCH_DEBUGGING_OFF},
    .tips = {{"debug-off", "Switch debugging aids off (blocking launches, anomaly checks, logs)",
              NULL}},
};
