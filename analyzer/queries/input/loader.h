/* What the loader's workers do while they make batches, from samples of their clocks: compute, wait
 * for a core, or wait for something else (files, network, locks). Also how many threads of the
 * program want a core. Cost: one pass over ranges and over host samples. */
#ifndef GPUPROF_QUERIES_INPUT_LOADER_H
#define GPUPROF_QUERIES_INPUT_LOADER_H

#include "analyzer/queries/query.h"

struct query_loader {
    size_t workers; /* threads that make batches at the same time, other than the training thread */
    int64_t making_ns; /* time in which they make batches, between their first and last sample */
    int64_t cpu_ns;    /* CPU time of the workers between these samples; -1 = not sampled */
    int64_t timed_ns, timed_cpu_ns; /* batches whose own CPU time was recorded, and that CPU time */
    int64_t run_queue_ns;           /* time ready but without a core; -1 = not sampled */
    int64_t io_wait_ns;             /* time waiting for a disk; -1 = not sampled */
    int64_t major_faults;           /* pages read from a disk; -1 = not sampled */
    int64_t storage_bytes;          /* bytes read from storage, not from memory; -1 = not sampled */
    int64_t read_bytes;             /* bytes requested by read calls, wherever they came
                                       from; -1 = not sampled */
    double used_cores;   /* cores that all threads of the program get, on average over the steps */
    double wanted_cores; /* threads, workers or not, that compute or are ready to, on average */
    size_t busy_threads; /* threads that want a core at least half of the time */
    bool sampled;
};
struct query_loader query_loader(const struct facts *f, struct arena *arena);

/* True if threads lack cores although this program's threads use few of `cores`: then other
 * programs use the rest. */
bool query_others_compute(const struct query_loader *l, int cores);

/* Per cent of the time making batches in which workers are ready but have no
 * core; -1 = not sampled. */
double query_starved_pct(const struct query_loader *l);
/* Time per step that the GPU waits for workers without cores. 0: they have cores, or the wait is
 * less than 1 % of the step. */
int64_t query_awaits_starved(const struct facts *f, const struct query_loader *l);
/* Decides which finding reports a lack of cores if both the workers and the training thread lack
 * them: it is one cause, so only one finding reports it. True: the finding on workers does, because
 * the GPU's wait for them is at least QUERY_SPEAK_PCT per cent of its wait for the host, and steps
 * repeat, which that finding requires. */
bool query_report_workers_not_thread(const struct facts *f, const struct query_loader *l);
/* Time making batches that is neither computing nor waiting for a core. */
int64_t query_elsewhere_ns(const struct query_loader *l);
/* True if that is at least half of the time making batches; false if it was not sampled. */
bool query_waits_for_files(const struct query_loader *l);
/* SQL query that lists the making of batches in the profile: from the hook's records, otherwise
 * from ranges. Static or from the arena. */
const char *query_batches_sql(const struct facts *f, struct arena *arena);
/* Per cent of the enforcement periods of the cgroup's CPU limit in which the limit was used up and
 * the program's threads were stopped; -1 = not known, or too few periods. */
double query_limited_pct(const struct facts *f);

#endif
