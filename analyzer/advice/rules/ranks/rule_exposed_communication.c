/* Fires if collectives run while nothing is computed. Waiting for a late rank is the straggler
 * rule's and does not count here. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/training/eval.h"
#include "analyzer/queries/ranks/comm.h"
#include "wire/fact_keys.h"

static void add_evidence(const struct facts *f, struct outcome *o, const struct query_ops *all,
                         int64_t waiting)
{
    const char *rows = "SELECT k.* FROM kernel k JOIN string s ON s.id = k.name WHERE s.text LIKE "
                       "'%nccl%' OR s.text LIKE '%rccl%' ORDER BY end_ns - start_ns DESC";
    outcome_evidence_per(o, "exposed communication", ms(f->breakdown_ns[PART_COMM]), "ms", rows);
    outcome_evidence_per(o, "collectives", (double)all->count / (double)f->steps.used, "count",
                         rows);
    outcome_evidence_per(o, "time in them", ms(per_step(f, all->busy_ns)), "ms", rows);
    if (waiting > 0)
        outcome_evidence(
            o, "of that, waiting for the last rank to arrive (the straggler rule counts it)",
            ms(waiting), "ms", NULL);
}

/* For many small collectives the first remedy is to join them. If the hook saw the program without
 * DDP, they may be of gradients or of something else. */
static void gather(const struct facts *f, struct outcome *o)
{
    bool otherwise =
        timeline_meta(f->tl, FACT_TORCH_VERSION) && !timeline_meta(f->tl, FACT_TORCH_DDP);
    o->remedy.action = ACTION_JOIN_COLLECTIVES;
    o->remedy.conditions[CONDITION_NOT_DDP] = otherwise;
}

/* Inference has neither a backward pass that could hide collectives nor gradients in buckets. */
static void between_layers(struct outcome *o)
{
    o->edit.kind = NULL;
    o->remedy.action = ACTION_OVERLAP_LAYERS;
}

/* The finding for layers that are split among ranks: they wait for their collectives, which no
 * bucket and no later step can hide. */
static void split_layers(const struct facts *f, struct arena *arena, struct outcome *o,
                         const struct query_comm *model)
{
    double each = (double)model->ops.count / (double)f->steps.used;
    outcome_evidence_per(
        o, "collectives of groups that split the model,", each, "count",
        "SELECT c.*, s.text AS process_group FROM collective c JOIN string s ON s.id "
        "= c.group_name ORDER BY c.start_ns");
    outcome_evidence_per(o, "time in them with nothing computed,", ms(model->exposed_ns), "ms",
                         NULL);
    o->error_class = ERROR_RERUN_DECIDES;
    o->remedy.action = ACTION_SPLIT_MODEL_LESS;
    if (query_only_infers(f))
        between_layers(o);
    outcome_fires(o, model->exposed_ns,
                  arena_printf(arena,
                               "%.0f collectives of groups that split the model %s: the GPU "
                               "computes nothing for %s %s while they run",
                               each, scope_words(f)->per, time_text(arena, model->exposed_ns),
                               scope_words(f)->of_each));
    outcome_example_op(o, f->tl, model->ops.longest, "longest collective");
}

/* For exchanges in which each rank gets its part of the others' data (embeddings, experts). These
 * are not gradients, so neither buckets nor the backward pass hide them. */
static void exchange_earlier(struct outcome *o)
{
    o->remedy.action = ACTION_EXCHANGE_EARLIER;
}

/* The stages of a pipeline send each other the same kernels, and overlap does not hide that one
 * stage waits for another. So the finding names both possibilities. */
static void exchange_or_pipeline(struct arena *arena, struct outcome *o)
{
    exchange_earlier(o);
    o->edit.kind = NULL;
    o->error_class = ERROR_RERUN_DECIDES;
    o->summary = arena_printf(arena,
                              "%s; nothing recorded says whether they belong to an exchange "
                              "of all with all or to the stages of a pipeline",
                              o->summary);
    o->remedy.conditions[CONDITION_MAYBE_PIPELINE] = true;
}

/* Returns the time in which no collective runs, in ns per step: no more of the collectives can be
 * hidden. */
static int64_t beside(const struct facts *f)
{
    const struct gpu_facts *g = &f->gpu;
    double all = g->comm_exposed_pct > 0
                     ? (double)f->breakdown_ns[PART_COMM] * g->comm_pct / g->comm_exposed_pct
                     : 0;
    int64_t rest = f->step_ns - (int64_t)all;
    return rest > 0 ? rest : 0;
}

/* If communication takes longer than everything else, overlap alone is no remedy, and the title
 * must not promise it. *saved: on entry the exposed time, on return the most that the advice can
 * save of it. Returns words for the summary. */
static const char *too_much(const struct facts *f, struct arena *arena, struct outcome *o,
                            int64_t waiting, int64_t *saved)
{
    int64_t hidden_at_most = beside(f) + waiting;
    if (hidden_at_most >= *saved)
        return "";
    outcome_evidence(o, "of that, overlap could hide at most", ms(hidden_at_most), "ms", NULL);
    if (2 * hidden_at_most > *saved) {
        *saved = hidden_at_most;
        return "";
    }
    o->title = "Communicate less, and overlap the rest with computing";
    o->remedy.action = ACTION_COMMUNICATE_LESS;
    return arena_printf(arena, "; the rest of the %s is too short to hide more than %s of them",
                        scope_words(f)->unit, time_text(arena, hidden_at_most));
}

/* For a benchmark of collectives, or a recording of collectives alone: there is nothing to overlap
 * with. */
static bool computes_nothing(const struct facts *f, int64_t exposed)
{
    return f->breakdown_ns[PART_COMPUTE] * QUERY_WORTH < exposed;
}

/* Returns why another rule answers instead, or NULL. */
static const char *why_not_now(const struct facts *f, struct arena *arena,
                               const struct query_exchange *x, int64_t exposed)
{
    if (computes_nothing(f, exposed))
        return "collectives run, but no computing that they could overlap with";
    if (query_replicated(f, arena))
        return arena_printf(arena,
                            "one process sends the weights to all GPUs %s: see dp-instead-of-ddp",
                            scope_words(f)->in_each);
    if (!analysis_of_window(f) && query_buckets(f, x) != BUCKETS_FINE)
        return "the size of the messages prevents overlap: see bucket-size";
    return NULL;
}

static const char *summary(const struct facts *f, struct arena *arena, const struct query_ops *all,
                           int64_t exposed, int64_t launching, double hidden, const char *beyond)
{
    const char *overlapped =
        hidden < RULES_NEVER_PCT
            ? "never overlapped"
            : arena_printf(arena, "%s%.0f %% overlapped", hidden < 50 ? "only " : "", hidden);
    const char *idles = launching * QUERY_WORTH > f->step_ns
                            ? arena_printf(arena, ", and it idles for %s until their launch",
                                           time_text(arena, launching))
                            : "";
    return arena_printf(
        arena, "%.0f collectives %s, %s: the GPU computes nothing for %s %s while they run%s%s",
        (double)all->count / (double)f->steps.used, scope_words(f)->per, overlapped,
        time_text(arena, exposed), scope_words(f)->of_each, idles, beyond);
}

static void check_exposed_communication(const struct facts *f, struct arena *arena,
                                        struct outcome *o)
{
    struct query_ops all;
    bool scattered = query_collectives_scattered(f, &all);
    const struct rank_facts *own = query_own_rank(f);
    int64_t waiting = own ? own->wait_exposed_ns : 0;
    struct query_exchange x = query_exchange(f, arena);
    /* no-sync counts all but one of these */
    int64_t repeats = (int64_t)query_repeats(f, arena, &x);
    int64_t exposed = query_exposed_comm(f) / repeats;
    int64_t launching = scattered ? per_step(f, all.idle_ns) : 0;
    o->why = all.count ? arena_printf(arena, "%.3f ms of exposed communication %s",
                                      ms(exposed > 0 ? exposed : 0), scope_words(f)->per)
                       : "no collectives on this GPU";
    struct query_comm model = query_comm(f, COMM_MODEL);
    if (model.exposed_ns * QUERY_WORTH >= f->step_ns && model.exposed_ns > exposed) {
        split_layers(f, arena, o, &model);
        return;
    }
    if (exposed * QUERY_WORTH < f->step_ns)
        return;
    const char *not_now = why_not_now(f, arena, &x, exposed);
    if (not_now) {
        o->verdict = RULE_SUPPRESSED;
        o->why = not_now;
        return;
    }
    add_evidence(f, o, &all, waiting);
    if (launching > 0)
        outcome_evidence_per(o, "GPU idle until the launch of each collective,", ms(launching),
                             "ms", NULL);
    double hidden = all.busy_ns > 0 ? 100.0 - 100.0 * ms(f->breakdown_ns[PART_COMM]) /
                                                  ms(per_step(f, all.busy_ns))
                                    : 0;
    if (scattered)
        gather(f, o);
    int64_t saved = exposed;
    const char *beyond = too_much(f, arena, o, waiting, &saved);
    outcome_fires(o, saved + launching,
                  summary(f, arena, &all, exposed, launching, hidden, beyond));
    o->edit.kind = &edit_hide_comm;
    o->remedy.conditions[CONDITION_NEVER_OVERLAPPED] = hidden < RULES_NEVER_PCT;
    o->error_class = ERROR_KERNEL_MODEL;
    if (2 * query_unnamed_sends(f, arena) > per_step(f, all.busy_ns))
        exchange_or_pipeline(arena, o);
    else if (2 * query_all_with_all(f).busy_ns > all.busy_ns)
        exchange_earlier(o);
    else if (query_only_infers(f))
        between_layers(o);
    outcome_example_op(o, f->tl, all.longest, "longest collective");
}

const struct rule rule_exposed_communication = {
    .id = "exposed-communication",
    .title = "Overlap communication with computing",
    .needs = HAVE_KERNELS | HAVE_STEPS,
    .check = check_exposed_communication,
    .in_window = true,
    .program = {.now = FACT_TORCH_DDP},
    .looks_for = "Collectives (NCCL, RCCL and others) that run while no compute kernel runs, and "
                 "many small ones that the program launches one by one.",
    .doc = "A collective overlaps with backward if it runs on a separate stream and starts as soon "
           "as its data are ready. Many small collectives pay for latency and launch each time. "
           "The time in a collective before the last rank arrives is waiting, not communication. "
           "gpuprof excludes it if the recording contains all ranks; one rank alone does not show "
           "the difference.",
    .remedy = {.action = ACTION_OVERLAP_COLLECTIVES},
    .tips = {{"buckets", "Exchange gradients in buckets, during the backward pass", NULL}},
};
