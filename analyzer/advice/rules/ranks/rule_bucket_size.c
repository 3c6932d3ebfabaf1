/* Gradients travel in messages that are too small, or all in one. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/ranks/comm.h"

static const char rows[] = "SELECT c.*, k.end_ns - k.start_ns AS kernel_ns FROM collective c LEFT "
                           "JOIN kernel k ON k.id = c.kernel ORDER BY c.start_ns";

static void add_evidence(struct outcome *o, const struct query_exchange *x, int64_t exposed,
                         int64_t launching)
{
    outcome_evidence(o, "collectives per step", (double)x->count, "count", rows);
    outcome_evidence(o, "bytes per step", (double)x->bytes / 1e6, "MB", rows);
    outcome_evidence(o, "largest", (double)x->largest_bytes / 1e6, "MB", rows);
    outcome_evidence(o, "shortest collective, however small", ms(x->fastest_ns) * 1000, "us", rows);
    outcome_evidence(o, "transfer per step, each at the best seen for its size", ms(x->transfer_ns),
                     "ms", rows);
    outcome_evidence(o, "communication with no compute beside it per step", ms(exposed), "ms",
                     NULL);
    if (launching > 0)
        outcome_evidence(o, "GPU idle before them until each was launched, per step", ms(launching),
                         "ms", NULL);
}

static void check_bucket_size(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_exchange x = query_exchange(f, arena);
    enum query_buckets fault = query_buckets(f, &x);
    struct query_ops all;
    bool scattered = query_collectives_scattered(f, &all);
    int64_t launching = scattered ? per_step(f, all.idle_ns) : 0;
    /* Each of many collectives brings the ranks together: with fewer, they wait less often. */
    int64_t exposed = fault == BUCKETS_SMALL ? f->breakdown_ns[PART_COMM] : query_exposed_comm(f);
    int64_t gain = exposed + launching;
    if (x.step == TL_NONE && all.count > 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "the sizes of the collectives were not recorded (gpuprof run records them)";
        return;
    }
    o->why = x.step == TL_NONE
                 ? "no collectives on this GPU"
                 : arena_printf(arena, "%zu collectives of %.1f MB per step, %.3f ms not hidden",
                                x.count, (double)x.bytes / 1e6, ms(gain));
    if (fault == BUCKETS_FINE || gain * 100 < f->step_ns)
        return;
    add_evidence(o, &x, exposed, launching);
    o->edit.kind = fault == BUCKETS_SMALL ? EDIT_BUCKET : EDIT_HIDE_COMM;
    o->error_class = ERROR_KERNEL_MODEL;
    if (fault == BUCKETS_SMALL) {
        outcome_fires(
            o, gain,
            arena_printf(arena,
                         "%zu collectives per step of %.0f KB on average: each costs %.0f us "
                         "however small it is, which is most of their %.2f ms",
                         x.count, (double)x.bytes / 1e3 / (double)x.count, ms(x.fastest_ns) * 1000,
                         ms(x.transfer_ns)));
        o->setting = "bucket_mb=25;first_bucket_mb=1";
        return;
    }
    o->remedy.pytorch = "DDP(model, bucket_cap_mb=25): the default; a cap as large as the model "
                        "waits for the whole backward pass";
    o->remedy.tensorflow = o->rule->remedy.tensorflow;
    o->remedy.cuda = "ncclAllReduce in several buckets, in the order in which backward makes "
                     "gradients, each started by an event behind its last gradient";
    outcome_fires(o, gain,
                  arena_printf(arena,
                               "%.0f of %.0f MB per step travel in one collective, which begins "
                               "when backward is over: nothing is left to hide it behind",
                               (double)x.largest_bytes / 1e6, (double)x.bytes / 1e6));
    o->setting = "bucket_mb=25;first_bucket_mb=1";
}

const struct rule rule_bucket_size = {
    .id = "bucket-size",
    .title = "Choose the size of gradient buckets",
    .needs = HAVE_KERNELS | HAVE_STEPS,
    .check = check_bucket_size,
    .program = {.now = "torch.ddp"},
    .looks_for = "Collectives whose recorded sizes are so small that their fixed cost is most of "
                 "their time, or of which one moves nearly everything and overlaps with nothing.",
    .doc =
        "Every collective costs some microseconds before the first byte moves, so many small ones "
        "waste time; a single large one can only start when the last gradient is there, so it "
        "hides behind nothing. Buckets of some 25 MB do both well. The fixed cost is the "
        "shortest collective seen in the recording, the transfer the shortest of each size, so "
        "that waiting for other ranks does not count. Where sizes were not recorded, "
        "exposed-communication tells of many small collectives.",
    .remedy = {"DDP(model, bucket_cap_mb=25, gradient_as_bucket_view=True): gradients travel in a "
               "few large buckets while backward still computes",
               "tf.distribute.experimental.CommunicationOptions(bytes_per_pack=50 * 1024 * 1024)",
               "pack gradients into buckets of some 25 MB in the order of backward, one "
               "ncclAllReduce each on a stream of its own, started behind its last gradient"},
    .setting = "bucket_mb",
    .tips = {{"buckets", "Exchange gradients in buckets, beside the backward pass", NULL}},
};
