/* Input-bound without a GPU: told by the loader's records and the steps of a framework hook alone.
 * With a GPU, num-workers says it better: there the GPU's idle time is known. */
#include "analyzer/rules/look.h"

enum { IO_WORKERS = 16 }; /* most that are worth a try where workers mostly sleep */

/* Workers that keep up with the rest of the step, as far as there are cores for what they compute;
 * 0 = the cost of a batch is not known. */
static int workers_for(const struct analysis *a)
{
    const struct host_facts *h = &a->host;
    int64_t rest = a->steps.median_ns - h->wait_ns;
    if (h->fetch_ns <= 0)
        return 0;
    int64_t n = rest > 0 ? (h->fetch_ns + rest - 1) / rest : IO_WORKERS;
    bool sleeps = h->fetch_cpu_ns > 0 && h->fetch_cpu_ns * 2 < h->fetch_ns;
    int most = sleeps || h->usable_cores <= 0 ? IO_WORKERS : h->usable_cores;
    if (h->loader_workers > 0 && n <= h->loader_workers)
        n = h->loader_workers + 1;
    return n > most ? most : (int)n;
}

/* The workers are done long before the loop asks: what it waits for is the batch on its way from
 * one process to the other. */
static bool hands_over(const struct analysis *a)
{
    const struct host_facts *h = &a->host;
    return h->loader_workers > 0 && h->fetch_ns > 0 &&
           h->fetch_ns * 2 < a->steps.median_ns * h->loader_workers;
}

static void show_evidence(const struct host_facts *h, struct outcome *o)
{
    outcome_evidence(o, "waiting for data per step", ms(h->wait_ns), "ms",
                     "SELECT * FROM loader_span WHERE what = 0");
    outcome_evidence(o, "making one batch takes", ms(h->fetch_ns), "ms",
                     "SELECT * FROM loader_span WHERE what = 1");
    if (h->fetch_cpu_ns > 0)
        outcome_evidence(o, "of that on a CPU", ms(h->fetch_cpu_ns), "ms", NULL);
    if (h->loader_workers >= 0)
        outcome_evidence(o, "workers", h->loader_workers, "count", NULL);
    if (h->usable_cores > 0)
        outcome_evidence(o, "usable cores", h->usable_cores, "count", NULL);
}

/* Does the loader's making of batches hold the loop up, and would more workers mend it? */
static void more_workers(struct analysis *a, struct outcome *o, const char *loop)
{
    const struct host_facts *h = &a->host;
    int n = workers_for(a);
    if (n > 0 && n <= h->loader_workers) {
        o->verdict = RULE_SUPPRESSED;
        o->why = arena_printf(&a->arena,
                              "%d workers already use all %d cores: make a batch cheaper instead",
                              h->loader_workers, h->usable_cores);
        return;
    }
    show_evidence(h, o);
    if (n > 0) {
        o->knob = arena_printf(&a->arena, "num_workers=%d", n);
        o->remedy.pytorch =
            arena_printf(&a->arena, "DataLoader(..., num_workers=%d, persistent_workers=True)", n);
    }
    outcome_fires(
        o, h->wait_ns,
        arena_printf(&a->arena,
                     "no GPU work was recorded; %s waits %.1f ms of %.1f ms per step for "
                     "the next batch%s",
                     loop, ms(h->wait_ns), ms(a->steps.median_ns),
                     h->loader_workers == 0 ? ", which the training thread makes itself" : ""));
}

static void cheaper_hand_over(struct analysis *a, struct outcome *o, const char *loop)
{
    const struct host_facts *h = &a->host;
    bool alone = h->fetch_ns < h->wait_ns;
    show_evidence(h, o);
    if (alone)
        o->knob = "num_workers=0";
    o->remedy.pytorch =
        alone ? "DataLoader(..., num_workers=0): data this cheap is made faster than it is "
                "handed over; or larger batches"
              : "larger batches, and few large tensors in each rather than many small "
                "ones or Python objects";
    outcome_fires(o, alone ? h->wait_ns - h->fetch_ns : h->wait_ns,
                  arena_printf(&a->arena,
                               "no GPU work was recorded; %s waits %.1f ms of %.1f ms per step, "
                               "though %s a batch in %.1f ms: the rest is the way from process to "
                               "process",
                               loop, ms(h->wait_ns), ms(a->steps.median_ns),
                               h->loader_workers == 1 ? "a worker makes" : "each worker makes",
                               ms(h->fetch_ns)));
}

static void check(struct analysis *a, struct outcome *o)
{
    const struct timeline *t = a->tl;
    const char *where = timeline_meta(t, "torch.loader.where");
    if (t->op_count || !t->loader_count) {
        o->why = t->op_count ? "there is a GPU at work: num-workers looks at its idle time"
                             : "no loader of a framework was at work";
        return;
    }
    o->why = arena_printf(&a->arena, "the training thread waits %.3f ms per step for data",
                          ms(a->host.wait_ns));
    if (share_pct(a, a->host.wait_ns) < 5)
        return;
    const char *loop = where ? arena_printf(&a->arena, "the loop at %s", where) : "the loop";
    o->remedy = o->rule->remedy;
    if (hands_over(a))
        cheaper_hand_over(a, o, loop);
    else
        more_workers(a, o, loop);
}

const struct rule rule_data_loading = {
    .id = "data-loading",
    .title = "Load data ahead of the loop",
    .needs = HAVE_STEPS,
    .check = check,
    .looks_for = "A program without GPU work whose training thread waits for its next batch.",
    .doc = "Told by the loader's own records and the steps alone, where no GPU was at work. The "
           "saving is the most that it could be: workers compute on cores that the training may "
           "want as well. Where making a batch mostly waits (for a disk, a network), workers help "
           "beyond the number of cores. Where the workers have long made the batch that the loop "
           "waits for, the way from process to process is what costs.",
    .remedy = {"DataLoader(..., num_workers=N, prefetch_factor=2, persistent_workers=True)",
               "dataset.map(f, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)",
               "reader threads that fill a ring of batch slots ahead of the loop"},
    .knob = "num_workers",
};
