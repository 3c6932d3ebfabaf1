/* Fires if gradients add up over many micro-batches that are too small for the GPU, and its memory
 * has room for fewer, larger ones. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/gpu.h"
#include "analyzer/queries/training/passes.h"
#include "wire/fact_keys.h"

/* How often the GPU waits for the host, which launches the same for each micro-batch. Time in which
 * its threads had no core is not the micro-batches'. */
static int64_t awaits_launches(const struct facts *f)
{
    int64_t idle = f->breakdown_ns[PART_IDLE_LAUNCH] + f->breakdown_ns[PART_IDLE_HOST];
    int64_t starved = f->host.starved_ns > 0 ? f->host.starved_ns : 0;
    return query_launches(f).block ? 0 : idle - (starved < idle ? starved : idle);
}

/* 2, 4 or 8 if so many micro-batches at a time fit, assuming that all memory in use grows; else 1. */
static int at_a_time(const struct facts *f, int64_t micro, int64_t used)
{
    int times = 1;
    while (times < RULES_BATCH_TIMES && times * 2 <= micro && used > 0 &&
           used * times * 2 < f->device->memory_bytes / 100 * RULES_MEMORY_PCT)
        times *= 2;
    return times;
}

static void advise(const struct facts *f, struct arena *arena, struct outcome *o, int64_t micro,
                   int64_t idle, int times)
{
    struct query_gpu g = query_gpu(f);
    outcome_evidence_per(o, "forward and backward passes", (double)micro, "count",
                         "SELECT * FROM range WHERE name IN (SELECT id FROM string WHERE text = "
                         "'backward')");
    outcome_evidence_per(o, "GPU idle for launches and other host work", ms(idle), "ms", NULL);
    outcome_evidence(o, "peak memory in use", (double)g.memory_peak / 1e9, "GB", g.memory_sql);
    outcome_evidence(o, "memory of the GPU", (double)f->device->memory_bytes / 1e9, "GB",
                     "SELECT * FROM device");
    const char *place = query_backward_line(f, arena);
    remedy_number(&o->remedy, PARAM_TIMES, times);
    o->remedy.object.place = place;
    o->error_class = ERROR_RERUN_DECIDES;
    o->edit = (struct edit){.kind = &edit_batch, .batch = {.times = times, .same_update = true}};
    outcome_fires(
        o, idle / times * (times - 1),
        arena_printf(arena,
                     "each step takes %lld micro-batches one by one%s%s, and the GPU waits "
                     "%s for their launches and for the host; its memory has room for %d "
                     "at a time",
                     (long long)micro, place ? ", at " : "", place ? place : "",
                     time_text(arena, idle), times));
}

static void check_micro_batches(const struct facts *f, struct arena *arena, struct outcome *o)
{
    int64_t micro = query_micro_batches(f, arena), idle = awaits_launches(f);
    if (!f->device || !timeline_meta(f->tl, FACT_TORCH_VERSION)) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: which backward passes a step takes, or the GPU's memory (gpuprof "
                 "run records both of PyTorch programs)";
        return;
    }
    o->why = "no step was seen to add up gradients over micro-batches";
    if (micro < 2)
        return;
    o->why = arena_printf(arena, "each step takes %lld micro-batches, but waits only %s for them",
                          (long long)micro, time_text(arena, idle));
    if (share_pct(f, idle) < RULES_BATCH_PCT)
        return;
    struct query_gpu g = query_gpu(f);
    int times = at_a_time(f, micro, g.memory_peak);
    if (times < 2) {
        o->verdict = RULE_SUPPRESSED;
        o->why = arena_printf(arena,
                              "each step takes %lld micro-batches, but two at a time were not seen "
                              "to fit into memory",
                              (long long)micro);
        return;
    }
    advise(f, arena, o, micro, idle, times);
}

const struct rule rule_micro_batches = {
    .id = "micro-batches",
    .title = "Take fewer, larger micro-batches",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_DEVICE | HAVE_STEPS,
    .check = check_micro_batches,
    .looks_for =
        "Steps of several forward and backward passes of the same products before one update, a "
        "GPU that waits for their launches, and enough measured free memory for two at a time.",
    .doc =
        "Adding up gradients over micro-batches saves memory: each has its own launches, and its "
        "kernels are small. Where memory is left, fewer and larger ones give the same gradient "
        "with fewer launches. The training stays as it is, but for batch normalisation, which sees "
        "more samples at a time, and for means over numbers of tokens that differ. The update is "
        "made as often as before.",
    .remedy = {.action = ACTION_ENLARGE_MICRO_BATCHES, .object.kind = OBJECT_CALL},
    .tips = {{"fewer-micro-batches", "Add up gradients over no more micro-batches than memory asks",
              NULL}},
};
