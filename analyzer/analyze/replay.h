/* Replays a graph: one pass over its tasks, O(tasks + edges). A plan says what is different.
 *
 * Dropping splices: a dropped task takes no time, and what came after it still comes after what
 * came before it. What a wait waits for is looked up during the replay: what its stream holds by
 * then. So a wait that is dropped moves to the next one by itself. */
#ifndef GPUPROF_ANALYZE_REPLAY_H
#define GPUPROF_ANALYZE_REPLAY_H

#include "analyzer/analyze/graph.h"

enum { POOL_MAX = 64 };

struct pool {             /* loader workers in place of the recorded loading */
    int workers, credits; /* 0 workers: loading stays as recorded */
    double stretch;       /* of the time to make a batch */
};

enum plan_mark {
    PLAN_DROP = 1,
    PLAN_DETACH = 2 /* copy: on a stream of its own; the next kernel in its place awaits it */
};

struct plan {
    int64_t *dur;  /* by task */
    uint8_t *mark; /* by task: enum plan_mark */
    struct pool pool;
    int64_t scale_lags_permille; /* of lags and residuals; 1000 = as recorded */
    bool mean_jitter;            /* residuals that are not stalls: the mean of their class */
};

struct replay {
    int64_t *start, *end, *order; /* by task; order: when what follows in the lane may begin */
    uint32_t *bind;               /* by task: the one that it waited for last, TASK_NONE */
    int64_t *tail, *step_end;     /* by stream; by step */
    uint32_t *tail_task;
    int64_t *got; /* by batch number: when it was taken */
    int64_t jitter_ns[TASK_KINDS];
    int64_t length_ns; /* end of the last step */
    int64_t step_ns;   /* mean of the steps behind the first third */
};

/* 0, or -1 when there is no memory. The plan is a copy of the recorded times, without changes. */
int plan_init(struct plan *p, const struct graph *g);
void plan_reset(struct plan *p, const struct graph *g);
void plan_release(struct plan *p);
int replay_init(struct replay *r, const struct graph *g);
void replay_release(struct replay *r);
/* Returns r->step_ns. */
int64_t replay_run(struct replay *r, const struct graph *g, const struct plan *p);

#endif
