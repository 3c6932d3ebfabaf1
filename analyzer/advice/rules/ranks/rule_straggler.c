/* Fires if one rank, or a group of ranks, arrives late at the collectives and the others wait. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/ranks/comm.h"

static bool communicates(const struct facts *f)
{
    return f->totals.family_count[FAMILY_COMM] > 0;
}

static void add_evidence(const struct facts *f, struct arena *arena, struct outcome *o,
                         const struct rank_facts *late)
{
    const struct ranks *r = &f->ranks;
    int64_t most = 0;
    for (size_t i = 0; i < r->count; i++)
        most = r->at[i].wait_exposed_ns > most ? r->at[i].wait_exposed_ns : most;
    outcome_evidence(o, "ranks compared", (double)r->count, "count", "SELECT * FROM process");
    outcome_evidence(o, "collectives matched by their order", (double)r->collectives, "count",
                     NULL);
    outcome_evidence(
        o,
        arena_printf(arena, "collectives in which rank %lld arrived last", (long long)late->rank),
        (double)late->late_count, "count", NULL);
    outcome_evidence_per(o, "time that it kept the others waiting,", ms(late->late_ns), "ms", NULL);
    outcome_evidence_per(o, "all late arrivals together,", ms(r->late_ns), "ms", NULL);
    outcome_evidence_per(o, "longest exposed wait of a rank,", ms(most), "ms", NULL);
    outcome_evidence_per(o, "transfer after the last rank arrived,", ms(r->transfer_ns), "ms",
                         NULL);
}

/* Returns how long the others wait for the last rank beyond the next latest one, in ns per step: if
 * ranks are late in turns, none of them is the late rank. */
static int64_t lateness(const struct ranks *r)
{
    const struct rank_facts *late = &r->at[r->late];
    int64_t waited = 0, next = 0;
    for (size_t i = 0; i < r->count; i++) {
        waited = r->at[i].wait_exposed_ns > waited ? r->at[i].wait_exposed_ns : waited;
        next = i != r->late && r->at[i].late_ns > next ? r->at[i].late_ns : next;
    }
    return late->late_ns - next < waited ? late->late_ns - next : waited;
}

/* Chooses what to examine, by how the late rank differs from a rank in time. */
static void advise(const struct facts *f, struct outcome *o, const char *who)
{
    static const char *const causes[] = {[LATE_UNKNOWN] =
                                             NULL, /* everything in which ranks may differ */
                                         [LATE_MORE_WORK] = "work",
                                         [LATE_SLOW_GPU] = "gpu",
                                         [LATE_HOST] = "host"};
    o->remedy.action = ACTION_CHECK_RANK;
    remedy_text(&o->remedy, PARAM_RANKS, who);
    remedy_text(&o->remedy, PARAM_CAUSE, causes[f->ranks.late_cause]);
}

/* Returns e.g. "; beside rank 2 the same kernels take 1.50 ms more per step", or "" if the reason
 * is not known. */
static const char *why(const struct facts *f, struct arena *arena)
{
    return f->ranks.late_why ? arena_printf(arena, "; %s", f->ranks.late_why) : "";
}

/* Returns the rank's host if the ranks are known to run on several hosts, or NULL. */
static const char *host_of(const struct facts *f, const struct rank_facts *rank)
{
    const struct ranks *r = &f->ranks;
    uint32_t own = f->tl->processes[rank->process].host;
    for (size_t i = 0; i < r->count && own; i++) {
        uint32_t other = f->tl->processes[r->at[i].process].host;
        if (other && other != own)
            return tl_text(f->tl, own);
    }
    return NULL;
}

static const char *on_host(const struct facts *f, struct arena *arena,
                           const struct rank_facts *rank)
{
    const char *host = host_of(f, rank);
    return host ? arena_printf(arena, " (on %s)", host) : "";
}

/* Returns " (all ranks on node3)" if the group is all ranks of that host, " (on node3)" if it is
 * some of them, or "". */
static const char *at_host(const struct facts *f, struct arena *arena)
{
    const struct ranks *r = &f->ranks;
    size_t first = 0, others = 0;
    while (first < r->count && !r->in_group[first])
        first++;
    const char *host = first < r->count ? host_of(f, &r->at[first]) : NULL;
    for (size_t i = 0; host && i < r->count; i++) {
        bool same =
            f->tl->processes[r->at[i].process].host == f->tl->processes[r->at[first].process].host;
        if (r->in_group[i] && !same)
            return "";
        others += same && !r->in_group[i];
    }
    return host ? arena_printf(arena, others ? " (on %s)" : " (all ranks on %s)", host) : "";
}

/* A missing rank may be the late one: then the rule cannot tell that any recorded rank is late. */
static void doubt(const struct facts *f, struct arena *arena, struct outcome *o, int64_t gain)
{
    o->verdict = RULE_CANNOT_TELL;
    o->why =
        arena_printf(arena,
                     "%lld ranks of the job are missing, and one of them may be late: of those "
                     "that are here rank %lld comes last, %s %s behind the next, and the transfers "
                     "then take %s: pass the files of all ranks",
                     (long long)f->tl->missing_ranks, (long long)f->ranks.at[f->ranks.late].rank,
                     time_text(arena, gain > 0 ? gain : 0), scope_words(f)->per,
                     time_text(arena, f->ranks.transfer_ns));
}

/* Returns true if a missing rank may come even later. Its lateness would appear as longer
 * transfers, so this is possible only if the transfers are long compared with the waiting. */
static bool may_be_another(const struct facts *f, int64_t gain)
{
    const struct ranks *r = &f->ranks;
    return f->tl->missing_ranks > 0 && r->transfer_ns * RULES_ANOTHER > gain;
}

/* Fires and returns true if several ranks are late together: the ranks of one node, or ranks with
 * the same kind of work. */
static bool check_group(const struct facts *f, struct arena *arena, struct outcome *o)
{
    const struct ranks *r = &f->ranks;
    if (r->group_size == 0 || r->group_ns * QUERY_WORTH < f->step_ns ||
        may_be_another(f, r->group_ns) || query_replicated(f, arena))
        return false;
    const char *who = r->group_text;
    outcome_evidence(o, "ranks compared", (double)r->count, "count", "SELECT * FROM process");
    outcome_evidence(o, "ranks that are late together", (double)r->group_size, "count", NULL);
    outcome_evidence_per(o, "time that they keep the others waiting,", ms(r->group_ns), "ms", NULL);
    outcome_evidence_per(o, "transfer after the last rank arrived,", ms(r->transfer_ns), "ms",
                         NULL);
    o->error_class = ERROR_RERUN_DECIDES;
    advise(f, o, arena_printf(arena, "ranks %s", who));
    o->remedy.conditions[CONDITION_TOGETHER] = true;
    outcome_fires(o, r->group_ns,
                  arena_printf(arena,
                               "ranks %s%s are late together: they arrive last in most collectives "
                               "and keep the other %zu ranks waiting %s %s%s",
                               who, at_host(f, arena), r->count - r->group_size,
                               time_text(arena, r->group_ns), scope_words(f)->per, why(f, arena)));
    return true;
}

/* Returns true, with the reason in *o, if another rule explains the lateness. */
static bool has_another_cause(const struct facts *f, struct arena *arena, struct outcome *o,
                              const struct rank_facts *late, int64_t gain)
{
    if (query_replicated(f, arena)) {
        o->verdict = RULE_SUPPRESSED;
        o->why = "one process launches the work of all GPUs in turn: see dp-instead-of-ddp";
        return true;
    }
    if (2 * late->queued_ns >= gain && 2 * late->late_queued_ns < late->late_ns) {
        o->verdict = RULE_SUPPRESSED;
        o->why = arena_printf(
            arena,
            "rank %lld comes last for %lld of %lld collectives, %s %s, but threads of its process "
            "had no core for %s %s: with a core for each it may be in time",
            (long long)late->rank, (long long)late->late_count, (long long)f->ranks.collectives,
            time_text(arena, gain), scope_words(f)->per, time_text(arena, late->queued_ns),
            scope_words(f)->per);
        return true;
    }
    return false;
}

/* Returns true if the rank is late in at least every other step. For a window: in at least every
 * other collective, and not in a single one, as when the ranks start one after the other. */
static bool is_often(const struct facts *f)
{
    const struct ranks *r = &f->ranks;
    const struct rank_heat *h = &r->by_place;
    int64_t late_count = r->at[r->late].late_count, sum = 0, most = 0;
    if (!analysis_of_window(f))
        return late_count * 2 >= (int64_t)f->steps.used;
    for (size_t i = 0; i < h->columns; i++) {
        int64_t ns = h->late_ns[r->late * h->columns + i];
        sum += ns;
        most = ns > most ? ns : most;
    }
    return late_count * 2 >= r->collectives && most * 2 <= sum;
}

static void fire(const struct facts *f, struct arena *arena, struct outcome *o,
                 const struct rank_facts *late, int64_t gain)
{
    const struct ranks *r = &f->ranks;
    add_evidence(f, arena, o, late);
    o->error_class = ERROR_STRUCTURAL;
    /* the late rank's own step does not show what it would be without the lateness */
    if (late->process != f->steps.process)
        o->edit.kind = &edit_punctual;
    advise(f, o, arena_printf(arena, "rank %lld", (long long)late->rank));
    outcome_fires(
        o, gain,
        arena_printf(arena,
                     "rank %lld is late%s: it arrives last in %lld of %lld collectives and keeps "
                     "the others waiting %s %s; the transfers themselves take %s%s",
                     (long long)late->rank, on_host(f, arena, late), (long long)late->late_count,
                     (long long)r->collectives, time_text(arena, late->late_ns),
                     scope_words(f)->per, time_text(arena, r->transfer_ns), why(f, arena)));
    if (r->worst_op != TL_NONE) {
        const struct op *w = &f->tl->ops[r->worst_op];
        outcome_example(o, w->start_ns, w->start_ns + r->worst_ns, "longest wait for a late rank",
                        r->worst_op);
    }
}

static void check_straggler(const struct facts *f, struct arena *arena, struct outcome *o)
{
    const struct ranks *r = &f->ranks;
    if (!communicates(f)) {
        o->why = "no collectives on this GPU";
        return;
    }
    if (r->count < 2) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "one rank alone does not show whether its collectives wait for a late rank or for "
                 "the network: record all ranks and pass all their files, or their folder";
        return;
    }
    if (check_group(f, arena, o))
        return;
    const struct rank_facts *late = &r->at[r->late];
    int64_t gain = lateness(r);
    o->why = arena_printf(arena,
                          "rank %lld arrives last in %lld of %lld collectives and costs the others "
                          "%.3f ms %s more than the next rank",
                          (long long)late->rank, (long long)late->late_count,
                          (long long)r->collectives, ms(gain), scope_words(f)->per);
    bool late_enough = is_often(f) && gain * QUERY_WORTH >= f->step_ns;
    if (f->tl->missing_ranks > 0 && (!late_enough || may_be_another(f, gain))) {
        doubt(f, arena, o, gain);
        return;
    }
    if (!late_enough || has_another_cause(f, arena, o, late, gain))
        return;
    fire(f, arena, o, late, gain);
}

const struct rule rule_straggler = {
    .id = "straggler",
    .title = "Speed up the late rank",
    .needs = HAVE_KERNELS | HAVE_STEPS,
    .check = check_straggler,
    .in_window = true,
    .looks_for = "Collectives, matched over all ranks, in which the others wait for the rank that "
                 "arrives last.",
    .doc =
        "A collective lasts until the last rank has arrived, plus the transfer. On every rank "
        "except the late one, the waiting looks like a slow network; the late rank looks fine. "
        "gpuprof matches the collectives of each process group by their numbers or their order, "
        "aligns the clocks by the ends of matched collectives, and charges the last rank with the "
        "time from the others' median arrival to its own. With several groups (tensor, pipeline, "
        "data parallel), a rank that is late because it waited for another one in another group "
        "is not charged, and a stage of a pipeline that waits for the stage before it charges "
        "nobody. Usual causes are uneven batches or sequence lengths, work that only one rank "
        "does (logging, checkpoints), its data loader, and a busy or throttled host. gpuprof "
        "report shows the lanes of the late rank on the timeline, and gpuprof analyze --rank N, "
        "with the same files, what fills its step. The rule needs the files of all ranks together.",
    .remedy = {.action = ACTION_BALANCE_RANKS, .object.kind = OBJECT_RANK},
    .late_rank = true,
    .tips = {{"straggler", "Balance the work of the ranks", NULL}},
};
