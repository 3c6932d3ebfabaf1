/* Fires if the loader's workers are ready to run but have no core. */
#include "analyzer/advice/outcome_loader.h"
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/input/feed.h"
#include "analyzer/queries/input/handed.h"
#include "analyzer/queries/input/loader.h"
#include "wire/fact_keys.h"

/* True if it is another program that keeps this one's threads from the cores, not a limit on them. */
static bool others_have_cores(const struct facts *f, const struct query_loader *l)
{
    return query_others_compute(l, f->host.usable_cores) &&
           query_limited_pct(f) < QUERY_LIMITED_PCT;
}

/* Returns why another rule or the verdict answers instead, or NULL. */
static const char *why_not_now(const struct facts *f, struct arena *arena,
                               const struct query_loader *l, const char *starved)
{
    int cores = f->host.usable_cores;
    if (query_lack_of_core_dominates(f) && others_have_cores(f, l))
        return arena_printf(arena,
                            "%s, and the training thread has none either: another program has the "
                            "cores, and the verdict is about that",
                            starved);
    if (!query_training_lacks_core(f) || query_report_workers_not_thread(f, l) || cores <= 0 ||
        query_others_compute(l, cores))
        return NULL;
    return arena_printf(arena,
                        "%s, and the training thread has none either: one cause, which "
                        "cpu-contention counts for both",
                        starved);
}

static void add_evidence(const struct facts *f, struct outcome *o, const struct query_loader *l)
{
    const char *rows = "SELECT * FROM host_sample WHERE run_queue_ns > 0";
    outcome_awaited_evidence(f, o, l);
    outcome_evidence(o, "share of their time: ready to run, but without a core",
                     query_starved_pct(l), "%", rows);
    outcome_evidence(o, "cores that the program's threads want on average", l->wanted_cores,
                     "count", "SELECT * FROM host_sample");
    if (f->host.usable_cores > 0)
        outcome_evidence(o, "usable cores", f->host.usable_cores, "count", NULL);
    double limited = query_limited_pct(f);
    if (limited > 0)
        outcome_evidence(o, "periods in which the program used up the container's CPU limit",
                         limited, "%", "SELECT * FROM fact WHERE key LIKE 'cgroup_cpu_%'");
    if (query_training_lacks_core(f))
        outcome_evidence_per(o, "training thread ready, but without a core,",
                             ms(f->host.starved_ns), "ms", rows);
}

/* Where the loader is made: what the program can change is the number of its workers. */
static void name_loader(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct feed feed;
    if (o->remedy.action != ACTION_FREE_CORES_FOR_WORKERS || !query_feed(f, arena, &feed) ||
        feed.foreign)
        return;
    o->remedy.object.place = query_feed_fact(f, arena, &feed, FACT_LOADER_MADE);
}

static void starved(const struct facts *f, struct arena *arena, struct outcome *o,
                    const struct query_loader *l, int64_t idle)
{
    const char *whose = "", *also = "", *confined = query_confined_text(f, arena);
    bool one = l->workers == 1;
    if (others_have_cores(f, l)) {
        whose = arena_printf(arena,
                             " (another program has the cores: this one's threads use %.1f of %d)",
                             l->used_cores, f->host.usable_cores);
        o->remedy.action = ACTION_GET_CORES; /* the number of workers matters little */
    }
    if (*confined)
        o->remedy.action = ACTION_USE_CORES_GIVEN;
    name_loader(f, arena, o);
    if (query_training_lacks_core(f)) /* one cause: cores for all of them end both */
        also = arena_printf(arena, ", and %s for the training thread, which lacks a core, too",
                            time_text(arena, query_awaits_host(f)));
    outcome_fires(o, query_cores_save(f, idle),
                  arena_printf(arena,
                               "the loader's %zu worker%s no core during %.0f %% of %s work%s; the "
                               "GPU waits for %s %s %s%s%s",
                               l->workers, one ? " has" : "s have", query_starved_pct(l),
                               one ? "its" : "their", whose, one ? "it" : "them",
                               time_text(arena, idle), scope_words(f)->per, also, confined));
    outcome_example_gaps(o, f, PART_IDLE_INPUT, "GPU idle, next batch not ready");
}

static void check_starved_workers(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_loader l;
    if (!outcome_awaited_loader(f, arena, o, &l))
        return;
    double share = query_starved_pct(&l);
    if (share < 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: how long the loader's workers wait for a core (gpuprof run samples "
                 "it if the kernel reports it)";
        return;
    }
    o->why = arena_printf(arena, "the workers wait for a core during %.0f %% of their work", share);
    if (share < QUERY_STARVED_PCT)
        return;
    int64_t idle = f->breakdown_ns[PART_IDLE_INPUT], starting = query_feed_starting(f, arena);
    /* Cores shorten what comes before a loop's first batch, and hide none of it. */
    starting += (int64_t)((double)query_feed_opening(f, arena) * (1 - share / 100));
    idle -= starting < idle ? starting : idle;
    const char *not_now = why_not_now(f, arena, &l, o->why);
    if (!not_now && starting && idle * QUERY_WORTH < f->step_ns)
        not_now =
            "the GPU waits for what each loop over the loader starts with: see worker-startup, "
            "slow-first-batch";
    if (!not_now && query_handed_ns(f) * 2 >= idle && query_batch_tensors(f) >= RULES_MANY_TENSORS)
        not_now =
            "most of the wait is for tensors that are taken over one by one: see many-tensors";
    if (not_now) {
        o->verdict = RULE_SUPPRESSED;
        o->why = not_now;
        return;
    }
    add_evidence(f, o, &l);
    starved(f, arena, o, &l, idle);
}

const struct rule rule_starved_workers = {
    .id = "starved-workers",
    .title = "Give the loader's workers the cores that they need",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_WAITS | HAVE_STEPS,
    .check = check_starved_workers,
    .about_input = true,
    .looks_for = "A GPU that waits for data while the loader's workers wait for a core.",
    .doc =
        "More workers than cores compete with each other and with the training thread; so do "
        "other programs, and libraries that start a thread per core in each worker. Even more "
        "workers make it worse. Use fewer threads per worker, give the job more cores, or make "
        "each batch cheaper. Some packages pin the process that imports them to one core, and its "
        "workers inherit that. The bound is the whole waiting time, since workers with enough "
        "cores may stay ahead of the loop, and the wait for the training thread where that lacks "
        "a core, too.",
    .remedy = {.action = ACTION_FREE_CORES_FOR_WORKERS, .object.kind = OBJECT_LOADER},
    .tips = {{"enough-cores", "Give the loader the cores that it needs", NULL}},
};
