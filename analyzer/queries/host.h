/* Copies from one place in host memory to another, on the training thread. Recognised by the names
 * of ranges. Cost: one pass over the ranges, one over gaps. */
#ifndef GPUPROF_QUERIES_QUERY_HOST_H
#define GPUPROF_QUERIES_QUERY_HOST_H

#include "analyzer/queries/query.h"

struct query_host_copies {
    int64_t count, total_ns;
    int64_t idle_ns;  /* idle time of the GPU during the copies */
    int64_t host_ns;  /* the part of idle_ns that is charged to 'other host work' */
    uint32_t longest; /* index of the longest such range, or TL_NONE */
    bool *marks;      /* by range: it is such a copy */
    int64_t *of_gap;  /* for each of f->gaps: its share of host_ns */
};
/* -1: out of memory. */
int query_host_copies(const struct facts *f, struct arena *arena, struct query_host_copies *h);

/* Where the host is while the GPU waits for 'other host work', in the used steps. */
struct query_places {
    /* name of the innermost range with most of that time, the step's own mark aside; NULL: none */
    const char *most;
    int64_t in_most, named, all; /* time in ranges of that name; in any named range; in total */
    int64_t brief;               /* time in pauses below QUERY_OWN_WORK_NS, which a framework
                                    needs between operators */
};
/* `other`: time to leave out of each of f->gaps; NULL: leave out nothing. */
struct query_places query_host_places(const struct facts *f, const int64_t *other);

/* All idle time of the GPU before the marked operations, of any kind, in the used steps. */
int64_t query_idle_before(const struct facts *f, const bool *op_marks);

/* Idle time of the GPU per step during which the training thread makes no call for a large part of
 * the step, and no range tells why: it may be making a batch. Returns 0 if the recording has
 * records of data loading, or ranges of operators, because these would show the reason. */
int64_t query_silence_ns(const struct facts *f);
/* True if the ranges of PyTorch's operators were recorded. */
bool query_operators_recorded(const struct timeline *t);

/* Time per step that the GPU waits for the host: slow launching, restarts after a
 * wait, and other host work. */
int64_t query_awaits_host(const struct facts *f);
/* The step in ns, less the GPU's wait for a training thread that was ready but had no core: about
 * what the step takes on free cores. Where that was not sampled, the step. */
int64_t query_step_with_core(const struct facts *f);
/* True if most of that wait coincides with a training thread that is ready but has no core, and the
 * rest is little beside the step on free cores: with a core, it would hardly keep the GPU waiting. */
bool query_wait_is_lack_of_core(const struct facts *f);
/* True if the training thread lacks a core during much of the step while the GPU waits: then no
 * other finding can be judged well. */
bool query_lack_of_core_dominates(const struct facts *f);
/* True if the training thread is ready but lacks a core during QUERY_CROWDED_PCT of the step or
 * more (less is usual on any machine) and the GPU waits for it. False if that was not sampled. */
bool query_training_lacks_core(const struct facts *f);
/* The most that enough cores can save per step. input_ns: time that the GPU waits for workers
 * without cores. If the training thread lacks cores, all of the GPU's wait for it counts too,
 * because a thread on a crowded core also runs more slowly, by half if two share a core. The
 * thread's computing remains. */
int64_t query_cores_save(const struct facts *f, int64_t input_ns);

/* "; the process began with 8 cores, and something in it confined it to 1"; "" if not so. */
const char *query_confined_text(const struct facts *f, struct arena *arena);
/* Number of threads that PyTorch computes with on the CPU; 0: not known. */
int query_compute_threads(const struct facts *f);
/* Number of the job's ranks on this machine, at least 1. Other processes of a rank, such as its
 * loader's workers, do not count. */
int query_ranks_here(const struct facts *f);

#endif
