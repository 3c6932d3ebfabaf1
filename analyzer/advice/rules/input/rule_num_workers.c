/* Fires if the GPU is idle while the training thread waits for the next batch or makes it. */
#include "analyzer/advice/outcome_loader.h"
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/lines.h"
#include "analyzer/queries/input/delivery.h"
#include "analyzer/queries/input/feed.h"
#include "analyzer/queries/input/loader.h"
#include "analyzer/queries/input/made_on_gpu.h"
#include "wire/fact_keys.h"

#include <math.h>
#include <string.h>

struct need {
    int have;   /* present workers; -1 = not known */
    int needed; /* workers that make a batch in the rest of the step; 0 = not known */
    /* Workers that the cores can carry, which is more than the cores if workers wait for files; 0 =
     * not known. */
    int carried;
    int most;        /* workers to advise, at most `carried` */
    int64_t pace_ns; /* a step with `most` workers takes at least this; 0 = not known */
};

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* How much of its time whoever makes the batches stands without a core: the workers, or without any
 * the training thread. */
static double starved_pct(const struct facts *facts, const struct query_loader *l)
{
    if (facts->host.loader_workers != 0)
        return query_starved_pct(l);
    return facts->host.starved_ns > 0 ? fmin(share_pct(facts, facts->host.starved_ns), 100) : 0;
}

/* Wall time of a batch decides how many workers are needed, since a worker may also wait for files.
 * CPU time decides how many workers the cores can carry. */
static struct need need_of(const struct facts *facts, double starved_pct)
{
    const struct host_facts *h = &facts->host;
    struct need f = {.have = h->loader_workers};
    int64_t rest = facts->step_ns - facts->breakdown_ns[PART_IDLE_INPUT];
    int64_t fetch = h->fetch_ns > 0 ? h->fetch_ns : h->fetch_cpu_ns;
    int64_t cpu = h->fetch_cpu_ns > 0 && h->fetch_cpu_ns < fetch ? h->fetch_cpu_ns : fetch;
    if (fetch <= 0)
        return f;
    /* Several batches per step: the program accumulates gradients, or stacks frames. */
    if (h->fetches > RULES_SEVERAL_BATCHES) {
        fetch = (int64_t)((double)fetch * h->fetches);
        cpu = (int64_t)((double)cpu * h->fetches);
    }
    int64_t needed = ceil_div(fetch, rest > 0 ? rest : 1);
    f.needed = needed < 100000 ? (int)needed : 100000;
    /* While a worker waits for a core it leaves none to another worker. */
    double beside = (double)fetch * (starved_pct > 0 ? 1 - starved_pct / 100 : 1);
    beside = beside > (double)cpu ? beside : (double)cpu;
    f.carried =
        cpu > 0 ? (int)fmin(RULES_WORKERS_MOST, (double)h->usable_cores * beside / (double)cpu) : 0;
    f.most = f.carried > 0 && f.needed > f.carried ? f.carried : f.needed;
    f.pace_ns = fetch / f.most;
    if (h->usable_cores > 0 && cpu / h->usable_cores > f.pace_ns)
        f.pace_ns = cpu / h->usable_cores;
    return f;
}

/* Returns why more workers would not help, or NULL if they would. */
static const char *no_use(const struct facts *facts, struct arena *arena, const struct need *f)
{
    int cores = facts->host.usable_cores, carried = f->carried > 0 ? f->carried : cores;
    double launches = f->have > 0 ? 0 : query_launches_of_batch(facts, arena, false);
    if (launches >= 1)
        return arena_printf(
            arena,
            "the data set works on the GPU itself (launches per batch: %.0f), which no "
            "worker process can: let the loop do that part for a whole batch at "
            "once, or index all samples of a batch in one call",
            launches);
    if (f->have > 0 && analysis_of_window(facts))
        return arena_printf(
            arena,
            "%d workers load data already; only repeating steps show whether more would help",
            f->have);
    if (f->have > 0 && cores > 0 && f->have >= carried)
        return arena_printf(
            arena,
            "%d workers already use all %d cores, so more cannot help: make each batch cheaper "
            "(smaller images, decoding on the GPU, a cached data set)",
            f->have, cores);
    if (f->have > 0 && f->needed > 0 && f->needed <= f->have)
        return arena_printf(arena,
                            "%d workers need %s per batch each, fast enough for this %s: "
                            "uneven batches cause the waits, and a deeper prefetch evens them out",
                            f->have, time_text(arena, facts->host.fetch_ns),
                            scope_words(facts)->unit);
    return NULL;
}

/* Returns true if the present workers would keep up if no other program used their cores. A batch
 * would then take its time without the share that the workers wait for a core. */
static bool enough_with_cores(const struct facts *facts, const struct need *f, double starved)
{
    const struct host_facts *h = &facts->host;
    int64_t rest = facts->step_ns - facts->breakdown_ns[PART_IDLE_INPUT];
    double batch = (double)h->fetch_ns * (1 - starved / 100), cpu = (double)h->fetch_cpu_ns;
    batch = (batch > cpu ? batch : cpu) * (h->fetches > RULES_SEVERAL_BATCHES ? h->fetches : 1);
    return cpu > 0 && rest > 0 && batch <= (double)rest * f->have;
}

/* Returns why the workers need cores rather than more workers, or NULL. */
static const char *cores_first(const struct facts *facts, struct arena *arena, const struct need *f,
                               const struct query_loader *l)
{
    double starved = query_starved_pct(l);
    if (f->have <= 0 || starved < QUERY_STARVED_PCT)
        return NULL;
    if (!query_others_compute(l, facts->host.usable_cores)) /* for example other ranks' workers */
        return arena_printf(arena,
                            "the program's own threads keep the workers from a core during %.0f %% "
                            "of their work: more of them would share the same cores",
                            starved);
    return enough_with_cores(facts, f, starved)
               ? arena_printf(arena,
                              "another program keeps the workers from a core during %.0f %% of "
                              "their work: with cores of their own they are fast enough",
                              starved)
               : NULL;
}

/* If every worker would deliver the whole data set, advises to divide it first. */
static void divide_first(const struct facts *facts, struct arena *arena, struct outcome *o)
{
    struct feed f;
    if (!query_feed(facts, arena, &f) || !f.iterable)
        return;
    o->edit = (struct edit){.kind = NULL};
    o->error_class = ERROR_RERUN_DECIDES;
    o->remedy.action = ACTION_SHARD_DATASET;
    o->remedy.conditions[CONDITION_SHARDS_ITSELF] = f.shards;
    outcome_of_loader(facts, arena, o, &f);
}

/* Returns true if workers delay the loop, and only their deliveries were recorded. */
static bool delivered(const struct facts *facts)
{
    struct deliveries d;
    bool any = query_deliveries(facts, &d) == 0 && d.n > 0;
    query_deliveries_release(&d);
    return any;
}

/* For recordings with only the waits: returns why more workers may shorten no wait, or NULL if they
 * would. */
static const char *taken_ready(const struct facts *facts, struct arena *arena)
{
    struct deliveries d;
    enum delivery_reading reading = DELIVERY_LIMITS;
    if (query_deliveries(facts, &d) == 0 && d.n)
        reading = query_delivery_reading(facts, &d);
    query_deliveries_release(&d);
    if (reading == DELIVERY_LIMITS)
        return NULL;
    const char *idle = time_text(arena, facts->breakdown_ns[PART_IDLE_INPUT]);
    return reading == DELIVERY_COSTS
               ? arena_printf(arena,
                              "batches were ready when the loop asked: taking them is what takes "
                              "%s, and more workers do not shorten that",
                              idle)
               : arena_printf(arena,
                              "taking a batch that is ready may by itself take the %s, and the "
                              "recording does not show whether batches were ready",
                              idle);
}

/* Returns the cost of handing over a batch. A Python framework's workers are processes, so the
 * batch must come from another process. The recorded time of a batch includes the sending for
 * workers that exist already. */
static struct hand_over way_of(const struct feed *f)
{
    struct hand_over way = {.train_ns = f->train_known ? f->train_ns : 0};
    if (f->ahead)
        return way; /* a thread of the program reads ahead */
    way.get_low = f->hand_low;
    way.get_high = f->hand_hi;
    if (f->have <= 0) {
        way.send_low = f->send_low;
        way.send_high = f->send_hi;
    }
    return way;
}

static void advise(const struct facts *facts, struct arena *arena, struct outcome *o,
                   const struct need *f)
{
    int n = f->most;
    if (n <= 0) {
        if (delivered(facts))
            o->edit = (struct edit){.kind = &edit_more_workers};
        o->remedy.action = ACTION_TRY_WORKERS;
        o->remedy.conditions[CONDITION_ONE_BY_ONE] = true;
        return;
    }
    struct feed feed;
    bool hooked = query_feed(facts, arena, &feed);
    o->edit =
        (struct edit){.kind = &edit_workers,
                      .workers = {.count = n, .cores = hooked && feed.others ? feed.cores : 0}};
    if (hooked)
        o->edit.workers.hand_over = way_of(&feed);
    if (facts->host.usable_cores > 0) {
        outcome_set_workers(facts, arena, o, hooked ? &feed : NULL, n);
        return;
    }
    o->remedy.action = ACTION_TRY_WORKERS; /* how many workers the cores can carry is not known */
    o->remedy.conditions[CONDITION_ONE_BY_ONE] = true;
    o->remedy.conditions[CONDITION_CORES_UNKNOWN] = true;
}

static void add_evidence(const struct facts *facts, struct arena *arena, struct outcome *o,
                         const struct need *f, int64_t idle)
{
    outcome_evidence_idle(o, facts, "GPU idle for input", ms(idle), PART_IDLE_INPUT);
    if (facts->host.fetch_ns > 0)
        outcome_evidence(o, "making one batch takes", ms(facts->host.fetch_ns), "ms",
                         query_batches_sql(facts, arena));
    if (facts->host.fetches > RULES_SEVERAL_BATCHES)
        outcome_evidence_per(o, "batches", facts->host.fetches, "count", NULL);
    if (facts->host.fetch_cpu_ns > 0)
        outcome_evidence(o, "of that, CPU time", ms(facts->host.fetch_cpu_ns), "ms",
                         facts->tl->host_sample_count ? "SELECT * FROM host_sample"
                                                      : query_batches_sql(facts, arena));
    if (f->have >= 0)
        outcome_evidence(o, "workers", f->have, "count", NULL);
    if (facts->host.usable_cores > 0)
        outcome_evidence(o, "usable cores", facts->host.usable_cores, "count",
                         "SELECT s.text FROM meta m JOIN string s ON s.id = m.value WHERE m.key = "
                         "(SELECT id FROM string WHERE text = 'usable_cores')");
    if (f->needed > f->most)
        outcome_evidence(
            o,
            "workers needed to keep up (more than the cores carry: make each batch cheaper, too)",
            f->needed, "count", NULL);
}

/* By PyTorch's own ranges, wherever most of the waiting lies. */
static bool named_workers(const struct facts *facts)
{
    for (uint32_t i = 0; i < facts->tl->strings.n; i++)
        if (strstr(facts->tl->strings.text[i], "_MultiProcessingDataLoaderIter"))
            return true;
    return false;
}

static void fire(const struct facts *facts, struct arena *arena, struct outcome *o,
                 const struct need *f, int64_t gain)
{
    int64_t idle = facts->breakdown_ns[PART_IDLE_INPUT];
    const char *how = f->have == 0 ? "the training thread makes each batch itself; the GPU waits"
                                   : "the GPU waits for the next batch for";
    const char *where = query_gap_range(facts, PART_IDLE_INPUT);
    bool others = named_workers(facts);
    if (f->have > 0 || others || (f->have < 0 && delivered(facts)))
        o->title = "Give the loader more workers";
    outcome_fires(o, gain,
                  arena_printf(arena, "%s %s of %s %s%s%s%s%s", how, time_text(arena, idle),
                               time_text(arena, facts->step_ns), scope_words(facts)->per,
                               where ? ", most of it in '" : "", where ? where : "",
                               where ? "'" : "", query_samples_text(facts, arena)));
    outcome_example_gaps(o, facts, PART_IDLE_INPUT, "GPU idle, next batch not ready");
}

static void check_num_workers(const struct facts *facts, struct arena *arena, struct outcome *o)
{
    int64_t idle = facts->breakdown_ns[PART_IDLE_INPUT], gain = idle;
    o->why =
        arena_printf(arena, "the GPU waits %.3f ms %s for data", ms(idle), scope_words(facts)->per);
    int64_t silent = query_silence_ns(facts), of_line;
    if (idle * QUERY_WORTH < facts->step_ns && silent * QUERY_SOME > facts->step_ns &&
        !query_line_of(facts, 1u << PART_IDLE_SYNC | 1u << PART_IDLE_HOST, &of_line)) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = arena_printf(arena,
                              "the GPU is idle for %s %s while the host makes no CUDA call, and "
                              "nothing recorded says whether it makes a batch: mark that with an "
                              "NVTX range, or record with gpuprof run",
                              time_text(arena, silent), scope_words(facts)->per);
        return;
    }
    if (idle * QUERY_WORTH < facts->step_ns)
        return;
    struct query_loader l = query_loader(facts, arena);
    struct need f = need_of(facts, starved_pct(facts, &l));
    const char *why_not = no_use(facts, arena, &f);
    why_not = why_not ? why_not : taken_ready(facts, arena);
    if (why_not) {
        o->verdict = RULE_SUPPRESSED;
        o->why = why_not;
        return;
    }
    int64_t starting = query_feed_starting(facts, arena);
    if (starting * 2 > idle) {
        o->verdict = RULE_SUPPRESSED;
        o->why = arena_printf(arena,
                              "starting workers anew takes %s of the %s that the GPU waits %s for "
                              "data: see worker-startup",
                              time_text(arena, starting), time_text(arena, idle),
                              scope_words(facts)->per);
        return;
    }
    if (facts->step_ns - f.pace_ns < gain)
        gain = facts->step_ns - f.pace_ns;
    if (gain * QUERY_WORTH < facts->step_ns) {
        o->verdict = RULE_SUPPRESSED;
        o->why = arena_printf(arena,
                              "making a batch takes %s, too much for the %d usable core%s to "
                              "make batches faster than now: make each batch cheaper",
                              time_text(arena, facts->host.fetch_ns), facts->host.usable_cores,
                              facts->host.usable_cores == 1 ? "" : "s");
        return;
    }
    why_not = cores_first(facts, arena, &f, &l);
    if (why_not) {
        o->verdict = RULE_SUPPRESSED;
        o->why = why_not;
        return;
    }
    add_evidence(facts, arena, o, &f, idle);
    advise(facts, arena, o, &f);
    if (query_waits_for_files(&l)) { /* the storage may not serve more readers */
        o->edit = (struct edit){.kind = NULL};
        o->error_class = ERROR_RERUN_DECIDES;
        outcome_evidence(o, "share of the workers' time spent waiting for files",
                         100 * (double)query_elsewhere_ns(&l) / (double)l.making_ns, "%",
                         "SELECT * FROM host_sample");
    }
    divide_first(facts, arena, o);
    fire(facts, arena, o, &f, gain);
}

const struct rule rule_num_workers = {
    .id = "num-workers",
    .title = "Load data in parallel workers",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_WAITS | HAVE_STEPS,
    .check = check_num_workers,
    .in_window = true,
    .program = {.line = FACT_TORCH_LOADER "." FACT_LOADER_MADE, .now = FACT_TORCH_LOADER},
    .about_input = true,
    .looks_for = "GPU idle while the training thread waits for the next batch or makes it.",
    .doc = "The GPU waits if the training thread makes the batches, or if there are too few "
           "workers. gpuprof computes the number of workers from the measured time to make a "
           "batch, divided by the rest of the step. If a recording has only the waits for workers, "
           "more of them may bring batches up to ten times as fast, or no faster, and the interval "
           "says so. It never advises more workers than the cores "
           "that the process may use, because such workers only compete with each other; nor "
           "workers for a data set that works on the GPU, which they cannot use.",
    .remedy = {.action = ACTION_LOAD_IN_WORKERS, .object.kind = OBJECT_LOADER},
    .tips = {{"loader-workers", "Make batches in several workers, ahead of the loop", NULL}},
};
