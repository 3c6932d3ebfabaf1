/* Copies from one place of the host's memory to another, on the training thread, told by the names
 * of their ranges. Cost: one pass over its ranges, one over gaps. */
#ifndef GPUPROF_QUERIES_QUERY_HOST_H
#define GPUPROF_QUERIES_QUERY_HOST_H

#include "analyzer/queries/query.h"

struct query_host_copies {
    int64_t count, total_ns;
    int64_t idle_ns;  /* GPU idle meanwhile */
    int64_t host_ns;  /* of that, counted under 'other host work' */
    uint32_t longest; /* range index, TL_NONE */
    bool *marks;      /* by range: is such a copy */
    int64_t *of_gap;  /* of each of f->gaps: its part of host_ns */
};
/* -1: out of memory. */
int query_host_copies(const struct facts *f, struct arena *arena, struct query_host_copies *h);

/* Where the host is while the GPU waits for other work of it, over the used steps. */
struct query_places {
    const char *most; /* the innermost range that holds most of it, not the step; NULL: none */
    int64_t in_most, named, all; /* named: in any such range */
    int64_t brief;               /* in pauses below QUERY_OWN_WORK_NS: a framework's way */
};
/* `other`: what of each of f->gaps is not counted; NULL: all is. */
struct query_places query_host_places(const struct facts *f, const int64_t *other);

/* Per step, the GPU is idle while the training thread makes no call for a large part of the step, in
 * no range that says why: it may make a batch. 0 where loading was recorded, or operators, which
 * would name it. */
int64_t query_silence_ns(const struct facts *f);

/* Per step, the GPU waits for what the host does: launches too slowly, starts over after a wait, or
 * works on something else. */
int64_t query_awaits_host(const struct facts *f);
/* Most of that goes with a training thread that is ready to run but has no core: with one, the host
 * would hardly hold the GPU up. What exceeds it is the host's own. */
bool query_crowded_out(const struct facts *f);
/* It has none for much of the step, and the GPU waits: nothing else can be judged well before. */
bool query_short_of_cpu(const struct facts *f);
/* The training thread is ready to run, but has no core, during 3 % of the step or more (less is any
 * machine's noise), and the GPU waits for it; false where that was not sampled. */
bool query_training_crowded(const struct facts *f);
/* What enough cores save at most per step: `input_ns`, for which the GPU waits for workers that
 * lack cores, and all of its wait for a training thread that does, because a thread on a crowded
 * core also runs more slowly, by half where two share a core. What that thread computes stays. */
int64_t query_cores_save(const struct facts *f, int64_t input_ns);

/* Threads that PyTorch computes with on the CPU; 0: not known. */
int query_compute_threads(const struct facts *f);
/* Ranks of the job that ran on this machine, 1 at least; a rank's other processes, as its loader's
 * workers, are no ranks. */
int query_ranks_here(const struct facts *f);

#endif
