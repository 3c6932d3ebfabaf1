/* Fires if one process drives several GPUs and distributes the weights in every step
 * (DataParallel). */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/ranks/comm.h"
#include "wire/fact_keys.h"

static void check_dp_instead_of_ddp(const struct facts *f, struct arena *arena, struct outcome *o)
{
    size_t devices = query_replicated(f, arena);
    const int64_t *part = f->breakdown_ns;
    int64_t idle =
        part[PART_IDLE_LAUNCH] + part[PART_IDLE_HOST] + part[PART_IDLE_SYNC] + part[PART_IDLE_COPY];
    int64_t gain = part[PART_COMM] + idle;
    o->why =
        devices ? arena_printf(arena,
                               "one process drives %zu GPUs, which costs this GPU %.3f ms per step",
                               devices, ms(gain))
                : "no process sends the weights to several GPUs in each step";
    if (!devices || gain * QUERY_WORTH < f->step_ns)
        return;
    outcome_evidence(o, "GPUs that one process drives", (double)devices, "count",
                     "SELECT * FROM device");
    outcome_evidence_per(o, "exposed time of sending weights and gathering gradients,",
                         ms(part[PART_COMM]), "ms", NULL);
    outcome_evidence_per(o, "GPU idle while the process serves the others,", ms(idle), "ms", NULL);
    outcome_fires(o, gain,
                  arena_printf(arena,
                               "one process drives %zu GPUs and sends them the weights in every "
                               "step: this GPU waits %s per step for the process and spends "
                               "%s on copies of weights and gradients",
                               devices, time_text(arena, idle), time_text(arena, part[PART_COMM])));
}

const struct rule rule_dp_instead_of_ddp = {
    .id = "dp-instead-of-ddp",
    .title = "Run one process per GPU",
    .needs = HAVE_KERNELS | HAVE_STEPS,
    .check = check_dp_instead_of_ddp,
    .program = {.now = FACT_TORCH_DATA_PARALLEL},
    .looks_for = "Compute kernels on several GPUs from one process, with a broadcast to them in "
                 "every step.",
    .doc = "DataParallel sends the weights to all GPUs and gathers the gradients in every step, "
           "and one process launches the work of all GPUs, one after another. With one process per "
           "GPU the weights stay in place, the gradient exchange overlaps with backward, and the "
           "processes launch in parallel. The saving is an upper bound, because idle time may have "
           "other causes as well.",
    .remedy = {.action = ACTION_RUN_PROCESS_PER_GPU},
    .tips = {{"ddp-not-dp", "One process per GPU instead of one process for all", NULL}},
};
