/* What the workers of the loader do while they make batches, from samples of their clocks: compute,
 * wait for a core, wait for something else (files, network, locks). And how many threads of the
 * process want a core.
 * Cost: one pass over ranges and over host samples. */
#ifndef GPUPROF_QUERIES_INPUT_LOADER_H
#define GPUPROF_QUERIES_INPUT_LOADER_H

#include "analyzer/queries/query.h"

struct query_loader {
    size_t workers;    /* threads that make batches at one time, apart from the training thread */
    int64_t making_ns; /* their time making batches, between first and last sample */
    int64_t cpu_ns;    /* of it: computing */
    int64_t timed_ns, timed_cpu_ns; /* batches whose own CPU time is recorded, and that */
    int64_t run_queue_ns;           /* of it: ready, without a core; -1 = not sampled */
    int64_t io_wait_ns;             /* of it: waiting for a disk; -1 = not sampled */
    int64_t major_faults;           /* pages read from a disk meanwhile; -1 = not sampled */
    int64_t storage_bytes; /* read from storage meanwhile, not from memory; -1 = not sampled */
    int64_t read_bytes;    /* asked for by read calls, whatever served them; -1 = not sampled */
    double used_cores;     /* of all threads, on average over the steps: cores that they got */
    double wanted_cores;   /* of all threads, workers or not: computing or ready to, on average */
    size_t busy_threads;   /* that want a core half of the time or more */
    bool sampled;
};
struct query_loader query_loader(const struct facts *f, struct arena *arena);

/* Do threads lack cores though this program's own use few of `cores`? Other programs have the rest.
 */
bool query_others_compute(const struct query_loader *l, int cores);

/* Of the time in which batches are made: ready, but without a core, in %; -1 = not sampled. */
double query_starved_pct(const struct query_loader *l);
/* Per step, the GPU waits for workers that lack cores; 0: they have theirs, or the wait is under 1
 * % of the step. */
int64_t query_awaits_starved(const struct facts *f, const struct query_loader *l);
/* Neither they nor the training thread have a core: one cause, of which one finding speaks. That is
 * the one on the workers where the GPU waits for them a fourth of that time and more, and steps
 * repeat, which that finding needs. */
bool query_workers_speak(const struct facts *f, const struct query_loader *l);
/* Of the time in which batches are made: neither computing nor in line for a core. */
int64_t query_elsewhere_ns(const struct query_loader *l);
/* Most of it; false also where it was not sampled. */
bool query_waits_for_files(const struct query_loader *l);
/* A query that lists the making of batches in the profile: by the hook's records, else ranges. In
 * the arena. */
const char *query_batches_sql(const struct facts *f, struct arena *arena);
/* Of the periods in which the CPU limit of the program's cgroup is enforced, those in which it was
 * used up and its threads stood still; -1 = not known, or too few of them. */
double query_limited_pct(const struct facts *f);

#endif
