/* Input-bound: the GPU is idle while the next batch is awaited, or made, on the training thread. */
#include "analyzer/rules/look.h"

/* Workers that keep up with the rest of the step: cost of a batch / time in which it is used up. */
static int workers_needed(const struct analysis *a)
{
    int64_t fetch = a->host.fetch_cpu_ns > 0 ? a->host.fetch_cpu_ns : a->host.fetch_ns;
    int64_t rest = a->steps.median_ns - a->breakdown_ns[PART_IDLE_INPUT];
    if (fetch <= 0 || rest <= 0)
        return 0;
    return (int)((fetch + rest - 1) / rest);
}

static void advise(struct analysis *a, struct outcome *o, int have, int needed)
{
    int cores = a->host.usable_cores;
    int n = cores > 0 && needed > cores ? cores : needed;
    if (n <= 0) {
        o->remedy.pytorch =
            "DataLoader(..., num_workers=N, persistent_workers=True): the cost of a batch was not "
            "recorded, so try N = 1, 2, 4 up to the cores that are free";
        o->remedy.tensorflow =
            "dataset.map(f, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)";
        o->remedy.cuda =
            "make batches in reader threads that fill a ring of slots ahead of the loop";
        return;
    }
    o->edit = (struct edit){.kind = EDIT_WORKERS, .workers = n};
    o->knob = arena_printf(&a->arena, "num_workers=%d", n);
    o->remedy.pytorch =
        arena_printf(&a->arena, "DataLoader(..., num_workers=%d, persistent_workers=True)", n);
    o->remedy.tensorflow = arena_printf(
        &a->arena, "dataset.map(f, num_parallel_calls=%d).prefetch(tf.data.AUTOTUNE)", n);
    o->remedy.cuda = arena_printf(
        &a->arena, "%d reader thread%s filling a ring of batch slots ahead of the loop", n,
        n == 1 ? "" : "s");
    if (needed > n)
        outcome_evidence(o,
                         "cores that would be needed to keep up (more than there are: make the "
                         "work cheaper, too)",
                         needed, "count", NULL);
    (void)have;
}

static void check(struct analysis *a, struct outcome *o)
{
    int64_t idle = a->breakdown_ns[PART_IDLE_INPUT];
    int have = a->host.loader_workers, needed = workers_needed(a), cores = a->host.usable_cores;
    o->why = arena_printf(&a->arena, "the GPU waits %.3f ms per step for data", ms(idle));
    if (idle * 100 < a->steps.median_ns)
        return;
    if (have > 0 && cores > 0 && have >= cores) {
        o->verdict = RULE_SUPPRESSED;
        o->why = arena_printf(
            &a->arena,
            "%d workers already use all %d cores: more cannot help; make a batch cheaper (smaller "
            "pictures, decoding on the GPU, a cached set)",
            have, cores);
        return;
    }
    outcome_evidence(
        o, "GPU idle for input per step", ms(idle), "ms",
        "SELECT * FROM gap WHERE cause = (SELECT id FROM string WHERE text = 'idle_input')");
    if (a->host.fetch_ns > 0)
        outcome_evidence(
            o, "making one batch takes", ms(a->host.fetch_ns), "ms",
            "SELECT * FROM range WHERE name IN (SELECT id FROM string WHERE text = 'data.decode')");
    if (have >= 0)
        outcome_evidence(o, "workers", have, "count", NULL);
    if (cores > 0)
        outcome_evidence(o, "usable cores", cores, "count", NULL);
    advise(a, o, have, have > 0 && needed <= have && needed > 0 ? have + 1 : needed);
    outcome_fires(
        o, idle,
        have == 0
            ? arena_printf(
                  &a->arena,
                  "the training thread makes each batch itself; the GPU waits %.1f ms of %.1f ms "
                  "per step",
                  ms(idle), ms(a->steps.median_ns))
            : arena_printf(&a->arena,
                           "the GPU waits %.1f ms of %.1f ms per step for the next batch", ms(idle),
                           ms(a->steps.median_ns)));
    look_gap_examples(a, o, PART_IDLE_INPUT, "GPU idle, next batch not there");
}

const struct rule rule_num_workers = {
    .id = "num-workers",
    .title = "Load data in parallel workers",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_RANGES | HAVE_STEPS,
    .check = check,
    .looks_for = "GPU idle while the training thread waits for, or makes, the next batch.",
    .doc = "A batch that is made on the training thread, or by too few workers, holds up the GPU. "
           "The number of workers "
           "is the measured cost of a batch divided by the rest of the step, and never more than "
           "the cores that the "
           "process may use: workers beyond the cores only take time from each other.",
    .remedy = {"DataLoader(..., num_workers=N, prefetch_factor=2, persistent_workers=True)",
               "dataset.map(f, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)",
               "reader threads that fill a ring of batch slots ahead of the loop"},
    .knob = "num_workers",
};
