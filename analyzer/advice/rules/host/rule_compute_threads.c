/* Fires if the model computes on the CPU with fewer threads than there are cores, or with far more. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/lines.h"
#include "wire/fact_keys.h"

/* True if the model's threads are far more than the cores, and the training thread lacks a core. */
static bool is_crowded(const struct facts *f, int threads, int64_t computes)
{
    return threads >= f->host.usable_cores * RULES_FEW_THREADS &&
           computes * 100 >= f->step_ns * RULES_COMPUTES_PCT &&
           f->host.starved_ns * QUERY_SOME >= f->step_ns;
}

static void fire_crowded(const struct facts *f, struct arena *arena, struct outcome *o,
                         int64_t computes)
{
    int threads = query_compute_threads(f), cores = f->host.usable_cores;
    int ranks = query_ranks_here(f);
    o->title = "Compute with no more threads than there are cores";
    outcome_evidence(o, "threads in each rank", threads, "count", NULL);
    outcome_evidence(o, "usable cores", cores, "count", NULL);
    outcome_evidence_per(o, "computing of the model", ms(computes), "ms", NULL);
    outcome_evidence_per(o, "the training thread is ready but has no core", ms(f->host.starved_ns),
                         "ms", "SELECT * FROM host_sample");
    o->error_class = ERROR_RERUN_DECIDES; /* how long threads wait for each other is not known */
    remedy_number(&o->remedy, PARAM_THREADS, cores / ranks > 0 ? cores / ranks : 1);
    outcome_fires(o, computes,
                  arena_printf(arena,
                               "the model computes %s %s with %d threads%s on %d core%s, and each "
                               "operation waits for the slowest of them; the training thread has "
                               "no core for %s",
                               time_text(arena, computes), scope_words(f)->per, threads,
                               ranks > 1 ? " in each rank" : "", cores, cores == 1 ? "" : "s",
                               time_text(arena, f->host.starved_ns)));
}

static void fire_few(const struct facts *f, struct arena *arena, struct outcome *o,
                     int64_t computes)
{
    int threads = query_compute_threads(f), cores = f->host.usable_cores,
        ranks = query_ranks_here(f);
    int each = cores / ranks;
    outcome_evidence(o, "threads in each rank", threads, "count", NULL);
    outcome_evidence(o, "usable cores", cores, "count", NULL);
    outcome_evidence_per(o, "computing of the model", ms(computes), "ms", NULL);
    o->error_class = ERROR_RERUN_DECIDES; /* small operators do not get faster with threads */
    remedy_number(&o->remedy, PARAM_THREADS, each);
    outcome_fires(o, computes - (int64_t)((double)computes * threads / each),
                  arena_printf(arena,
                               "the model computes %s %s with %d thread%s; the program may "
                               "use %d cores%s",
                               time_text(arena, computes), scope_words(f)->per, threads,
                               threads == 1 ? "" : "s", cores,
                               ranks > 1 ? ", shared by its ranks" : ""));
}

static void check_compute_threads(const struct facts *f, struct arena *arena, struct outcome *o)
{
    int threads = query_compute_threads(f), cores = f->host.usable_cores,
        ranks = query_ranks_here(f);
    const int64_t *part = f->breakdown_ns;
    int64_t computes =
        part[PART_FORWARD] + part[PART_BACKWARD] + part[PART_OPTIMIZER] - query_cause_in_model(f);
    if (!f->on_cpu) {
        o->why = "the model computes on a GPU";
        return;
    }
    if (!threads || cores <= 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: how many threads PyTorch computes with, or how many cores there "
                 "are (gpuprof run records both)";
        return;
    }
    o->why = arena_printf(arena,
                          "PyTorch computes with %d thread%s in each of %d rank%s, on %d "
                          "core%s",
                          threads, threads == 1 ? "" : "s", ranks, ranks == 1 ? "" : "s", cores,
                          cores == 1 ? "" : "s");
    if (is_crowded(f, threads * ranks, computes)) {
        fire_crowded(f, arena, o, computes);
        return;
    }
    if (threads * ranks * RULES_FEW_THREADS > cores ||
        computes * 100 < f->step_ns * RULES_COMPUTES_PCT)
        return;
    if (computes < RULES_THREADED_US * INT64_C(1000)) {
        o->why = arena_printf(
            arena, "the model computes %s %s: its operations are too small for more threads",
            time_text(arena, computes), scope_words(f)->per);
        return;
    }
    if (f->host.starved_ns * QUERY_SOME >= f->step_ns) {
        o->why = arena_printf(
            arena,
            "the training thread itself has no core for %s %s: more threads would wait for "
            "one, too",
            time_text(arena, f->host.starved_ns), scope_words(f)->per);
        return;
    }
    fire_few(f, arena, o, computes);
}

const struct rule rule_compute_threads = {
    .id = "compute-threads",
    .title = "Let PyTorch compute on all cores",
    .needs = HAVE_STEPS,
    .check = check_compute_threads,
    .looks_for =
        "A model that computes on the CPU for half of the step or more, with at most half "
        "as many threads as cores, over all ranks, a millisecond in each step at least; or with "
        "twice as many threads as cores or more, where the training thread has no core for a tenth "
        "of the step. Not if the one thread lacks a core for so long: others have the cores then.",
    .doc =
        "torch.set_num_threads(1) or OMP_NUM_THREADS=1, as launchers set it, leaves the other "
        "cores idle where the model computes on the CPU. The bound assumes that twice the "
        "threads take half the time; small operators gain little or nothing, and a rerun "
        "decides. Threads without cores make each operation wait for the slowest: launchers and "
        "batch systems that count the node's cores set so many. Other programs may take the cores "
        "as well, so the bound is all of the computing.",
    .remedy = {.action = ACTION_SET_COMPUTE_THREADS, .object.kind = OBJECT_PROGRAM},
    .program = {.line = FACT_TORCH_NUM_THREADS_WHERE},
    .tips = {{"affinity", "Pin threads to cores; start no more threads than there are cores",
              "gpuprof sees time without a core and how many threads need one; it does not see the "
              "wrong NUMA node"}},
};
