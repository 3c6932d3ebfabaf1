/* The recorded steps as a dependency graph that can be replayed with changes.
 *
 * Tasks are what host threads, GPU streams and loader workers did in a window of consecutive used
 * steps. They lie in an order in which everything depends on earlier ones only: the host's order
 * of issuing, with a stream's work right behind the call that issues it. So a replay is one pass.
 *
 * What is left of a task's observed start once its dependencies are accounted for is its residual:
 * small ones are jitter, large ones are counted as unexplained. Both stay where they are in every
 * replay. One to three steps are repeated, as if the loop went on (graph_unroll.c).
 * Cost: 64 bytes per task, 16 per edge, O(n log n) to build.
 */
#ifndef GPUPROF_REPLAY_GRAPH_H
#define GPUPROF_REPLAY_GRAPH_H

#include "analyzer/facts/facts.h"

enum task_kind {
    TASK_HOST_API, /* a CUDA call without its wait */
    TASK_HOST_GAP, /* host time between calls */
    TASK_WAIT,     /* the blocked part of a call: ends when its target has */
    TASK_KERNEL,
    TASK_COPY,
    TASK_MEMSET,
    TASK_COLL,
    TASK_EV_REC,  /* in a stream, no length */
    TASK_EV_WAIT, /* in a stream, no length */
    TASK_LOAD,    /* makes a batch: on a worker, or in line on the training thread */
    TASK_GET,     /* the training thread takes a batch: ends when it has been made */
    TASK_KINDS
};

enum task_flag {
    TASK_STALL = 1,      /* the residual is too long for jitter: unexplained */
    TASK_INLINE = 2,     /* LOAD: on the training thread */
    TASK_FOR_KERNEL = 2, /* WAIT: of a launch that comes back when its kernel has run */
    TASK_DRAINS = 4,     /* WAIT for all that was queued, not for an earlier mark */
    TASK_ROOT = 8,       /* begins when it was observed to: nothing before it is in the window */
    TASK_COPY_WAIT = 16, /* WAIT of a copy call */
    TASK_BEHIND = 32,    /* runs behind the steps (worker): does not end one */
    TASK_NO_LEGACY = 64, /* was seen not to wait for the legacy default stream */
    TASK_HANDED = 128 /* HOST_GAP behind another thread's call (source), which handed over: inferred
                       */
};

enum task_trait {
    TRAIT_NO_TENSOR = 1, /* not on tensor cores */
    TRAIT_HALF = 2,      /* works on 16-bit numbers */
    TRAIT_BY_ROW = 4,    /* normalises rows: layer, group, RMS norm */
    TRAIT_FUSED = 8      /* made by a compiler of several operations */
};
/* What edits ask of every task, apart: they pass over all of them again and again. */
struct task_class {
    uint8_t family; /* of a kernel: enum kernel_family; else FAMILY_UNKNOWN */
    uint8_t traits; /* enum task_trait */
};

#define TASK_NONE UINT32_MAX

struct task {
    int64_t at_ns;   /* observed start (of WAIT, GET: end), from the window's start */
    int64_t dur_ns;  /* 0 for WAIT, GET, events */
    int64_t wait_ns; /* residual */
    uint32_t prev;   /* previous task on the same thread or stream, TASK_NONE */
    uint32_t issue;  /* GPU work: the HOST_API that issues it, TASK_NONE */
    uint32_t queue;  /* HOST_API: GPU task that must end for the queue to have room, TASK_NONE */
    uint32_t source; /* index of op, api, range or loader row */
    uint32_t edge;   /* first of `edges` that end here */
    uint32_t lane;   /* stream, or stream_count + thread */
    int32_t issue_lag_ns, prev_lag_ns;
    uint16_t edges;
    uint16_t step; /* of the window: 0 .. steps - 1 */
    uint8_t kind, flags;
    uint8_t
        guessed; /* of `edges`, the last so many: events that were not recorded, at the latest */
};
_Static_assert(sizeof(struct task) == 64, "a task fills a line of the cache");

struct edge {
    uint32_t from; /* its end must come first */
    int32_t lag_ns;
};

struct graph {
    const struct facts *a;
    struct task *tasks;
    struct task_class *classes; /* by task */
    size_t count;
    struct edge *edges;
    size_t edge_count;
    int64_t *loose_ns; /* by task: its residual without the guessed edges; NULL: there are none */
    uint32_t *tails;   /* by task: the stream whose end a WAIT awaits; TASK_NONE = all streams,
                          WAIT_NOTHING = edges only */
    size_t lanes, streams;
    bool *computes; /* by stream: it holds kernels */
    size_t steps;   /* in the window, and those that repeat them */
    size_t skip;    /* of these, the first ones, in which the rest settles: they do not count */
    size_t recorded_steps, recorded; /* steps and tasks of the window; what follows repeats them */
    uint32_t first;                  /* step index of the first */
    int64_t start_ns;                /* of the window, profile time */
    int64_t length_ns;               /* observed: of the window alone */
    size_t violations; /* dependencies that were observed broken; their lag was lowered */
    size_t loads, gets;
    bool once;           /* a window in which no step repeats: it is replayed once, as it is */
    bool launches_block; /* as CUDA_LAUNCH_BLOCKING makes them */
    int credits;         /* batches that may be ahead of the training thread; 0 = no workers seen */
    bool batches_ready;  /* waits for batches are, or may be, what taking a ready one costs */
    bool batches_late;   /* ... are, or may be, waits for the workers that make them */
    int64_t way_ns;      /* from the end of a load to the training thread that waits for it */
    uint32_t *load_of;   /* by GET number: LOAD task, TASK_NONE */
};

#define WAIT_NOTHING (UINT32_MAX - 1) /* in tails: no stream, edges only */

enum { QUEUE_DEPTH = 1024 }; /* launches a stream takes before the host blocks, as documented */

/* Whether there are so many streams, or threads that call CUDA, that a replay, which looks at all
 * of them at each wait, would take minutes. */
bool graph_too_wide(const struct timeline *t);
/* NULL with *e set; a graph of 0 tasks when it is too wide, or there are too few steps in a row. */
struct graph *graph_build(const struct facts *f, struct err *e);
void graph_free(struct graph *g);

/* Private to the builder: graph.c makes tasks, graph_edges.c joins them, graph_residuals.c explains
 * what is left of their starts. */
int graph_join(struct graph *g, struct err *e);
bool graph_events_missing(const struct facts *f);
int graph_unroll(struct graph *g, size_t turns, struct err *e);
void graph_residuals(struct graph *g);
uint32_t graph_made_room(const struct facts *f, uint32_t api);
bool graph_ran_inside(const struct facts *f, uint32_t api);
uint32_t graph_polled_op(const struct facts *f, int64_t from_ns, int64_t to_ns);
int64_t graph_page_back(const struct facts *f, int64_t from, int64_t to);
uint32_t graph_ended_by(const struct graph *g, uint32_t from, int64_t at_ns);

enum { GRAPH_STEPS_ENOUGH = 4 }; /* fewer are repeated */

static inline bool task_is_host(const struct task *t)
{
    return t->kind == TASK_HOST_API || t->kind == TASK_HOST_GAP;
}
static inline int64_t task_end(const struct task *t)
{
    return t->at_ns + t->dur_ns;
}

/* Which repetition of the window the task belongs to; 0: it was recorded. */
static inline size_t task_turn(const struct graph *g, const struct task *t)
{
    return t->step / g->recorded_steps;
}

static inline bool task_on_gpu(const struct task *t)
{
    return t->kind >= TASK_KERNEL && t->kind <= TASK_EV_WAIT;
}

#endif
