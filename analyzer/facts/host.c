/* Measures the host: usable cores, data-loading workers, the cost of making a batch. Cost: one pass
 * over ranges, loader rows and host samples. */
#include "analyzer/measure/clocks.h"
#include "analyzer/facts/limits.h"
#include "analyzer/facts/passes.h"
#include "analyzer/timeline/name_test.h"
#include "base/vec.h"

#include "wire/fact_keys.h"
#include "wire/spool_format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct fetches {
    struct VEC(int64_t) wall, cpu;
    const struct thread_clocks *clocks;
    struct name_test makes, is_parallel;
    bool *worker; /* by thread index: it makes batches and does not train */
    bool trainer_makes, parallel;
    int64_t max_worker; /* highest worker number in loader rows; -1 = none */
    int64_t in_steps;   /* batches made by the training thread within used steps */
};

/* A number of cores that the training process last reported of itself. 0 = it reported none. */
static int process_cores(const struct facts *f, const char *key)
{
    const struct timeline *t = f->tl;
    int n = 0;
    for (size_t i = 0; i < t->meta_count && t->process_count; i++)
        if (t->metas[i].process == t->processes[f->steps.process].id &&
            strcmp(tl_text(t, t->metas[i].key), key) == 0)
            n = atoi(tl_text(t, t->metas[i].value));
    return n;
}

/* The smallest of the machine's usable cores, the process' own (the command, as taskset does, or the
 * program may have confined it) and the cgroup quota; 0 = not known. */
static int usable_cores(const struct facts *f)
{
    const struct timeline *t = f->tl;
    const char *cores = timeline_meta(t, "usable_cores"), *quota;
    int n = cores ? atoi(cores) : 0, own = process_cores(f, FACT_PROCESS_CORES);
    if (own > 0 && (n <= 0 || own < n))
        n = own;
    quota = timeline_meta(t, "cgroup_cpu_quota");
    double limit = quota ? strtod(quota, NULL) : 0;
    if (limit > 0 && limit < 1e6 && (n <= 0 || ceil(limit) < n))
        n = (int)ceil(limit);
    return n > 0 ? n : 0;
}

static int push(void *vec, int64_t value)
{
    struct VEC(int64_t) *v = vec;
    int64_t *p = vec_push(v);
    if (p)
        *p = value;
    return p ? 0 : -1;
}

static bool in_used_step(const struct facts *f, int64_t ns)
{
    uint32_t step = facts_step_at(f, ns);
    return step != TL_NONE && f->steps.at[step].used;
}

/* Counts a batch made by the training thread. Only these count per step: the thread uses what it
 * makes, while workers run ahead or make batches that are never used. */
static void trainer_fetch(const struct facts *facts, struct fetches *f, int64_t start_ns)
{
    f->trainer_makes = true;
    f->in_steps += in_used_step(facts, start_ns);
}

static bool in_parallel(const char *name)
{
    return strcasestr(name, "_MultiProcessingDataLoaderIter") != NULL;
}

static int fetches_in_ranges(const struct facts *facts, struct fetches *f)
{
    const struct timeline *t = facts->tl;
    for (size_t i = 0; i < t->range_count; i++) {
        const struct range *r = &t->ranges[i];
        const char *name = tl_text(t, r->name);
        if (t->threads[r->thread].process != facts->steps.process &&
            !strcasestr(name, "data.decode"))
            continue;
        f->parallel |= name_test(&f->is_parallel, r->name);
        if (!name_test(&f->makes, r->name))
            continue;
        if (r->thread == facts->steps.main_thread)
            trainer_fetch(facts, f, r->start_ns);
        else
            f->worker[r->thread] = true;
        if (push(&f->wall, r->end_ns - r->start_ns) < 0)
            return -1;
    }
    return 0;
}

static int fetches_in_loader_rows(const struct facts *facts, struct fetches *f)
{
    const struct timeline *t = facts->tl;
    for (size_t i = 0; i < t->loader_count; i++) {
        const struct row_loader *l = &t->loaders[i];
        if (l->what != SPOOL_LOADER_FETCH)
            continue;
        if (l->worker > f->max_worker)
            f->max_worker = l->worker;
        if (l->worker < 0)
            trainer_fetch(facts, f, l->start_ns);
        if (push(&f->wall, l->end_ns - l->start_ns) < 0 ||
            (l->cpu_ns >= 0 && push(&f->cpu, l->cpu_ns) < 0))
            return -1;
    }
    return 0;
}

/* CPU time of one batch, from samples of the workers' clocks: the share of CPU time in the time
 * they spend making batches, times the median batch. 0 = not sampled. */
static int64_t sampled_cpu(const struct facts *facts, const struct fetches *f, int64_t fetch_ns)
{
    const struct timeline *t = facts->tl;
    int64_t making = 0;
    double cpu = 0;
    for (size_t th = 0; th < t->thread_count; th++)
        if (f->worker[th] && f->clocks[th].first)
            cpu += (double)(f->clocks[th].last->cpu_ns - f->clocks[th].first->cpu_ns);
    for (size_t i = 0; cpu > 0 && i < t->range_count; i++)
        if (f->worker[t->ranges[i].thread] && name_test(&f->makes, t->ranges[i].name))
            making += t->ranges[i].end_ns - t->ranges[i].start_ns;
    if (cpu <= 0 || making <= 0)
        return 0;
    double share = cpu / (double)making;
    return (int64_t)((double)fetch_ns * (share < 1 ? share : 1));
}

/* From the start of the first used step to the end of the last one. */
static struct clock_span used_span(const struct facts *f)
{
    struct clock_span of = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < f->steps.count; i++) {
        if (!f->steps.at[i].used)
            continue;
        of.from_ns = f->steps.at[i].start_ns < of.from_ns ? f->steps.at[i].start_ns : of.from_ns;
        of.to_ns = f->steps.at[i].end_ns > of.to_ns ? f->steps.at[i].end_ns : of.to_ns;
    }
    return of;
}

static int64_t per_step(const struct facts *f, double share)
{
    return share < 0 ? -1 : (int64_t)(share * (double)f->step_ns);
}

/* By thread: it belongs to the process and trains, or launches at least 1/FACTS_LAUNCHES of what
 * the busiest thread launches. NULL: out of memory; the caller frees it. */
static bool *launching_threads(const struct facts *f)
{
    const struct timeline *t = f->tl;
    int64_t *launches = calloc(t->thread_count + 1, sizeof *launches), most = 0;
    bool *is = calloc(t->thread_count + 1, sizeof *is);
    for (uint32_t i = 0; launches && is && i < t->op_count; i++) {
        uint32_t th = tl_op_thread(t, i);
        if (th != TL_NONE && t->threads[th].process == f->steps.process && ++launches[th] > most)
            most = launches[th];
    }
    for (uint32_t i = 0; launches && is && i < t->thread_count; i++)
        is[i] = i == f->steps.main_thread || (most && launches[i] * FACTS_LAUNCHES >= most);
    if (!launches) {
        free(is);
        is = NULL;
    }
    free(launches);
    return is;
}

/* Fills starved_ns and asleep_ns from samples of the clocks of the launching
 * threads. -1: out of memory. */
static int clocks_of_step(struct facts *f)
{
    const struct timeline *t = f->tl;
    struct clock_span used = used_span(f);
    bool *counts = launching_threads(f);
    struct clock_span *of = calloc(t->thread_count + 1, sizeof *of);
    for (size_t i = 0; of && i < t->thread_count; i++)
        of[i] = used;
    struct clock_share *share = counts && of ? clocks_shares(t, of) : NULL;
    double queued = 0, computed = 0;
    for (size_t i = 0; share && i < t->thread_count; i++)
        if (counts[i]) {
            queued += fmax(share[i].queued, 0);
            computed += fmax(share[i].computed, 0);
        }
    struct clock_share main = {-1, -1};
    if (share && t->thread_count && used.from_ns < used.to_ns)
        main = share[f->steps.main_thread];
    f->host.starved_ns = per_step(f, main.queued < 0 ? -1 : fmin(queued, 1));
    f->host.asleep_ns = per_step(
        f, main.queued < 0 || main.computed < 0 ? -1 : fmax(1 - fmin(queued, 1) - computed, 0));
    int rc = share ? 0 : -1;
    free(counts);
    free(of);
    free(share);
    return rc;
}

/* Fills queued_ns of each rank: time in which threads of its process, all added up, wait for a
 * core. All threads count, because the launching thread may wait for another one without a core;
 * the profiler's own thread does not. The rank's clock runs ahead of the analysed one by
 * offset_ns. -1: out of memory. */
static int starved_ranks(struct facts *f)
{
    const struct timeline *t = f->tl;
    struct clock_span used = used_span(f);
    struct rank_facts **rank_of = calloc(t->process_count + 1, sizeof *rank_of);
    struct clock_span *of = calloc(t->thread_count + 1, sizeof *of);
    for (size_t i = 0; rank_of && i < f->ranks.count; i++) {
        f->ranks.at[i].queued_ns = -1;
        rank_of[f->ranks.at[i].process] = &f->ranks.at[i];
    }
    for (size_t i = 0; rank_of && of && i < t->thread_count; i++) {
        const struct rank_facts *r = rank_of[t->threads[i].process];
        if (r && used.from_ns < used.to_ns)
            of[i] = (struct clock_span){used.from_ns + r->offset_ns, used.to_ns + r->offset_ns};
    }
    struct clock_share *share = rank_of && of ? clocks_shares(t, of) : NULL;
    for (size_t i = 0; share && i < t->thread_count; i++) {
        struct rank_facts *r = rank_of[t->threads[i].process];
        int64_t ns = r && used.from_ns < used.to_ns ? per_step(f, share[i].queued) : -1;
        if (ns >= 0 && strcmp(tl_text(t, t->threads[i].row.name), "gpuprof") != 0)
            r->queued_ns = (r->queued_ns < 0 ? 0 : r->queued_ns) + ns;
    }
    /* one process may have several GPUs, and so several ranks */
    for (size_t i = 0; share && i < f->ranks.count; i++)
        f->ranks.at[i].queued_ns = rank_of[f->ranks.at[i].process]->queued_ns;
    int rc = share ? 0 : -1;
    free(rank_of);
    free(of);
    free(share);
    return rc;
}

/* How long the training thread waits for input in a typical step. -1: out of memory. */
static int typical_wait(struct facts *f)
{
    struct spans input = {0};
    int64_t *v = malloc((f->steps.count + 1) * sizeof *v);
    int64_t all = 0;
    size_t n = 0;
    int rc = v ? 0 : -1;
    if (rc == 0 && f->tl->thread_count) {
        rc = input_spans(&input, f->tl, f->steps.main_thread, !analysis_of_window(f));
        for (size_t i = 0; rc == 0 && i < f->steps.count; i++)
            if (f->steps.at[i].used)
                all += v[n++] =
                    spans_covered(&input, f->steps.at[i].start_ns, f->steps.at[i].end_ns);
        if (rc == 0)
            f->host.wait_ns = analysis_by_mean(f) ? all / (int64_t)(n + !n) : median_ns(v, n);
    }
    spans_release(&input);
    free(v);
    return rc;
}

static int count_workers(const struct facts *facts, const struct fetches *f)
{
    int n = 0;
    for (size_t i = 0; i < facts->tl->thread_count; i++)
        n += f->worker[i];
    if (f->max_worker >= 0 && f->max_worker < 100000 && f->max_worker + 1 > n)
        n = (int)f->max_worker + 1;
    if (n)
        return n;
    return f->trainer_makes ? 0 : -1;
}

int host_measure(struct facts *facts, struct err *e)
{
    struct fetches f = {.max_worker = -1};
    f.worker = calloc(facts->tl->thread_count + 1, sizeof *f.worker);
    f.makes = name_test_open(facts->tl, input_makes);
    f.is_parallel = name_test_open(facts->tl, in_parallel);
    f.clocks = thread_clocks(facts->tl, &facts->arena);
    int rc = f.worker && f.clocks ? 0 : -1;
    if (rc == 0 && (fetches_in_ranges(facts, &f) < 0 || fetches_in_loader_rows(facts, &f) < 0))
        rc = -1;
    if (rc == 0) {
        facts->host.usable_cores = usable_cores(facts);
        if (process_cores(facts, FACT_PROCESS_CORES) == facts->host.usable_cores)
            facts->host.given_cores = process_cores(facts, FACT_PROCESS_CORES_GIVEN);
        facts->host.loader_workers = count_workers(facts, &f);
        facts->host.loader_parallel = f.parallel || facts->host.loader_workers > 0;
        facts->host.fetch_ns = median_ns(f.wall.at, f.wall.n);
        facts->host.fetches =
            facts->steps.used ? (double)f.in_steps / (double)facts->steps.used : 0;
        facts->host.fetch_cpu_ns =
            f.cpu.n ? median_ns(f.cpu.at, f.cpu.n) : sampled_cpu(facts, &f, facts->host.fetch_ns);
        bool failed =
            clocks_of_step(facts) < 0 || starved_ranks(facts) < 0 || typical_wait(facts) < 0;
        rc = failed ? -1 : 0;
    }
    free(f.worker);
    name_test_close(&f.makes);
    name_test_close(&f.is_parallel);
    vec_release(&f.wall);
    vec_release(&f.cpu);
    return rc < 0 ? err_no_memory(e) : 0;
}
