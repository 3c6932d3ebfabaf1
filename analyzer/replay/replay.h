/* Replays a graph with the changes of a plan: one pass over its tasks, O(tasks + edges).
 *
 * A dropped task takes no time, but its successor still comes after its predecessor. What a wait
 * waits for is looked up during the replay, namely the work that its stream holds by then. So if a
 * plan drops one wait, the next wait of the host takes over what is left of it. */
#ifndef GPUPROF_REPLAY_REPLAY_H
#define GPUPROF_REPLAY_REPLAY_H

#include "analyzer/replay/graph.h"

enum { POOL_MAX = 64 };

/* Loader workers that replace the recorded loading. */
struct pool {
    int workers, credits; /* 0 workers: loading stays as recorded. credits: see struct graph */
    double cores;         /* of the machine, for this program; 0 = not known */
    double cpu;           /* share of the time to make a batch during which it needs a core */
    /* Share of its waits for the GPU during which the training thread keeps a core busy. */
    double spin;
    double busy; /* cores that the process uses while the training thread works */
    /* For each batch: to take it from a worker, and for the worker to hand it out. */
    double get_ns, send_ns;
    double slower;  /* time to make a batch on a worker, relative to the recorded time */
    double stretch; /* factor on the time to make a batch; replay_settle() finds it */
};

enum plan_mark {
    PLAN_DROP = 1,
    /* A copy gets a stream of its own; the next kernel in replay order waits for it. */
    PLAN_DETACH = 2,
    /* A kernel becomes a node of a CUDA graph: it starts sooner after its predecessor in the stream
     * (node_lag_permille). */
    PLAN_NODE = 4
};

/* Assumptions about what was not recorded. The engine replays with and without them, and its
 * interval holds the results of both. */
enum assumption {
    /* Guessed edges do not exist: what they explained becomes part of the residual. */
    ASSUME_NO_EVENTS = 1,
    /* A stall ends at the same time after its step's begin as recorded, whatever changes. */
    ASSUME_STALLS_DATED = 2,
    ASSUME_END_WAIT = 4, /* the host waits for the GPU at the end of each step */
    ASSUME_ORDER = 8,    /* kernels of different streams keep their recorded order */
    ASSUME_READY = 16    /* batches were ready: taking one costs what it cost when recorded */
};

struct plan {
    int64_t *was;  /* by task: durations that plan_reset() restores */
    int64_t *dur;  /* by task: durations that the replay uses */
    uint8_t *mark; /* by task: bits of enum plan_mark */
    struct pool pool;
    int work;                    /* a step does this many times as much work as the recorded one */
    int64_t node_lag_permille;   /* of PLAN_NODE: factor on the delay after the predecessor; 1000 =
                                    as recorded */
    int64_t scale_lags_permille; /* factor on lags and residuals; 1000 = as recorded */
    unsigned assume;             /* bits of enum assumption */
    const struct replay *dated;  /* for ASSUME_STALLS_DATED: the replay without changes */
    /* For an upper bound: edits remove their cause wherever it acts, also where that is not
     * certain. */
    bool most;
    /* Replace each residual that is no stall by the mean of its kind of task (a check of the
     * engine). */
    bool mean_jitter;
};

struct replay {
    /* The times of task, lane, stream, step or batch i stand at i * wide: see struct replay_wide. */
    size_t wide;
    int64_t *start, *end;     /* by task */
    uint32_t *bind;           /* by task: the dependency that released it last, or TASK_NONE. NULL
                                 in struct replay_wide */
    int64_t *order;           /* by lane: when its next task may start */
    int64_t *tail, *step_end; /* by stream: end of its latest work; by step */
    int64_t *step_begin;      /* by step: when the training thread begins it */
    /* The GPU had finished its work when the training thread began a step, in nearly all steps. */
    bool ran_dry;
    uint32_t *tail_task;
    int64_t *row; /* scratch of replay_pace() */
    int64_t *got; /* by batch number: when the training thread took it */
    /* For replay_queue.h. number: by task; queue: by stream, its last QUEUE_DEPTH operations;
     * queued: by stream, how many so far. */
    uint32_t *number, *queue, *queued;
    /* Where some call of the graph waits for room in a queue: the work that takes room, in order. */
    uint32_t *roomy;
    size_t roomy_count;
    bool *legacy; /* by stream: other streams and this one may wait for each other (after_legacy) */
    uint8_t *way; /* by task: how passes go over it (replay.c) */
    int64_t jitter_ns[TASK_KINDS];
    int64_t length_ns; /* end of the last step */
    int64_t step_ns;   /* mean of the steps behind the skipped ones */
    /* Median over rows of four of these steps, without rare long ones. In a window that is repeated
     * it is step_ns. */
    int64_t pace_ns;
};

/* Replays of several plans in one pass: their times lie side by side, so that what a pass asks of a
 * task, and the arithmetic, serve all of them. */
enum { REPLAY_WIDE = 4 };
struct replay_wide {
    struct replay lane[REPLAY_WIDE]; /* what replay_run() leaves, without bind */
    uint8_t *mark;                   /* scratch: by task, the marks of any plan */
};

static inline size_t replay_at(const struct replay *r, size_t i)
{
    return i * r->wide;
}

/* Makes a plan without changes. Returns -1 without memory. */
int plan_init(struct plan *p, const struct graph *g);
/* Takes over the graph's durations, after the caller changed these. */
void plan_rebase(struct plan *p, const struct graph *g);
void plan_reset(struct plan *p, const struct graph *g);
void plan_release(struct plan *p);
int replay_init(struct replay *r, const struct graph *g);
void replay_release(struct replay *r);
/* Returns r->step_ns, in ns. */
int64_t replay_run(struct replay *r, const struct graph *g, const struct plan *p);
/* Like replay_run(), for a plan with workers: the cores that workers can use depend on the pace,
 * and the pace depends on these cores. A few passes find values that agree. */
int64_t replay_settle(struct replay *r, const struct graph *g, struct plan *p);

int replay_wide_init(struct replay_wide *w, const struct graph *g);
void replay_wide_release(struct replay_wide *w);
/* As replay_run() and replay_settle(), for n plans with the same assumptions; n: 1 to REPLAY_WIDE.
 * Plan k leaves its result in w->lane[k]. */
void replay_wide_run(struct replay_wide *w, const struct graph *g, struct plan *const *p, size_t n);
void replay_wide_settle(struct replay_wide *w, const struct graph *g, struct plan *const *p,
                        size_t n);

#endif
