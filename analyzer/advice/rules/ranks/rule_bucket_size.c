/* Fires if gradients are exchanged in messages that are too small, or all in one. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/ranks/comm.h"
#include "wire/fact_keys.h"

#include <string.h>

static const char rows[] = "SELECT c.*, k.end_ns - k.start_ns AS kernel_ns FROM collective c LEFT "
                           "JOIN kernel k ON k.id = c.kernel ORDER BY c.start_ns";

static void add_evidence(struct outcome *o, const struct query_exchange *x, int64_t exposed,
                         int64_t launching)
{
    outcome_evidence_per(o, "collectives", (double)x->count, "count", rows);
    outcome_evidence_per(o, "bytes", (double)x->bytes / 1e6, "MB", rows);
    outcome_evidence(o, "largest", (double)x->largest_bytes / 1e6, "MB", rows);
    outcome_evidence(o, "fixed cost of a collective: the shortest one seen",
                     ms(x->fastest_ns) * 1000, "us", rows);
    outcome_evidence_per(o, "transfer time, at the best rate seen for each size,",
                         ms(x->transfer_ns), "ms", rows);
    outcome_evidence_per(o, "exposed communication", ms(exposed), "ms", NULL);
    if (launching > 0)
        outcome_evidence_per(o, "GPU idle until the launch of each collective,", ms(launching),
                             "ms", NULL);
}

/* Returns true for sharded weights (FSDP, ZeRO): one collective per group of layers gathers them,
 * and one reduces their gradients. DDP's buckets have no part in that. */
static bool is_sharded(const struct timeline *t, const struct query_exchange *x)
{
    for (size_t i = 0; i < x->count; i++) {
        const char *name = tl_text(t, t->collectives[x->at[i]].row.name);
        if (strstr(name, "ReduceScatter") || strstr(name, "reduce_scatter"))
            return true;
    }
    return false;
}

static void join_small(const struct facts *f, struct arena *arena, struct outcome *o,
                       const struct query_exchange *x, int64_t gain)
{
    outcome_fires(o, gain,
                  arena_printf(arena,
                               "%zu collectives per step of %.0f KB on average: each has a "
                               "fixed cost of %.0f us, which is most of their %s",
                               x->count, (double)x->bytes / 1e3 / (double)x->count,
                               ms(x->fastest_ns) * 1000, time_text(arena, x->transfer_ns)));
    if (is_sharded(f->tl, x))
        o->remedy.action = ACTION_SHARD_LARGER_GROUPS;
}

static void check_bucket_size(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_exchange x = query_exchange(f, arena);
    enum query_buckets fault = query_buckets(f, &x);
    struct query_ops all;
    bool scattered = query_collectives_scattered(f, &all);
    int64_t launching = scattered ? per_step(f, all.idle_ns) : 0;
    /* Each collective also makes the ranks wait for each other; with fewer of them, they wait less
     * often. */
    int64_t exposed = fault == BUCKETS_SMALL ? f->breakdown_ns[PART_COMM] : query_exposed_comm(f);
    int64_t gain = exposed + launching;
    bool exchanges = x.step == TL_NONE && all.count > query_all_with_all(f).count;
    if (exchanges) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: the sizes of the collectives (gpuprof run records them)";
        return;
    }
    o->why =
        x.step == TL_NONE
            ? all.count ? "no collectives of gradients on this GPU" : "no collectives on this GPU"
            : arena_printf(arena, "%zu collectives of %.1f MB per step, %.3f ms exposed", x.count,
                           (double)x.bytes / 1e6, ms(gain));
    if (fault == BUCKETS_FINE || gain * QUERY_WORTH < f->step_ns)
        return;
    add_evidence(o, &x, exposed, launching);
    o->edit.kind = fault == BUCKETS_SMALL ? &edit_bucket : &edit_hide_comm;
    o->error_class = ERROR_KERNEL_MODEL;
    if (fault == BUCKETS_SMALL) {
        join_small(f, arena, o, &x, gain);
        return;
    }
    o->remedy.action = ACTION_SPLIT_BUCKETS;
    outcome_fires(o, gain,
                  arena_printf(arena,
                               "one collective sends %.0f of %.0f MB per step after the end of "
                               "backward: no computing is left to hide it",
                               (double)x.largest_bytes / 1e6, (double)x.bytes / 1e6));
}

const struct rule rule_bucket_size = {
    .id = "bucket-size",
    .title = "Change the size of gradient buckets",
    .needs = HAVE_KERNELS | HAVE_STEPS,
    .check = check_bucket_size,
    .program = {.now = FACT_TORCH_DDP},
    .looks_for = "Collectives so small that their fixed cost is most of their time, or one "
                 "collective that moves nearly all bytes and overlaps with nothing.",
    .doc = "Every collective costs some microseconds before the first byte moves, so many small "
           "ones waste time. A single large one can start only after the last gradient, so no "
           "computing hides it. Buckets of about 25 MB avoid both. gpuprof takes the shortest "
           "collective of the recording as the fixed cost and the shortest one of each size as the "
           "transfer, so that waits for other ranks do not count. If the recording lacks sizes, "
           "exposed-communication reports many small collectives.",
    .remedy = {.action = ACTION_RESIZE_BUCKETS},
    .tips = {{"buckets", "Exchange gradients in buckets, during the backward pass", NULL}},
};
