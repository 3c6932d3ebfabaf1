/* Replays a graph: one pass over its tasks, O(tasks + edges). A plan says what is different.
 *
 * Dropping splices: a dropped task takes no time, and what came after it still comes after what
 * came before it. What a wait waits for is looked up during the replay: what its stream holds by
 * then. So a wait that is dropped moves to the next one by itself. */
#ifndef GPUPROF_REPLAY_REPLAY_H
#define GPUPROF_REPLAY_REPLAY_H

#include "analyzer/replay/graph.h"

enum { POOL_MAX = 64 };

struct pool {               /* loader workers in place of the recorded loading */
    int workers, credits;   /* 0 workers: loading stays as recorded */
    double cores;           /* 0 = not known */
    double cpu;             /* share of the time to make a batch that needs a core */
    double spin;            /* share of its waits for the GPU for which the training thread does */
    double busy;            /* cores that the process has while the training thread is at work */
    double get_ns, send_ns; /* for each batch: to take it from a worker, and there to hand it out */
    double slower;          /* a batch on a worker against one as it was recorded */
    double stretch;         /* of the time to make a batch: replay_settle() finds it */
};

enum plan_mark {
    PLAN_DROP = 1,
    PLAN_DETACH = 2, /* copy: on a stream of its own; the next kernel in its place awaits it */
    PLAN_NODE = 4    /* of a graph: follows what came before it in its stream sooner */
};

/* What was not recorded, taken one way or the other: a prediction holds for both. */
enum assumption {
    ASSUME_NO_EVENTS = 1, /* guessed dependencies do not hold: what they explain stays in place */
    ASSUME_STALLS_DATED =
        2,               /* what nothing explains ends when it did in its step, whatever changes */
    ASSUME_END_WAIT = 4, /* the host waits for the GPU at the end of each step */
    ASSUME_ORDER = 8,    /* kernels of several streams follow each other as they did */
    ASSUME_READY = 16    /* batches were ready: taking one costs what it took when recorded */
};

struct plan {
    int64_t *was;  /* by task, as recorded: what plan_reset() goes back to */
    int64_t *dur;  /* by task */
    uint8_t *mark; /* by task: enum plan_mark */
    struct pool pool;
    int work;                    /* this many times as much is done in a step */
    int64_t node_lag_permille;   /* of PLAN_NODE: the usual delay behind what came before */
    int64_t scale_lags_permille; /* of lags and residuals; 1000 = as recorded */
    unsigned assume;             /* enum assumption */
    const struct replay *dated;  /* ASSUME_STALLS_DATED: the steps as they were */
    bool most;        /* for a bound: edits take their cause away wherever it acts, sure or not */
    bool mean_jitter; /* residuals that are not stalls: the mean of their class */
};

struct replay {
    int64_t *start, *end;     /* by task */
    uint32_t *bind;           /* by task: the one that it waited for last, TASK_NONE */
    int64_t *order;           /* by lane: when what follows in it may begin */
    int64_t *tail, *step_end; /* by stream; by step */
    int64_t *step_begin;      /* by step: on the training thread */
    bool ran_dry; /* the GPU had done all when the host began its steps, nearly always */
    uint32_t *tail_task;
    int64_t *row;                      /* scratch of pace_ns */
    int64_t *got;                      /* by batch number: when it was taken */
    uint32_t *number, *queue, *queued; /* replay_queue.h: by task; by stream, the last ones; by
                                          stream, how many so far */
    int64_t jitter_ns[TASK_KINDS];
    int64_t length_ns; /* end of the last step */
    int64_t step_ns;   /* mean of the steps behind the first ones */
    int64_t pace_ns;   /* of these, the median over four in a row, rare long steps left out; the
                          mean where few steps are repeated */
};

/* 0, or -1 when there is no memory. The plan is a copy of the recorded times, without changes. */
int plan_init(struct plan *p, const struct graph *g);
/* After the graph's own times were changed. */
void plan_rebase(struct plan *p, const struct graph *g);
void plan_reset(struct plan *p, const struct graph *g);
void plan_release(struct plan *p);
int replay_init(struct replay *r, const struct graph *g);
void replay_release(struct replay *r);
/* Returns r->step_ns. */
int64_t replay_run(struct replay *r, const struct graph *g, const struct plan *p);
/* The same for a plan with workers: how much cores they leave each other depends on the pace, which
 * depends on that; a few passes settle it. */
int64_t replay_settle(struct replay *r, const struct graph *g, struct plan *p);

#endif
