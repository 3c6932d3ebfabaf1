/* What a change would save. The engine applies an edit to the graph, replays it, and compares the
 * result with the replay of the unchanged steps. It draws parameters that cannot be known (how fast
 * a kernel would become) from the ranges that `edits/` documents. The answer is the interval of
 * these replays, widened by the errors that the engine's self-checks find and by what was not
 * recorded (`wider`). If the checks fail, the engine predicts nothing, and `why_not` says why.
 *
 * Cost: about 30 replays per edit. The engine knows nothing of rules; engine.h is its interface. */
#ifndef GPUPROF_WHATIF_WHATIF_H
#define GPUPROF_WHATIF_WHATIF_H

#include "analyzer/whatif/edits/edit.h"
#include "analyzer/whatif/limits.h"

/* What the time on the critical path, and the GPU's idle time, is spent on (critical.c). */
enum path_class {
    PATH_INPUT,  /* making or taking a batch */
    PATH_HOST,   /* host code between CUDA calls */
    PATH_LAUNCH, /* CUDA calls, and the time from a call to its work on the GPU */
    PATH_ALLOC,
    PATH_MODULE, /* also making and ending contexts */
    PATH_SYNC,   /* calls that wait, without the time that they wait */
    PATH_COPY,
    PATH_MATRIX,
    PATH_KERNEL, /* kernels that are not matrix kernels */
    PATH_COMM,
    PATH_QUEUED, /* gaps between operations that were both already queued */
    PATH_UNEXPLAINED,
    PATH_CLASSES
};
extern const char *const path_key[PATH_CLASSES]; /* snake_case, for JSON */
extern const char *const path_title[PATH_CLASSES];

struct path_share {   /* times per step */
    int64_t path_ns;  /* on the critical path; these sum to whatif.step_ns exactly */
    int64_t idle_ns;  /* of the time in which the GPU does nothing; these sum to whatif.idle_ns */
    int64_t worth_ns; /* most that is saved if all work of the class takes no time */
};
/* The longest kernels, calls and ranges on the critical path, by name. */
struct path_item {
    const char *what;
    enum path_class class;
    int64_t ns; /* per step */
};
enum { PATH_TOP = 8 };

/* How far the replay can be trusted, and upper bounds for changes of each class. Times are per
 * step, on the scale of the median step unless a field says otherwise. */
struct whatif {
    bool trusted;
    const char *why_not; /* one sentence; NULL if trusted */
    /* If trusted: what was not recorded and therefore widens the intervals; NULL if nothing. */
    const char *wider;
    bool once;           /* no step repeats: the window was replayed, for bounds only */
    bool events_guessed; /* the recording does not show which stream waits for which event */
    /* How far the mean of steps that differ may be from the mean of other steps, or the replay from
     * the recording; 0 if both are near. */
    double scatter_pct;
    size_t steps, tasks, edges, waits, violations;
    int64_t step_ns; /* the median step; 0 = nothing was replayed */
    /* The replay without changes and without rare long steps. Not on the scale of the median
     * step. */
    int64_t pace_ns;
    int64_t unprofiled_ns; /* pace_ns without the profiler's own measured cost */
    /* If PyTorch's profiler recorded stacks, and they cost as little as on any machine: the step
     * without them, in shares of the recorded one (0: no stacks, or not replayed), and what all host
     * work costs, in shares of that step. */
    double unstacked, unstacked_host;
    int64_t unstacked_host_ns; /* that of the median step, if stacks cost as they usually do */
    double identity_error_pct; /* of the unchanged replay against the recording; other than 0 only
                                  by a fault of the engine */
    double unexplained_pct;    /* stalls on the critical path, in % of it */
    double class_error_pct;    /* of a replay in which each small residual is the mean of its kind
                                  of task */
    /* Error when some steps are replayed with the durations of others; -1: no steps do the same
     * work. */
    double holdout_error_pct, holdout_p95_pct;
    /* Upper bounds: what is saved if all of the host, waits, collectives or data loading take no
     * time. */
    int64_t host_bound_ns, wait_bound_ns, comm_bound_ns, input_bound_ns;
    struct path_share path[PATH_CLASSES];
    int64_t idle_ns; /* per step, while no operation of the program runs on the GPU */
    struct path_item path_top[PATH_TOP];
    size_t path_top_count; /* longest first */
};

/* What a change saves per step: the middle, and the range of 80 % of the draws, widened by the
 * engine's own errors. */
struct span_ns {
    int64_t low_ns, mid_ns, high_ns;
    /* The low end if the rerun's host keeps its recorded pace. At least low_ns. */
    int64_t least_ns;
};

#endif
