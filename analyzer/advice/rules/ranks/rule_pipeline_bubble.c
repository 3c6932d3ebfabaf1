/* Fires if a stage of a pipeline waits for another stage and computes nothing meanwhile (a
 * bubble). */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/ranks/comm.h"

static void check_pipeline_bubble(const struct facts *f, struct arena *arena, struct outcome *o)
{
    const char *rows =
        "SELECT k.* FROM kernel k JOIN collective c ON c.kernel = k.id JOIN string s "
        "ON s.id = c.name WHERE s.text IN ('send', 'recv', 'ncclSend', 'ncclRecv') "
        "ORDER BY k.end_ns - k.start_ns DESC";
    struct query_comm pairs = query_comm(f, COMM_PAIR);
    o->why = pairs.ops.count
                 ? arena_printf(arena, "the GPU waits in sends and receives for %.3f ms per step",
                                ms(pairs.exposed_ns))
                 : "no sends and receives between ranks";
    int64_t unknown = query_unnamed_sends(f, arena);
    if (pairs.exposed_ns * QUERY_WORTH < f->step_ns && unknown * QUERY_WORTH >= f->step_ns) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: whether the kernels of sends and receives belong to a pipeline or "
                 "to an exchange of all with all";
    }
    if (pairs.exposed_ns * QUERY_WORTH < f->step_ns)
        return;
    double each = (double)pairs.ops.count / (double)f->steps.used;
    outcome_evidence_per(o, "sends and receives", each, "count", rows);
    outcome_evidence_per(o, "time in them with nothing computed,", ms(pairs.exposed_ns), "ms",
                         rows);
    outcome_evidence(
        o, "longest of them",
        ms(f->tl->ops[pairs.ops.longest].end_ns - f->tl->ops[pairs.ops.longest].start_ns), "ms",
        rows);
    o->error_class = ERROR_RERUN_DECIDES;
    outcome_fires(o, pairs.exposed_ns,
                  arena_printf(arena,
                               "this stage of the pipeline waits for the others for %s of each %s "
                               "step, in %.0f sends and receives, and computes nothing meanwhile",
                               time_text(arena, pairs.exposed_ns), time_text(arena, f->step_ns),
                               each));
    outcome_example_op(o, f->tl, pairs.ops.longest, "longest wait for another stage");
}

const struct rule rule_pipeline_bubble = {
    .id = "pipeline-bubble",
    .title = "Fill the bubbles of the pipeline",
    .needs = HAVE_KERNELS | HAVE_STEPS,
    .check = check_pipeline_bubble,
    .looks_for = "Sends and receives between ranks while the GPU computes nothing: a stage of a "
                 "pipeline waits for the stage before it or behind it.",
    .doc =
        "With p stages and m micro-batches, each stage idles for (p - 1) / (m + p - 1) of a step "
        "(GPipe and 1F1B alike; Narayanan et al. 2021, section 2.2), and longer where the stages "
        "are uneven. More micro-batches, or several smaller stages on each rank (interleaved "
        "schedules), make the bubble smaller. What is saved at most is all of the waiting; the "
        "transfers in it are short. With the files of all ranks, the waiting for a late rank "
        "counts under straggler, not here.",
    .remedy = {.action = ACTION_FILL_PIPELINE},
    .tips = {{"pipeline", "Keep the stages of a pipeline busy", NULL}},
};
