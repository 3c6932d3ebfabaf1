/* Fires if DeepSpeed's ZeRO 3 keeps the host busy: it gathers each layer's weights before the layer
 * computes and releases them afterwards, layer by layer. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/training/sharding.h"

static void advise(const struct facts *f, struct arena *arena, struct outcome *o, int64_t host,
                   int64_t idle)
{
    const char *rows = "SELECT r.* FROM range r JOIN string s ON s.id = r.name WHERE s.text LIKE "
                       "'%PartitionedParameterCoordinator.%' OR s.text LIKE "
                       "'%DeepSpeedZeRoOffload.%'";
    outcome_evidence_per(o, "the host in ZeRO 3's hooks of modules", ms(host), "ms", rows);
    outcome_evidence_per(o, "GPU idle meanwhile", ms(idle), "ms", rows);
    o->error_class = ERROR_RERUN_DECIDES;
    /* The hooks also slow down the host's other work, and without them other work starts
     * earlier. */
    int64_t most = query_awaits_host(f);
    o->most_ns = most > idle ? most : idle;
    const char *rest = o->most_ns > idle
                           ? arena_printf(arena,
                                          "; its other waits for the host (%s with these) may get "
                                          "shorter, too",
                                          time_text(arena, o->most_ns))
                           : "";
    outcome_fires(o, idle,
                  arena_printf(arena,
                               "ZeRO 3 gathers each layer's weights before it computes and lets "
                               "them go behind it: the host does that for %s per step, and the GPU "
                               "waits %s of it%s",
                               time_text(arena, host), time_text(arena, idle), rest ? rest : ""));
}

static void check_weight_sharding(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_sharding s;
    if (query_sharding(f, arena, &s) < 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "out of memory";
        return;
    }
    int64_t host = per_step(f, s.host_ns), idle = per_step(f, s.idle_ns);
    o->why =
        host ? arena_printf(arena, "the GPU waits %.3f ms per step for ZeRO 3's hooks", ms(idle))
             : "no hook of DeepSpeed's ZeRO 3 was recorded";
    if (query_shards(f, &s))
        advise(f, arena, o, host, idle);
}

const struct rule rule_weight_sharding = {
    .id = "weight-sharding",
    .title = "Shard the weights only if they do not fit",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS | HAVE_RANGES,
    .check = check_weight_sharding,
    .looks_for =
        "NVTX ranges of DeepSpeed's stage 3 around modules, and a GPU that waits in them for "
        "5 % of the step or more.",
    .doc = "Stage 3 of ZeRO splits the weights over the ranks. Hooks around each module gather "
           "them, and let them go again; on small layers that takes the host longer than the "
           "layer takes the GPU, also where there is one rank and nothing to split. Stage 2 splits "
           "gradients and the optimizer's state alone, which is most of the memory with Adam, and "
           "has no such hooks. If the weights do not fit, larger thresholds keep small ones in "
           "place and gather several layers at once. The saving is between the wait in the hooks "
           "and all waits for the host; a rerun decides.",
    .remedy = {.action = ACTION_SHARD_LESS},
    .tips = {{"zero-stage", "Use the lowest stage of ZeRO that fits into memory",
              "DeepSpeed's stage 3, by its NVTX ranges"}},
};
