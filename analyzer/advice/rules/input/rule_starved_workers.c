/* The workers of the loader are ready to compute, but have no core. */
#include "analyzer/advice/outcome_loader.h"
#include "analyzer/advice/rule.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/input/loader.h"

/* Other numbers of workers change little where the cores are another program's. */
static const char own_cores[] = "give the job cores of its own (--cpus-per-task, cpuset), or stop "
                                "the other program, and record again";
static const struct remedy of_others = {own_cores, own_cores, own_cores};

static void check_starved_workers(const struct facts *f, struct arena *arena, struct outcome *o)
{
    int64_t idle = f->breakdown_ns[PART_IDLE_INPUT];
    struct query_loader l;
    if (!outcome_awaited_loader(f, arena, o, &l))
        return;
    if (query_starved_pct(&l) < 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: how long the loader's workers wait for a core (gpuprof run samples "
                 "it if the kernel reports it)";
        return;
    }
    double share = query_starved_pct(&l);
    o->why = arena_printf(arena, "the workers wait for a core during %.0f %% of their work", share);
    if (share < LOADER_STARVED_PCT)
        return;
    const char *rows = "SELECT * FROM host_sample WHERE run_queue_ns > 0";
    outcome_awaited_evidence(f, o, &l);
    outcome_evidence(o, "share of their time: ready to run, but without a core", share, "%", rows);
    outcome_evidence(o, "cores that the program's threads want on average", l.wanted_cores, "count",
                     "SELECT * FROM host_sample");
    if (f->host.usable_cores > 0)
        outcome_evidence(o, "usable cores", f->host.usable_cores, "count", NULL);
    double limited = query_limited_pct(f);
    if (limited > 0)
        outcome_evidence(o, "periods in which the program used up the container's CPU limit",
                         limited, "%", "SELECT * FROM fact WHERE key LIKE 'cgroup_cpu_%'");
    const char *whose = "";
    if (query_others_compute(&l, f->host.usable_cores) && limited < LOADER_LIMITED_PCT) {
        whose = arena_printf(arena,
                             " (another program has the cores: this one's threads use %.1f of %d)",
                             l.used_cores, f->host.usable_cores);
        o->remedy = of_others;
    }
    const char *also = "";
    if (query_training_crowded(f)) { /* one cause: cores for all of them end both */
        also = arena_printf(arena, ", and %.1f ms for the training thread, which lacks a core, too",
                            ms(query_awaits_host(f)));
        outcome_evidence(o, "training thread ready, but without a core, per step",
                         ms(f->host.starved_ns), "ms", rows);
    }
    outcome_fires(o, query_cores_save(f, idle),
                  arena_printf(arena,
                               "the loader's %zu worker%s no core during %.0f %% of %s work%s; "
                               "the GPU waits for %s %.1f ms per step%s",
                               l.workers, l.workers == 1 ? " has" : "s have", share,
                               l.workers == 1 ? "its" : "their", whose,
                               l.workers == 1 ? "it" : "them", ms(idle), also));
    outcome_example_gaps(o, f, PART_IDLE_INPUT, "GPU idle, next batch not ready");
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
        "each batch cheaper. The bound is the whole waiting time, since workers with enough "
        "cores may stay ahead of the loop, and the wait for the training thread where that lacks "
        "a core, too.",
    .remedy = {"set num_workers to at most the number of cores that the training leaves free; "
               "torch.set_num_threads(1) in worker_init_fn, OMP_NUM_THREADS=1; more cores for the "
               "job (--cpus-per-task, cpuset); decode on the GPU (torchvision nvjpeg, DALI)",
               "tf.data.Options().threading.private_threadpool_size = N; more cores for the job",
               "no more reader threads than free cores; decode on the GPU (nvJPEG)"},
    .tips = {{"enough-cores", "Give the loader the cores that it needs", NULL}},
};
