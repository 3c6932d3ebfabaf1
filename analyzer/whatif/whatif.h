/* What a change would save: an edit applied to the graph, replayed, and compared with the replay of
 * the steps as they were. Parameters that nobody knows (how fast a kernel would become)
 * are drawn from the ranges that edits.c documents; the answer is the interval of the replays,
 * widened by what the engine's self-checks say about its own error, and by what was not recorded
 * (`wider`). When the checks fail nothing is predicted, and `why_not` says why.
 *
 * Cost: about 30 replays per edit. The engine knows nothing of rules: engine.h is its interface. */
#ifndef GPUPROF_WHATIF_WHATIF_H
#define GPUPROF_WHATIF_WHATIF_H

#include "analyzer/facts/facts.h"

/* EDIT_WORKERS: what loading in processes of their own costs beside making the batches. Of each
 * batch, at best and at worst; all 0 where workers are threads. */
struct hand_over {
    double get_low, get_high;   /* the training thread takes it out of the worker's memory */
    double send_low, send_high; /* the worker puts it there */
    double train_ns;            /* CPU time per step of all threads of the training process, batches
                                   aside; 0 = not known */
};

enum edit_kind { /* the change that a rule recommends */
                 EDIT_NONE,
                 EDIT_WORKERS,   /* make batches in `workers` workers */
                 EDIT_PIN,       /* pageable copies become pinned ones on a stream of their own */
                 EDIT_OVERLAP,   /* pinned copies move to a stream of their own */
                 EDIT_UNSYNC,    /* no waiting for all that is queued */
                 EDIT_LAYOUT,    /* no layout conversions */
                 EDIT_PRECISION, /* FP32 matrix kernels on tensor cores, the rest on half the bytes
                                  */
                 EDIT_FUSE,      /* the optimizer, or `ops`, in one kernel, of good .. bad times the
                                    bytes */
                 EDIT_GRAPH,     /* launches replaced by a graph's */
                 EDIT_ALGORITHM, /* other convolution algorithms */
                 EDIT_KEEP_GRADIENTS, /* no zeroing */
                 EDIT_REMOVE,         /* no `ops`, no `calls` */
                 EDIT_SCALE,          /* `ops` take good .. bad times as long */
                 EDIT_JOIN,           /* neighbours among `ops` become one kernel */
                 EDIT_BATCH,          /* `workers` times the batch */
                 EDIT_ACCUMULATE,     /* update and communicate once in `workers` steps */
                 EDIT_HIDE_COMM,      /* collectives beside backward, in buckets */
                 EDIT_BUCKET,         /* a few large collectives instead of many small ones */
                 EDIT_PUNCTUAL,       /* the late rank arrives with the last of the others */
                 EDIT_UNBLOCK,        /* launches return at once; no `ops`, no `calls` */
                 EDIT_SKIP,           /* the training thread takes no time for `ranges` */
                 EDIT_MORE_WORKERS,   /* batches that others make, unrecorded, come faster */
                 EDIT_READ_FREE, /* making a batch takes `good` of its time: no waiting for files */
                 EDIT_KINDS
};
const char *edit_name(enum edit_kind kind); /* "pin": for files, it never changes */

struct edit {
    enum edit_kind kind;
    int workers;                                        /* or times, or every how many */
    bool (*ops)(const struct facts *f, uint32_t op);    /* GPU work that it is about */
    bool (*calls)(const struct facts *f, uint32_t api); /* host calls, with their waits */
    const bool *op_marks, *call_marks; /* the same as arrays by index, instead: of the arena;
                                        * EDIT_GRAPH: what may stay outside; NULL: nothing */
    const bool *range_marks;           /* EDIT_SKIP: by range */
    const bool *keep_marks;            /* EDIT_UNSYNC: calls whose waits are not the program's */
    const bool *claimed_marks;         /* EDIT_UNSYNC: calls that another change removes */
    const uint32_t *op_calls;          /* EDIT_LAYOUT, EDIT_PRECISION: query_op_calls() */
    const bool *gone_marks; /* EDIT_FUSE, EDIT_SCALE: of op_marks, work that others do on the way */
    bool within;            /* EDIT_FUSE: `ops` are steps of operators that stay */
    bool pauses;            /* EDIT_REMOVE: nor what the host does between two such calls */
    bool tf32;              /* EDIT_PRECISION: FP32 by tensor cores in TF32, not 16 bits */
    bool layout;      /* EDIT_PRECISION: in channels-last as well, so nothing converts layouts */
    double good, bad; /* EDIT_SCALE: the range of the factor; EDIT_FUSE: 0, 0 is not known;
                       * EDIT_LAYOUT: what may be left of a convolution, 0: as chosen */
    bool in_stream;   /* EDIT_OVERLAP: only the host's wait goes */
    double cores;     /* EDIT_WORKERS: that other programs left; 0: all that may be used */
    struct hand_over hand_over; /* EDIT_WORKERS */
    bool best_case; /* nobody knows how much of the change can be had: replayed as a bound */
};

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
enum { PATH_TOP = 8, WHATIF_UNEXPLAINED_PCT = 5 /* more of the path: nothing is predicted */ };

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
