/* Switches that help to find errors and were left on: launches that wait for their kernel, a check
 * for NaN behind every operation, NCCL's log. */
#include "analyzer/queries/look_checks.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEAST_LAUNCHES = 20 /* to tell a habit from a chance */
};

struct debug {
    int64_t launches, waited; /* calls that launch a kernel; those that ended behind it */
    bool blocking, blocking_set;
    const char *nccl; /* NCCL_DEBUG, when it logs */
};

static void look_at_launches(const struct analysis *a, struct debug *d)
{
    const struct timeline *t = a->tl;
    for (uint32_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (o->kind != OP_KERNEL || o->api == TL_NONE || !look_used(a, i) ||
            t->apis[o->api].kind != API_LAUNCH || t->apis[o->api].ops > 1)
            continue;
        const struct api *c = &t->apis[o->api];
        d->launches++;
        d->waited += c->end_ns >= o->end_ns;
    }
}

static bool is_on(const char *value)
{
    return value && *value && strcmp(value, "0") != 0;
}

static struct debug look_at_switches(const struct analysis *a)
{
    struct debug d = {.blocking_set = is_on(timeline_meta(a->tl, "env.CUDA_LAUNCH_BLOCKING"))};
    const char *nccl = timeline_meta(a->tl, "env.NCCL_DEBUG");
    look_at_launches(a, &d);
    d.blocking = d.launches >= LEAST_LAUNCHES ? d.waited * 10 >= d.launches * 9 : d.blocking_set;
    if (nccl && (strcasestr(nccl, "INFO") || strcasestr(nccl, "TRACE")))
        d.nccl = nccl;
    return d;
}

static void blocking_evidence(struct outcome *o, const struct debug *d, int64_t idle)
{
    outcome_evidence(o, "launches that return only when their kernel has run",
                     d->launches ? 100.0 * (double)d->waited / (double)d->launches : 100, "%",
                     "SELECT a.* FROM api a JOIN kernel k ON k.process = a.process AND "
                     "k.correlation = a.correlation WHERE a.end_ns >= k.end_ns");
    outcome_evidence(o, "CUDA_LAUNCH_BLOCKING is set", d->blocking_set, "",
                     d->blocking_set ? "SELECT * FROM fact WHERE key = 'env.CUDA_LAUNCH_BLOCKING'"
                                     : NULL);
    outcome_evidence(o, "GPU idle between launches per step", ms(idle), "ms", NULL);
}

static void check_evidence(const struct analysis *a, struct outcome *o, const struct look_checks *k)
{
    const char *rows = "SELECT * FROM kernel_time WHERE name LIKE '%nan%' OR name LIKE '%finite%' "
                       "OR name LIKE '%isinf%'";
    outcome_evidence(o, "kernels that look for NaN or infinity per step",
                     (double)per_step(a, k->ops.count), "count", rows);
    outcome_evidence(o, "their GPU time per step", ms(per_step(a, k->ops.busy_ns)), "ms", rows);
    outcome_evidence(o, "GPU idle while their answers are read per step",
                     ms(per_step(a, k->read_ns)), "ms", NULL);
}

static void check(struct analysis *a, struct outcome *o)
{
    struct debug d = look_at_switches(a);
    struct look_checks k = look_checks(a);
    const int64_t *part = a->breakdown_ns;
    bool checks = k.op_marks;
    int64_t idle = d.blocking ? part[PART_IDLE_LAUNCH] + part[PART_IDLE_HOST] : 0;
    int64_t read = checks ? per_step(a, k.read_ns) : 0;
    int64_t cost = idle + read;
    if (checks)
        cost += per_step(a, k.ops.busy_ns + (d.blocking ? 0 : k.ops.idle_ns));
    o->why = arena_printf(&a->arena, "launches do not wait, %lld checks for NaN per step%s%s",
                          (long long)per_step(a, k.ops.count),
                          d.nccl ? "; NCCL_DEBUG logs (cheap after the start): " : "",
                          d.nccl ? d.nccl : "");
    if ((!d.blocking && !checks) || cost * 100 < a->steps.median_ns)
        return;
    if (d.blocking)
        blocking_evidence(o, &d, idle);
    if (checks)
        check_evidence(a, o, &k);
    o->knob = d.blocking ? "launch_blocking=0" : "check_nan=0";
    if (d.blocking && checks)
        o->knob = "launch_blocking=0;check_nan=0";
    o->edit = (struct edit){.kind = d.blocking ? EDIT_UNBLOCK : EDIT_REMOVE,
                            .op_marks = k.op_marks,
                            .call_marks = k.call_marks};
    outcome_fires(
        o, cost,
        d.blocking
            ? arena_printf(&a->arena,
                           "every launch waits for its kernel (%s): the GPU idles for %.1f ms per "
                           "step",
                           d.blocking_set ? "CUDA_LAUNCH_BLOCKING is set"
                                          : "as CUDA_LAUNCH_BLOCKING makes them",
                           ms(cost))
            : arena_printf(&a->arena, "%lld checks for NaN per step take %.1f ms",
                           (long long)per_step(a, k.ops.count), ms(cost)));
    outcome_example_op(o, a->tl, k.ops.longest, "longest check");
    look_gap_examples(a, o, d.blocking ? PART_IDLE_LAUNCH : PART_IDLE_SYNC, "GPU idle");
}

bool look_launches_block(const struct analysis *a)
{
    return look_at_switches(a).blocking;
}

const struct rule rule_debug_switches = {
    .id = "debug-switches",
    .title = "Switch debugging aids off",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check,
    .looks_for = "Launches that return only when their kernel has run, and kernels that look for "
                 "NaN or infinity behind many operations; CUDA_LAUNCH_BLOCKING and NCCL_DEBUG in "
                 "the environment.",
    .doc = "CUDA_LAUNCH_BLOCKING=1 makes the host wait for each kernel, so that an error is "
           "reported where it happens: the next launch then meets an idle GPU. Anomaly detection "
           "adds a check and a read-back to every operation. Both are for the day on which an "
           "error is looked for. NCCL's log costs at the start alone, and is named, not counted.",
    .remedy = {"unset CUDA_LAUNCH_BLOCKING; torch.autograd.set_detect_anomaly(False); no "
               "torch.isnan(x).any() per layer",
               "unset CUDA_LAUNCH_BLOCKING; tf.debugging.disable_check_numerics()",
               "unset CUDA_LAUNCH_BLOCKING; no cudaDeviceSynchronize behind launches in release "
               "builds; check for NaN every N steps"},
    .knob = "launch_blocking",
};
