/* Input-bound without a GPU: told by the loader's records and the steps of a framework hook alone.
 * With a GPU, num-workers says it better: there the GPU's idle time is known. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/input/feed.h"

#include <math.h>
#include <string.h>

static void show_evidence(const struct facts *facts, struct arena *arena, const struct feed *f,
                          struct outcome *o)
{
    outcome_evidence_per(o, "average time of waiting for data", f->wait_ns / 1e6, "ms",
                         "SELECT * FROM loader_span WHERE what IN (0, 4, 5)");
    outcome_evidence(o, "a step, on average", f->step_ns / 1e6, "ms", NULL);
    outcome_evidence(o, "making one batch takes", f->fetch_ns / 1e6, "ms",
                     "SELECT * FROM loader_span WHERE what = 1");
    if (f->cpu_ns > 0)
        outcome_evidence(o, "of that, CPU time", f->cpu_ns / 1e6, "ms", NULL);
    if (f->collate_ns * 10 > f->fetch_ns) {
        const char *by = query_feed_fact(facts, arena, f, "collate");
        outcome_evidence(o,
                         arena_printf(arena, "of that, in the collate function%s%s", by ? ", " : "",
                                      by ? by : ""),
                         f->collate_ns / 1e6, "ms", "SELECT * FROM loader_span WHERE what = 2");
    }
    if (f->have >= 0)
        outcome_evidence(o, "workers", f->have, "count", NULL);
    if (f->cores > 0)
        outcome_evidence(o, f->others ? "cores that other programs leave free" : "usable cores",
                         f->cores, "count",
                         "SELECT * FROM fact WHERE key IN ('usable_cores', 'process_cores', "
                         "'idle_cores')");
    if (f->have > 0 && f->hand_seen)
        outcome_evidence(o, "transfer from a worker to the loop, at most", f->hand_hi / 1e6, "ms",
                         NULL);
}

/* "making a batch: Dataset.__getitem__ data.py:12": whose lines cost the time, most first. */
static const char *whose(const struct facts *facts, struct arena *arena, const struct feed *f)
{
    const char *item = query_feed_fact(facts, arena, f, "dataset"),
               *by = query_feed_fact(facts, arena, f, "collate");
    if (f->fetch_ns <= 0)
        return "";
    if (f->collate_ns * 2 > f->fetch_ns)
        return arena_printf(arena,
                            "; the collate function takes %.0f %% of the time of a batch%s%s",
                            100 * f->collate_ns / f->fetch_ns, by ? " in " : "", by ? by : "");
    return item ? arena_printf(arena, "; %s makes the batches", item) : "";
}

/* The workers are done long before the loop asks: what it waits for is the batch on its way. */
static bool hands_over(const struct feed *f)
{
    return f->have > 0 && f->fetch_ns > f->queue_ns * 2 &&
           f->batches * f->fetch_ns * 2 < f->step_ns * f->have &&
           (f->startup_ns < 0 || f->startup_ns * f->loops / f->steps * 2 < f->wait_ns);
}

static void fires(const struct facts *facts, struct arena *arena, struct outcome *o,
                  const struct feed *f, double most_ns)
{
    const char *where = query_feed_fact(facts, arena, f, "where");
    outcome_fires(o, query_feed_share(facts, f, most_ns),
                  arena_printf(arena,
                               "the recording contains no GPU work; %s%s waits %.1f ms of %.1f ms "
                               "%s for the next batch%s%s",
                               where ? "the loop at " : "the loop", where ? where : "",
                               f->wait_ns / 1e6, f->step_ns / 1e6, scope_words(facts)->per,
                               f->ahead       ? " of a thread that reads ahead"
                               : f->have == 0 ? ", which the training thread makes"
                                              : "",
                               hands_over(f) ? ", mostly for its transfer between processes"
                                             : whose(facts, arena, f)));
}

/* Each worker would deliver all of it, and the runtime refuses to be told. */
static void shard(const struct facts *facts, struct arena *arena, struct outcome *o,
                  const struct feed *f)
{
    show_evidence(facts, arena, f, o);
    o->remedy.pytorch = query_feed_line(facts, arena, f, f->shards ? QUERY_SHARDED : QUERY_SHARD);
    fires(facts, arena, o, f, f->wait_ns);
}

static void change(const struct facts *facts, struct arena *arena, struct outcome *o,
                   const struct feed *f, int n)
{
    struct feed_step s = query_feed_step(f, n);
    bool lasts = n > 0 && !f->persistent && !f->anew;
    const char *setting =
        arena_printf(arena, "num_workers=%d%s", n, lasts ? ";persistent_workers=1" : "");
    show_evidence(facts, arena, f, o);
    o->setting = query_feed_setting(facts, arena, f, setting);
    o->remedy.pytorch = query_feed_line(
        facts, arena, f,
        n == 0 ? "DataLoader(..., num_workers=0): making such a cheap batch takes less time than "
                 "handing it over; or use larger batches"
               : arena_printf(arena, "DataLoader(..., num_workers=%d%s)%s", n,
                              f->anew ? "" : ", persistent_workers=True",
                              n < f->have ? ": more workers only compete for the cores with each "
                                            "other and with the loop"
                                          : query_feed_first_workers(facts, arena, f)));
    fires(facts, arena, o, f, f->step_ns - s.low_ns);
    double saves = f->step_ns - s.mid_ns, doubt = 0.02 * f->step_ns + 0.1 * saves;
    double least = fmax(s.low_ns - doubt, s.low_ns / 2); /* a step takes some time */
    o->upper_bound = false;
    o->saves_low_ns = query_feed_share(facts, f, f->step_ns - s.high_ns - doubt);
    o->saves_mid_ns = query_feed_share(facts, f, saves);
    o->saves_high_ns = query_feed_share(facts, f, f->step_ns - least);
    o->saves_low_ns = o->saves_low_ns > 0 ? o->saves_low_ns : 0;
    o->saves_high_ns = o->saves_high_ns < facts->step_ns ? o->saves_high_ns : facts->step_ns;
    o->own_low_ns = o->saves_low_ns;
    o->own_high_ns = o->saves_high_ns;
}

static const char *cores_words(const struct facts *facts, struct arena *arena, const struct feed *f)
{
    if (f->others)
        return arena_printf(arena, "the %.1f of %d cores that other programs leave free", f->cores,
                            facts->host.usable_cores);
    return arena_printf(arena, "%d usable core%s", facts->host.usable_cores,
                        facts->host.usable_cores == 1 ? "" : "s");
}

static void no_better_number(const struct facts *facts, struct arena *arena, struct outcome *o,
                             const struct feed *f)
{
    if (hands_over(f)) {
        show_evidence(facts, arena, f, o);
        o->remedy.pytorch = query_feed_line(
            facts, arena, f,
            "use larger batches, each with few large tensors instead of many small ones or Python "
            "objects: the transfer between processes costs more than making the batch");
        fires(facts, arena, o, f, f->wait_ns);
        return;
    }
    o->verdict = RULE_SUPPRESSED;
    const char *by = whose(facts, arena, f);
    if (f->have > 0 && f->startup_ns * f->loops / f->steps * 2 > f->wait_ns)
        o->why = "the loop waits for workers to start, not for batches: see worker-startup";
    else if (f->fetch_ns < f->hand_hi && f->have <= 0)
        o->why = arena_printf(arena,
                              "making a batch takes %.2f ms, and handing one over from a worker "
                              "takes %.1f to %.1f ms: make each batch cheaper instead%s",
                              f->fetch_ns / 1e6, f->hand_low / 1e6, f->hand_hi / 1e6, by);
    else
        o->why = arena_printf(
            arena, "%s %s: make each batch cheaper instead%s",
            f->have > 0
                ? arena_printf(
                      arena,
                      "no other number of workers is certain to be better than the present %d on",
                      f->have)
                : arena_printf(
                      arena,
                      "the program computes on %.1f cores, which leaves no core for a worker, of",
                      (f->train_ns + f->batches * fmax(f->cpu_ns, 0)) / f->step_ns),
            cores_words(facts, arena, f), by);
}

static void unknown_cost(const struct facts *facts, struct arena *arena, struct outcome *o,
                         const struct feed *f)
{
    show_evidence(facts, arena, f, o);
    o->remedy.pytorch = query_feed_line(
        facts, arena, f,
        "DataLoader(..., num_workers=N, persistent_workers=True): the recording lacks the cost of "
        "a batch, the waits of workers, or the number of cores, so time several values of N");
    fires(facts, arena, o, f, f->wait_ns);
}

/* Of a trace of PyTorch's profiler: it has the ranges in which the loop asks its loader, and no
 * record of a loader. */
static bool makes_itself(const struct facts *facts)
{
    const struct timeline *t = facts->tl;
    const struct thread *th = &t->threads[facts->steps.main_thread];
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges; i++)
        if (strstr(tl_text(t, t->ranges[i].name), "_SingleProcessDataLoaderIter"))
            return true;
    return false;
}

static void of_trace(const struct facts *facts, struct arena *arena, struct outcome *o)
{
    int64_t wait = facts->breakdown_ns[PART_DATA];
    o->why = arena_printf(arena, "the training thread waits %.3f ms %s for data",
                          (double)wait / 1e6, scope_words(facts)->per);
    if (wait * 20 < facts->step_ns)
        return;
    bool itself = makes_itself(facts);
    o->remedy = o->rule->remedy;
    o->remedy.pytorch = itself ? "DataLoader(..., num_workers=N, persistent_workers=True): the "
                                 "recording lacks the cost of a batch, so time several values of N"
                               : "more workers, up to the number of cores, or cheaper batches: "
                                 "gpuprof run records what each takes";
    outcome_evidence_per(o, "waiting for data", (double)wait / 1e6, "ms", NULL);
    outcome_fires(o, wait,
                  arena_printf(arena,
                               "the recording contains no GPU work; the loop waits %.1f ms of %.1f "
                               "ms %s for the next batch%s",
                               (double)wait / 1e6, (double)facts->step_ns / 1e6,
                               scope_words(facts)->per,
                               itself ? ", which the training thread makes" : ""));
}

static void check_data_loading(const struct facts *facts, struct arena *arena, struct outcome *o)
{
    const struct timeline *t = facts->tl;
    struct feed f;
    if (facts->on_cpu && timeline_meta(t, "trace.devices") && facts->breakdown_ns[PART_DATA] > 0) {
        of_trace(facts, arena, o);
        return;
    }
    if (t->op_count || !t->loader_count) {
        o->why = t->op_count ? "the program uses a GPU: num-workers examines its idle time"
                             : "the program used no framework's data loader";
        return;
    }
    if (!query_feed(facts, arena, &f)) {
        o->why = "no step waits for data";
        return;
    }
    o->why = arena_printf(arena, "the training thread waits %.3f ms %s for data", f.wait_ns / 1e6,
                          scope_words(facts)->per);
    if (f.wait_ns * 20 < f.step_ns)
        return;
    const char *library = query_feed_refuses_workers(facts, arena, &f);
    if (library) {
        o->verdict = RULE_SUPPRESSED;
        o->why = arena_printf(
            arena,
            "%s starts no workers where it trains on the CPU: make each batch cheaper instead%s",
            library, whose(facts, arena, &f));
        return;
    }
    o->remedy = o->rule->remedy;
    bool told = f.batches > 0 && f.fetch_ns > 0 && f.cores > 0 && (f.have <= 0 || f.sleep_known);
    int n = told ? query_feed_best(&f) : -1;
    if (f.iterable)
        shard(facts, arena, o, &f);
    else if (n < 0)
        unknown_cost(facts, arena, o, &f);
    else if (n != f.have)
        change(facts, arena, o, &f, n);
    else
        no_better_number(facts, arena, o, &f);
}

const struct rule rule_data_loading = {
    .id = "data-loading",
    .title = "Load data ahead of the loop",
    .needs = HAVE_STEPS,
    .check = check_data_loading,
    .about_input = true,
    .looks_for = "A program without GPU work whose training thread waits for the next batch.",
    .doc =
        "Applies only to programs that use no GPU. gpuprof reads the loader's own records and "
        "the steps; with several loaders it examines the one that the loop waits for. It "
        "predicts the time of a step with another number of workers as the slowest of three: "
        "the loop plus the transfer of a batch from a worker; the workers; and the cores that "
        "the workers share with the training. If workers wait for a core, use fewer. If making "
        "a batch costs less than its transfer (0.2 to 2 ms, more for large batches), use none. "
        "If making a batch mostly waits for a disk or a network, more workers than cores still "
        "help. Each worker delivers the whole of an IterableDataset that does not split itself. "
        "All figures are means, because workers deliver in bursts. A trace of PyTorch's profiler "
        "has only the waits: the saving is a bound.",
    .remedy = {"DataLoader(..., num_workers=N, prefetch_factor=2, persistent_workers=True)",
               "dataset.map(f, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)",
               "reader threads that fill a ring of batch slots ahead of the loop"},
    .libtorch =
        "torch::data::DataLoaderOptions().workers(N); each thread has a copy of the dataset",
    .setting = "num_workers",
    .tips = {{"loader-workers", "Make batches in several workers, ahead of the loop", NULL}},
};
