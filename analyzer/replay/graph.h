/* The recorded steps as a dependency graph that can be replayed with changes.
 *
 * A task is one piece of work of a host thread, a GPU stream or a loader worker in a window of
 * consecutive used steps. Tasks are sorted by the time at which the host issued them; GPU work
 * stands right behind the call that issued it. So each task depends on earlier tasks only, and a
 * replay is one pass over the array.
 *
 * A task's residual is the part of its observed start that its dependencies do not explain. The
 * builder treats small residuals as jitter and counts large ones as unexplained (stalls). Every
 * replay keeps both. A window of one to three steps is repeated as if the loop continued
 * (graph_unroll.c).
 * Cost: 64 bytes per task, 16 per edge, O(n log n) time to build. */
#ifndef GPUPROF_REPLAY_GRAPH_H
#define GPUPROF_REPLAY_GRAPH_H

#include "analyzer/facts/facts.h"

enum task_kind {
    TASK_HOST_API, /* a CUDA call without the time that it waits */
    TASK_HOST_GAP, /* host time between two calls */
    TASK_WAIT,     /* the blocked part of a call: it ends when what it waits for has ended */
    TASK_KERNEL,
    TASK_COPY,
    TASK_MEMSET,
    TASK_COLL,
    TASK_EV_REC,  /* cudaEventRecord in a stream; takes no time */
    TASK_EV_WAIT, /* cudaStreamWaitEvent in a stream; takes no time */
    TASK_LOAD,    /* makes a batch, on a worker or on the training thread itself */
    TASK_GET,     /* the training thread takes a batch: ends when the batch has been made */
    TASK_KINDS
};

enum task_flag {
    TASK_STALL = 1,      /* the residual is too long for jitter (REPLAY_STALL_NS): unexplained */
    TASK_INLINE = 2,     /* LOAD on the training thread */
    TASK_FOR_KERNEL = 2, /* WAIT of a launch that returns only after its kernel has run */
    TASK_DRAINS = 4,     /* WAIT for all work queued so far, not for an earlier event */
    TASK_ROOT = 8,       /* starts when it was observed to start: what it waited for precedes the
                            window */
    TASK_COPY_WAIT = 16, /* WAIT of a copy call */
    TASK_BEHIND = 32,    /* LOAD of a worker, which runs beside the steps: a step may end before
                            it */
    TASK_NO_LEGACY = 64, /* was observed not to wait for the legacy default stream */
    /* HOST_GAP that begins when a call of another thread (source) returned: the builder infers that
     * this call handed the work over. */
    TASK_HANDED = 128
};

enum task_trait {
    TRAIT_NO_TENSOR = 1, /* does not use tensor cores */
    TRAIT_HALF = 2,      /* works on 16-bit numbers */
    TRAIT_BY_ROW = 4,    /* normalises rows: layer, group or RMS norm */
    TRAIT_FUSED = 8,     /* a compiler fused several operations into this kernel */
    /* of a call: */
    TRAIT_COLLECTIVE = 16, /* launches a collective */
    TRAIT_CAPTURES = 32    /* not a launch, and a graph's capture may hold it */
};
/* What edits and draws read of every task. It lies in an array of its own because edits scan all tasks
 * often. */
struct task_class {
    uint8_t family; /* of a kernel: enum kernel_family; of other tasks FAMILY_UNKNOWN */
    uint8_t traits; /* bits of enum task_trait */
    uint8_t kind;   /* the task's */
    uint8_t call;   /* of HOST_API and WAIT: enum api_kind */
};

#define TASK_NONE UINT32_MAX

struct task {
    int64_t at_ns;   /* observed start (of WAIT and GET: end), since the window's start */
    int64_t dur_ns;  /* 0 for WAIT, GET and events */
    int64_t wait_ns; /* residual */
    uint32_t prev;   /* previous task of the same thread or stream, or TASK_NONE */
    uint32_t issue;  /* of GPU work: the HOST_API that issues it, or TASK_NONE */
    uint32_t queue;  /* HOST_API: GPU task that must end before the queue has room, or TASK_NONE */
    uint32_t source; /* index of the op, API call, range or loader row */
    uint32_t edge;   /* index of the first of `edges` edges that end at this task */
    uint32_t lane;   /* a stream's index, or stream_count + thread index */
    int32_t issue_lag_ns, prev_lag_ns;
    uint16_t edges;
    uint16_t step; /* in the window: 0 .. steps - 1 */
    uint8_t kind, flags;
    /* How many of `edges`, counted from the last, are guesses: they stand for events that were not
     * recorded, at the latest time possible. */
    uint8_t guessed;
};
_Static_assert(sizeof(struct task) == 64, "a task fills a line of the cache");

struct edge {
    uint32_t from; /* task that must end first */
    int32_t lag_ns;
};

struct graph {
    const struct facts *a;
    struct task *tasks;
    struct task_class *classes; /* by task */
    size_t count;
    struct edge *edges;
    size_t edge_count;
    /* By task: the residual without the guessed edges. NULL if no edge is guessed. */
    int64_t *loose_ns;
    /* By task: the stream whose latest work a WAIT waits for. TASK_NONE: all streams. WAIT_NOTHING:
     * no stream, only the task's edges. */
    uint32_t *tails;
    size_t lanes, streams;
    bool *computes; /* by stream: it runs kernels */
    size_t steps;   /* in the window, plus the repetitions of them */
    size_t skip;    /* the first `skip` steps do not count: the replay has not settled yet */
    /* Steps and tasks of the window itself; the tasks behind them repeat it. */
    size_t recorded_steps, recorded;
    uint32_t first;    /* step index of the window's first step */
    int64_t start_ns;  /* of the window, in the profile's time */
    int64_t length_ns; /* observed length of the window, without repetitions */
    size_t violations; /* dependencies that the recording contradicts; the builder shortened their
                          lags */
    size_t loads, gets;
    bool once;           /* no step repeats: the window is replayed once, as it is */
    bool launches_block; /* launches return after their kernel, as under CUDA_LAUNCH_BLOCKING */
    int credits;         /* how many batches workers may be ahead of the training thread; 0: no
                            workers */
    /* The waits for batches may be only the cost of taking a batch that is ready. */
    bool batches_ready;
    /* The waits for batches may be waits for the workers that make them. Both may be true: then the
     * recording does not decide. */
    bool batches_late;
    int64_t way_ns;    /* from the end of a LOAD until the waiting training thread has the batch */
    uint32_t *load_of; /* by batch number: its LOAD task, or TASK_NONE */
};

#define WAIT_NOTHING (UINT32_MAX - 1) /* in tails: no stream, edges only */

/* How many launches a stream queues before the next launch blocks the host, as documented. */
enum { QUEUE_DEPTH = 1024 };

/* Returns true if the recording has so many streams, or threads with CUDA calls, that replays would
 * take minutes: at each wait a replay looks at all streams. */
bool graph_too_wide(const struct timeline *t);
/* Returns the graph, or NULL with *e set. The graph has 0 tasks if the recording is too wide, or if
 * no used step can be replayed. The caller frees it by graph_free(). */
struct graph *graph_build(const struct facts *f, struct err *e);
void graph_free(struct graph *g);

/* Private to the builder: graph.c makes the tasks, graph_edges.c connects them, graph_residuals.c
 * computes the residuals. */
int graph_join(struct graph *g, struct err *e);
bool graph_events_missing(const struct facts *f);
int graph_unroll(struct graph *g, size_t turns, struct err *e);
void graph_residuals(struct graph *g);
uint32_t graph_awaited_for_room(const struct facts *f, uint32_t api);
bool graph_ran_inside(const struct facts *f, uint32_t api);
uint32_t graph_polled_op(const struct facts *f, int64_t from_ns, int64_t to_ns);
int64_t graph_page_back(const struct facts *f, int64_t from, int64_t to);
uint32_t graph_ended_by(const struct graph *g, uint32_t from, int64_t at_ns);

enum { GRAPH_STEPS_ENOUGH = 4 }; /* shorter windows are repeated */

static inline bool task_is_host(const struct task *t)
{
    return t->kind == TASK_HOST_API || t->kind == TASK_HOST_GAP;
}
static inline int64_t task_end(const struct task *t)
{
    return t->at_ns + t->dur_ns;
}

/* Which repetition of the window the task belongs to; 0: the recorded window. */
static inline size_t task_turn(const struct graph *g, const struct task *t)
{
    return t->step / g->recorded_steps;
}

static inline bool task_on_gpu(const struct task *t)
{
    return t->kind >= TASK_KERNEL && t->kind <= TASK_EV_WAIT;
}

#endif
