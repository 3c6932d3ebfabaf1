/* Fires if the training thread is ready to launch but has no core, because more threads want a core
 * than there are. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/input/loader.h"

#include <stdlib.h>

static void add_evidence(const struct facts *f, struct outcome *o, const struct query_loader *l)
{
    const char *rows = "SELECT * FROM host_sample WHERE run_queue_ns > 0";
    const char *omp = timeline_meta(f->tl, "env.OMP_NUM_THREADS");
    outcome_evidence_per(o, "training thread ready, but without a core,", ms(f->host.starved_ns),
                         "ms", rows);
    outcome_evidence(o, "cores that the program's threads want on average", l->wanted_cores,
                     "count", "SELECT * FROM host_sample");
    outcome_evidence(o, "cores that they have on average", l->used_cores, "count",
                     "SELECT * FROM host_sample");
    outcome_evidence(o, "usable cores", f->host.usable_cores, "count",
                     "SELECT * FROM fact WHERE key = 'usable_cores'");
    if (omp)
        outcome_evidence(o, "OMP_NUM_THREADS", atoi(omp), "count",
                         "SELECT * FROM fact WHERE key = 'env.OMP_NUM_THREADS'");
    if (query_limited_pct(f) > 0)
        outcome_evidence(o, "periods in which the program used up the container's CPU limit",
                         query_limited_pct(f), "%",
                         "SELECT * FROM fact WHERE key LIKE 'cgroup_cpu_%'");
}

/* The finding for a container's CPU limit: the kernel stops all threads of a group that has used up
 * its share of a period. */
static void limited(const struct facts *f, struct arena *arena, struct outcome *o,
                    const struct query_loader *l)
{
    const char *quota = timeline_meta(f->tl, "cgroup_cpu_quota");
    o->error_class = ERROR_RERUN_DECIDES;
    outcome_fires(o, query_cores_save(f, query_awaits_starved(f, l)),
                  arena_printf(arena,
                               "the program used up the container's limit of %s cores in %.0f %% "
                               "of the periods: the training thread stops for %s %s, and the GPU "
                               "waits (give the job more cores, or run fewer busy threads)",
                               quota ? quota : "its", query_limited_pct(f),
                               time_text(arena, f->host.starved_ns), scope_words(f)->per));
    outcome_example_gaps(o, f, PART_IDLE_HOST, "GPU idle, host thread without a core");
}

/* Returns why another rule or program is the cause, or NULL. */
static const char *why_not_now(const struct facts *f, struct arena *arena,
                               const struct query_loader *l)
{
    const char *starved = time_text(arena, f->host.starved_ns);
    if (query_others_compute(l, f->host.usable_cores))
        return arena_printf(arena,
                            "the training thread had no core for %s %s, although this program's "
                            "threads use only %.1f of %d: another program took the core",
                            starved, scope_words(f)->per, l->used_cores, f->host.usable_cores);
    if (query_report_workers_not_thread(f, l))
        return arena_printf(arena,
                            "the training thread had no core for %s %s, nor have the loader's "
                            "workers: one cause, which starved-workers counts for both",
                            starved, scope_words(f)->per);
    return NULL;
}

/* The finding for more busy threads than cores. */
static void crowded(const struct facts *f, struct arena *arena, struct outcome *o,
                    const struct query_loader *l)
{
    int64_t input = query_awaits_starved(f, l);
    const char *confined = query_confined_text(f, arena);
    const char *omp = timeline_meta(f->tl, "env.OMP_NUM_THREADS");
    add_evidence(f, o, l);
    if (omp && atoi(omp) == 1) /* torchrun's default */
        o->remedy.action = ACTION_START_FEWER_PROCESSES;
    if (*confined)
        o->remedy.action = ACTION_USE_CORES_GIVEN;
    o->error_class = ERROR_RERUN_DECIDES;
    outcome_fires(
        o, query_cores_save(f, input),
        arena_printf(arena,
                     "the program's threads need %.1f cores but may use %d: the training thread "
                     "waits %s %s for a core, and the GPU waits%s%s",
                     l->wanted_cores, f->host.usable_cores, time_text(arena, f->host.starved_ns),
                     scope_words(f)->per,
                     input ? ", also for the loader's workers, which lack cores, too" : "",
                     confined));
    outcome_example_gaps(o, f, PART_IDLE_HOST, "GPU idle, host thread without a core");
}

static void check_cpu_contention(const struct facts *f, struct arena *arena, struct outcome *o)
{
    int64_t starved = f->host.starved_ns;
    if (starved < 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: how long the training thread waits for a core (gpuprof run samples "
                 "it if the kernel reports it)";
        return;
    }
    int64_t idle = query_awaits_host(f);
    o->why = arena_printf(
        arena, "the training thread had no core for %s %s, and the GPU waited for the host %s",
        time_text(arena, starved), scope_words(f)->per, time_text(arena, idle));
    if (!query_training_lacks_core(f))
        return;
    struct query_loader l = query_loader(f, arena);
    int cores = f->host.usable_cores;
    if (cores <= 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: how many cores the program may use (gpuprof run records it)";
        return;
    }
    if (l.wanted_cores < cores * QUERY_OTHERS_WANTED && query_limited_pct(f) >= QUERY_LIMITED_PCT) {
        add_evidence(f, o, &l);
        limited(f, arena, o, &l);
        return;
    }
    const char *not_now = why_not_now(f, arena, &l);
    if (not_now) {
        o->verdict = RULE_SUPPRESSED;
        o->why = not_now;
        return;
    }
    crowded(f, arena, o, &l);
}

const struct rule rule_cpu_contention = {
    .id = "cpu-contention",
    .title = "Give the training thread a core of its own",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_cpu_contention,
    .no_core = true,
    .in_window = true,
    .looks_for = "A training thread that is ready to run but has no core, while the GPU idles and "
                 "the program's threads need more cores than the program may use.",
    .doc =
        "Thread pools of every library and every rank, each as large as the machine, compete for "
        "the cores of one job, and the thread that launches GPU work loses its turn. One process "
        "per GPU should use cores / GPUs threads, and stay on the cores next to its GPU. Once the "
        "threads of a container have used up its CPU limit, the kernel stops all of them for the "
        "rest of the period, even if cores are idle. Waits that other programs cause are no "
        "finding: the verdict names them. The bound is the whole time in which the GPU waits for "
        "the host, because a thread on a crowded core also runs more slowly, and for the loader's "
        "workers where they lack cores, too.",
    .remedy = {.action = ACTION_FREE_A_CORE},
    .tips = {{"affinity", "Pin threads to cores; start no more threads than there are cores",
              "gpuprof sees time without a core and how many threads need one; it does not see the "
              "wrong NUMA node"}},
};
