/* What a change would save: an edit applied to the graph, replayed, and compared with the replay of
 * the steps as they were. Parameters that nobody knows (how fast a kernel would become)
 * are drawn from the ranges that `edits/` documents; the answer is the interval of the replays,
 * widened by what the engine's self-checks say about its own error, and by what was not recorded
 * (`wider`). When the checks fail nothing is predicted, and `why_not` says why.
 *
 * Cost: about 30 replays per edit. The engine knows nothing of rules: engine.h is its interface. */
#ifndef GPUPROF_WHATIF_WHATIF_H
#define GPUPROF_WHATIF_WHATIF_H

#include "analyzer/whatif/edits/edit.h"
#include "analyzer/whatif/limits.h"

/* What the time on the critical path, and idle time of the GPU, goes to (critical.c). */
enum path_class {
    PATH_INPUT,  /* making a batch, taking one */
    PATH_HOST,   /* the program between CUDA calls */
    PATH_LAUNCH, /* CUDA calls, and from the call to the GPU */
    PATH_ALLOC,
    PATH_MODULE, /* and making and ending contexts */
    PATH_SYNC,   /* calls that wait, without what they wait for */
    PATH_COPY,
    PATH_MATRIX,
    PATH_KERNEL, /* other kernels */
    PATH_COMM,
    PATH_QUEUED, /* between operations that were both queued */
    PATH_UNEXPLAINED,
    PATH_CLASSES
};
extern const char *const path_key[PATH_CLASSES]; /* snake_case for JSON */
extern const char *const path_title[PATH_CLASSES];

struct path_share {   /* per step */
    int64_t path_ns;  /* on the critical path; sums to whatif.step_ns exactly */
    int64_t idle_ns;  /* of the time in which the GPU does nothing; sums to whatif.idle_ns */
    int64_t worth_ns; /* saved at most if all of the class took no time */
};
struct path_item { /* kernels, calls and ranges that are longest on the path, by name */
    const char *what;
    enum path_class class;
    int64_t ns; /* per step */
};
enum { PATH_TOP = 8 };

/* How far the replay may be trusted, and the bounds of any advice of a class. Times per step, all
 * of them on the scale of the median step. */
struct whatif {
    bool trusted;
    const char *why_not; /* not trusted: one sentence */
    const char *wider; /* trusted: what was not recorded, for which the intervals are wider; NULL */
    bool once;         /* no step repeats: the window was replayed, for bounds alone */
    bool events_guessed; /* which stream waits for which was not recorded */
    double scatter_pct;  /* how far the mean of steps that differ may be from that of others; 0 */
    size_t steps, tasks, edges, waits, violations;
    int64_t step_ns;       /* the median step, 0 = nothing was replayed */
    int64_t pace_ns;       /* replayed as recorded, rare long steps left out: not on that scale */
    int64_t unprofiled_ns; /* ... and without the profiler's own measured cost */
    double identity_error_pct; /* against the recording: 0 unless the engine is wrong */
    double unexplained_pct;    /* U: stalls on the critical path */
    double class_error_pct;    /* replay with every small residual at its class mean */
    double holdout_error_pct, holdout_p95_pct; /* durations of one step in the others; -1: never
                                                  alike */
    int64_t host_bound_ns, wait_bound_ns, comm_bound_ns, input_bound_ns; /* saves at most */
    struct path_share path[PATH_CLASSES];
    int64_t idle_ns; /* per step: no operation of the program runs on the GPU */
    struct path_item path_top[PATH_TOP];
    size_t path_top_count; /* falling */
};

struct span_ns { /* what is saved per step: the middle, and 80 % of the draws with our own doubt */
    int64_t low_ns, mid_ns, high_ns;
    int64_t least_ns; /* the low end if the host keeps its recorded pace; at least low_ns */
};

#endif
