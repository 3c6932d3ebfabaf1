/* The training thread is ready to launch, but has no core: more threads want one than there are. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/input/loader.h"

#include <stdlib.h>

enum {
    LEAST_PCT = 3,  /* of the step; less is any machine's noise */
    LIMITED_PCT = 5 /* of the periods of a CPU limit */
};

static void add_evidence(const struct facts *f, struct outcome *o, const struct query_loader *l)
{
    const char *rows = "SELECT * FROM host_sample WHERE run_queue_ns > 0";
    const char *omp = timeline_meta(f->tl, "env.OMP_NUM_THREADS");
    outcome_evidence(o, "training thread ready, but without a core, per step",
                     ms(f->host.starved_ns), "ms", rows);
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
        outcome_evidence(o, "periods in which the container's CPU limit was used up",
                         query_limited_pct(f), "%",
                         "SELECT * FROM fact WHERE key LIKE 'cgroup_cpu_%'");
}

/* The kernel stops all threads of a group that has used up its share of a period. */
static void limited(const struct facts *f, struct arena *arena, struct outcome *o, int64_t idle)
{
    const char *quota = timeline_meta(f->tl, "cgroup_cpu_quota");
    o->error_class = ERROR_RERUN_DECIDES;
    outcome_fires(o, idle,
                  arena_printf(arena,
                               "the container's limit of %s cores was used up in %.0f %% of its "
                               "periods: the training thread stands still %.1f ms per step, and "
                               "the GPU waits (more cores for the job, or fewer busy threads)",
                               quota ? quota : "its", query_limited_pct(f),
                               ms(f->host.starved_ns)));
    outcome_example_gaps(o, f, PART_IDLE_HOST, "GPU idle, host not there");
}

static void check_cpu_contention(const struct facts *f, struct arena *arena, struct outcome *o)
{
    int64_t starved = f->host.starved_ns;
    const int64_t *part = f->breakdown_ns;
    if (starved < 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: how long the training thread waits for a core (gpuprof run "
                 "samples it where the kernel tells)";
        return;
    }
    int64_t idle = part[PART_IDLE_HOST] + part[PART_IDLE_LAUNCH] + part[PART_IDLE_SYNC];
    int64_t cost = starved < idle ? starved : idle;
    o->why = arena_printf(arena,
                          "the training thread had no core for %.3f ms per step, and the GPU "
                          "waited for the host %.3f ms",
                          ms(starved), ms(idle));
    if (share_pct(f, cost) < LEAST_PCT)
        return;
    struct query_loader l = query_loader(f, arena);
    int cores = f->host.usable_cores;
    if (cores <= 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: how many cores the program may use (gpuprof run records it)";
        return;
    }
    if (l.wanted_cores < cores * 0.9 && query_limited_pct(f) >= LIMITED_PCT) {
        add_evidence(f, o, &l);
        limited(f, arena, o, idle);
        return;
    }
    /* Whom other programs crowd out stands in line, too, but has few cores itself. */
    if (l.wanted_cores < cores * 0.9 || l.used_cores < cores * 0.7) {
        o->why = arena_printf(arena,
                              "the training thread had no core for %.1f ms per step, although "
                              "this program's threads have only %.1f of %d: another program took "
                              "it",
                              ms(starved), l.used_cores, cores);
        return;
    }
    if (part[PART_IDLE_INPUT] > idle && query_starved_pct(&l) >= LOADER_STARVED_PCT) {
        o->verdict = RULE_SUPPRESSED;
        o->why = arena_printf(arena,
                              "the training thread had no core for %.1f ms per step, but the GPU "
                              "waits longer for the loader's workers, which have none either",
                              ms(starved));
        return;
    }
    add_evidence(f, o, &l);
    o->error_class = ERROR_RERUN_DECIDES;
    outcome_fires(o, idle,
                  arena_printf(arena,
                               "the program's threads want %.1f cores of %d: the training thread "
                               "stands in line %.1f ms per step, and the GPU waits",
                               l.wanted_cores, cores, ms(starved)));
    outcome_example_gaps(o, f, PART_IDLE_HOST, "GPU idle, host not there");
}

const struct rule rule_cpu_contention = {
    .id = "cpu-contention",
    .title = "Start no more busy threads than there are cores",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_cpu_contention,
    .looks_for = "The training thread ready to run but without a core, the GPU idle meanwhile, and "
                 "threads of the program that want more cores than it may use.",
    .doc = "A thread pool per library and per rank, each as large as the machine, fights over the "
           "cores of one job; the thread that launches the GPU's work loses its turn. One process "
           "per GPU should use cores / GPUs threads, and stay on the cores next to its GPU. A "
           "container's CPU limit stops all its threads for the rest of a period once they have "
           "used it up, however many cores are idle. Waits caused by other programs are told as "
           "such and are no finding. The bound is all the time in which the GPU waits for the "
           "host: a crowded core is slower, too, while a thread has it.",
    .remedy = {"OMP_NUM_THREADS=cores/ranks, torch.set_num_threads(N); numactl --cpunodebind to "
               "the GPU's node, or torchrun under taskset",
               "TF_GPU_THREAD_MODE=gpu_private; tf.config.threading.set_intra_op_parallelism_"
               "threads(N)",
               "fewer busy threads; pthread_setaffinity_np for the launching thread; block instead "
               "of spinning"},
    .tips = {{"affinity", "Pin threads to cores; do not start more of them than there are cores",
              "time without a core is seen, and how many threads want one; the wrong NUMA node is "
              "not"}},
};
