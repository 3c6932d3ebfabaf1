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

static void check(struct analysis *a, struct outcome *o)
{
    const struct timeline *t = a->tl;
    const struct host_facts *h = &a->host;
    const char *loader = timeline_meta(t, "torch.loader");
    const char *where = timeline_meta(t, "torch.loader.where");
    if (t->op_count) {
        o->why = "there is a GPU at work: num-workers looks at its idle time";
        return;
    }
    o->why = arena_printf(&a->arena, "the training thread waits %.3f ms per step for data",
                          ms(h->wait_ns));
    if (share_pct(a, h->wait_ns) < 5)
        return;
    int n = workers_for(a);
    if (n > 0 && n <= h->loader_workers) {
        o->verdict = RULE_SUPPRESSED;
        o->why = arena_printf(&a->arena,
                              "%d workers already use all %d cores: make a batch cheaper instead",
                              h->loader_workers, h->usable_cores);
        return;
    }
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
    o->remedy = o->rule->remedy;
    if (n > 0) {
        o->knob = arena_printf(&a->arena, "num_workers=%d", n);
        o->remedy.pytorch = arena_printf(
            &a->arena, "DataLoader(..., num_workers=%d, persistent_workers=True)%s%s%s%s", n,
            where ? ", looped over at " : "", where ? where : "", loader ? "; now " : "",
            loader ? loader : "");
    }
    outcome_fires(
        o, h->wait_ns,
        arena_printf(&a->arena,
                     "no GPU work was recorded; the loop%s%s waits %.1f ms of %.1f ms "
                     "per step for the next batch%s",
                     where ? " at " : "", where ? where : "", ms(h->wait_ns),
                     ms(a->steps.median_ns),
                     h->loader_workers == 0 ? ", which the training thread makes itself" : ""));
}

const struct rule rule_data_loading = {
    .id = "data-loading",
    .title = "Load data ahead of the loop",
    .needs = HAVE_LOADER | HAVE_STEPS,
    .check = check,
    .looks_for = "A program without GPU work whose training thread waits for its next batch.",
    .doc = "Told by the loader's own records and the steps alone, where no GPU was at work. The "
           "saving is the most that it could be: workers compute on cores that the training may "
           "want as well. Where making a batch mostly waits (for a disk, a network), workers help "
           "beyond the number of cores.",
    .remedy = {"DataLoader(..., num_workers=N, prefetch_factor=2, persistent_workers=True)",
               "dataset.map(f, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)",
               "reader threads that fill a ring of batch slots ahead of the loop"},
    .knob = "num_workers",
};
