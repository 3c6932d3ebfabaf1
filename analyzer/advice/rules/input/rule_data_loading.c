/* Fires if a program without a GPU waits for its batches, by the loader's records and the steps of
 * a framework's hook. With a GPU, num-workers answers instead, because it knows the GPU's idle
 * time. */
#include "analyzer/advice/outcome_loader.h"
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/input/feed.h"
#include "wire/fact_keys.h"

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
    if (f->collate_ns * QUERY_SOME > f->fetch_ns) {
        const char *by = query_feed_fact(facts, arena, f, FACT_LOADER_COLLATE);
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

/* Returns whose code makes the batch, e.g. "; Dataset.__getitem__ data.py:12 makes the batches", or
 * "". */
static const char *whose(const struct facts *facts, struct arena *arena, const struct feed *f)
{
    const char *item = query_feed_fact(facts, arena, f, FACT_LOADER_DATASET),
               *by = query_feed_fact(facts, arena, f, FACT_LOADER_COLLATE);
    if (f->fetch_ns <= 0)
        return "";
    if (f->collate_ns * 2 > f->fetch_ns)
        return arena_printf(arena,
                            "; the collate function takes %.0f %% of the time of a batch%s%s",
                            100 * f->collate_ns / f->fetch_ns, by ? " in " : "", by ? by : "");
    return item ? arena_printf(arena, "; %s makes the batches", item) : "";
}

/* Returns true if the workers finish long before the loop asks: then the loop waits for the
 * transfer of the batch. */
static bool hands_over(const struct feed *f)
{
    return f->have > 0 && f->fetch_ns > f->queue_ns * RULES_WELL_BEFORE &&
           f->batches * f->fetch_ns * 2 < f->step_ns * f->have &&
           (f->startup_ns < 0 || f->startup_ns * f->loops / f->steps * 2 < f->wait_ns);
}

static void fires(const struct facts *facts, struct arena *arena, struct outcome *o,
                  const struct feed *f, double most_ns)
{
    const char *where = query_feed_fact(facts, arena, f, FACT_LOADER_WHERE);
    outcome_fires(o, query_feed_share(facts, f, most_ns),
                  arena_printf(arena,
                               "the recording contains no GPU work; %s%s waits %s of %s "
                               "%s for the next batch%s%s",
                               where ? "the loop at " : "the loop", where ? where : "",
                               time_text(arena, (int64_t)f->wait_ns),
                               time_text(arena, (int64_t)f->step_ns), scope_words(facts)->per,
                               f->ahead       ? " of a thread that reads ahead"
                               : f->have == 0 ? ", which the training thread makes"
                                              : "",
                               hands_over(f) ? ", mostly for its transfer between processes"
                                             : whose(facts, arena, f)));
}

/* Remedy for a data set of which every worker would deliver all samples: divide it first. More
 * workers do not help before that. */
static void shard(const struct facts *facts, struct arena *arena, struct outcome *o,
                  const struct feed *f)
{
    show_evidence(facts, arena, f, o);
    o->remedy.action = ACTION_SHARD_DATASET;
    o->remedy.conditions[CONDITION_SHARDS_ITSELF] = f->shards;
    fires(facts, arena, o, f, f->wait_ns);
}

static void change(const struct facts *facts, struct arena *arena, struct outcome *o,
                   const struct feed *f, int n)
{
    struct feed_step s = query_feed_step(f, n);
    show_evidence(facts, arena, f, o);
    outcome_set_workers(facts, arena, o, f, n);
    o->remedy.conditions[CONDITION_PERSISTENT] = n > 0 && !f->persistent && !f->anew;
    fires(facts, arena, o, f, f->step_ns - s.low_ns);
    double saves = f->step_ns - s.mid_ns,
           doubt = RULES_FEED_DOUBT * f->step_ns + RULES_FEED_DOUBT_SAVED * saves;
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

/* No other number of workers is better: advises to make the transfer cheaper if that is what takes
 * the time, or else says why the finding is suppressed. */
static void no_better_number(const struct facts *facts, struct arena *arena, struct outcome *o,
                             const struct feed *f)
{
    if (hands_over(f)) {
        show_evidence(facts, arena, f, o);
        o->remedy.action = ACTION_HAND_OVER_LESS;
        fires(facts, arena, o, f, f->wait_ns);
        return;
    }
    o->verdict = RULE_SUPPRESSED;
    const char *by = whose(facts, arena, f);
    if (f->have > 0 && f->startup_ns * f->loops / f->steps * 2 > f->wait_ns)
        o->why = "the loop waits for workers to start, not for batches: see worker-startup";
    else if (f->fetch_ns < f->hand_hi && f->have <= 0)
        o->why = arena_printf(arena,
                              "making a batch takes %s, and handing one over from a worker "
                              "takes %s to %s: make each batch cheaper instead%s",
                              time_text(arena, (int64_t)f->fetch_ns),
                              time_text(arena, (int64_t)f->hand_low),
                              time_text(arena, (int64_t)f->hand_hi), by);
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
    o->remedy.action = ACTION_TRY_WORKERS;
    o->remedy.conditions[CONDITION_WAITS_UNKNOWN] = true;
    fires(facts, arena, o, f, f->wait_ns);
}

/* For traces of PyTorch's profiler, which contain the ranges in which the loop asks its loader, but
 * no records of a loader. Returns true if the training thread makes the batches itself. */
static bool makes_itself(const struct facts *facts)
{
    const struct timeline *t = facts->tl;
    const struct thread *th = &t->threads[facts->steps.main_thread];
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges; i++)
        if (strstr(tl_text(t, t->ranges[i].name), "_SingleProcessDataLoaderIter"))
            return true;
    return false;
}

/* Judges a trace of PyTorch's profiler, which has the waits but no records of the loader. */
static void of_trace(const struct facts *facts, struct arena *arena, struct outcome *o)
{
    int64_t wait = facts->breakdown_ns[PART_DATA];
    o->why = arena_printf(arena, "the training thread waits %.3f ms %s for data",
                          (double)wait / 1e6, scope_words(facts)->per);
    if (wait * RULES_AWAITED < facts->step_ns)
        return;
    bool itself = makes_itself(facts);
    o->remedy.action = itself ? ACTION_TRY_WORKERS : ACTION_ADD_WORKERS;
    outcome_evidence_per(o, "waiting for data", (double)wait / 1e6, "ms", NULL);
    outcome_fires(o, wait,
                  arena_printf(arena,
                               "the recording contains no GPU work; the loop waits %s of %s "
                               "%s for the next batch%s",
                               time_text(arena, wait), time_text(arena, facts->step_ns),
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
    if (f.wait_ns * RULES_AWAITED < f.step_ns)
        return;
    const char *library = outcome_refuses_workers(facts, arena, &f);
    if (library) {
        o->verdict = RULE_SUPPRESSED;
        o->why = arena_printf(
            arena,
            "%s starts no workers where it trains on the CPU: make each batch cheaper instead%s",
            library, whose(facts, arena, &f));
        return;
    }
    outcome_of_loader(facts, arena, o, &f);
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
    .program = {.line = FACT_TORCH_LOADER "." FACT_LOADER_MADE, .now = FACT_TORCH_LOADER},
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
    .remedy = {.action = ACTION_LOAD_IN_WORKERS, .object.kind = OBJECT_LOADER},
    .tips = {{"loader-workers", "Make batches in several workers, ahead of the loop", NULL}},
};
