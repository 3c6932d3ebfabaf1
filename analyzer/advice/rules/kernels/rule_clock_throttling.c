/* Fires if heat or power keeps the GPU below its clock. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/gpu.h"

/* The edit's range ends at no gain, because not all of a kernel's time follows the clock: waits for
 * memory keep their pace. */
static bool computes(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    return o->kind == OP_KERNEL && o->class.family != FAMILY_COMM;
}

static const char *reason_text(int64_t reasons)
{
    if (reasons & (QUERY_SW_THERMAL | QUERY_HW_THERMAL))
        return "heat";
    if (reasons & (QUERY_POWER_CAP | QUERY_POWER_BRAKE))
        return "the power limit";
    return "a hardware slowdown";
}

static void check_clock_throttling(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_gpu g = query_gpu(f);
    double full = f->device ? (double)f->device->clock_khz / 1e3 : -1;
    if (g.samples < RULES_CLOCKS) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: the GPU's clock while the steps ran (gpuprof run samples it "
                 "through NVML; record a longer window)";
        return;
    }
    o->why = arena_printf(arena, "the clock was reduced in %.0f %% of %lld samples", g.slowed_pct,
                          (long long)g.samples);
    if (g.slowed_pct < RULES_SLOWED_PCT)
        return;
    if (full <= 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "the clock was reduced, but the recording lacks the GPU's full clock";
        return;
    }
    double ratio = g.slowed_mhz / full;
    if ((1 - ratio) * 100 < RULES_SLOWER_PCT) {
        o->why = arena_printf(arena, "the clock was reduced, but only to %.0f of %.0f MHz",
                              g.slowed_mhz, full);
        return;
    }
    double gain = (1 - ratio) * g.slowed_pct / 100;
    int64_t cost = (int64_t)((double)f->breakdown_ns[PART_COMPUTE] * gain);
    const char *rows = "SELECT * FROM gpu_sample WHERE throttle_reasons & 236";
    outcome_evidence(o, "samples with a reduced clock", g.slowed_pct, "%", rows);
    outcome_evidence(o, "mean SM clock in them", g.slowed_mhz, "MHz", rows);
    outcome_evidence(o, "the GPU's full clock", full, "MHz", "SELECT * FROM device");
    if (g.hottest_c >= 0)
        outcome_evidence(o, "highest temperature", (double)g.hottest_c, "C",
                         "SELECT * FROM gpu_sample ORDER BY temperature_c DESC");
    if (g.most_mw >= 0)
        outcome_evidence(o, "highest power", (double)g.most_mw / 1e3, "W",
                         "SELECT * FROM gpu_sample ORDER BY power_mw DESC");
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit = (struct edit){.kind = &edit_scale, .at.ops = computes, .scale = {1 - gain, 1}};
    outcome_fires(o, cost,
                  arena_printf(arena,
                               "%s keeps the GPU's clock at %.0f of %.0f MHz during %.0f %% of the "
                               "time: up to %s %s",
                               reason_text(g.reasons), g.slowed_mhz, full, g.slowed_pct,
                               time_text(arena, cost), scope_words(f)->per));
}

const struct rule rule_clock_throttling = {
    .id = "clock-throttling",
    .title = "Cool the GPU, or raise its power limit",
    .needs = HAVE_KERNELS | HAVE_DEVICE | HAVE_STEPS,
    .check = check_clock_throttling,
    .in_window = true,
    .looks_for = "Samples in which heat or power keeps the GPU's clock below its full rate.",
    .doc = "A GPU that is too hot, or at its power limit, lowers its clock, and every kernel that "
           "computes takes longer. The program is not the cause. The bound is the kernels' time "
           "multiplied by the share of the clock that is missing; kernels that wait for memory "
           "gain less. The full clock is the one that the device reports; few cards keep it under "
           "load, so a few percent mean nothing.",
    .remedy = {.action = ACTION_COOL_GPU},
    .tips = {{"clocks", "Keep the GPU cool and at full power",
              "gpuprof needs samples of the GPU's clock"}},
};
