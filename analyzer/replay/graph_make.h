/* Between the files that make a graph's tasks: graph.c, graph_threads.c for host threads,
 * graph_loads.c for batches, graph_homes.c for the nodes of CUDA graphs. */
#ifndef GPUPROF_REPLAY_GRAPH_MAKE_H
#define GPUPROF_REPLAY_GRAPH_MAKE_H

#include "analyzer/timeline/sort.h"
#include "analyzer/replay/graph.h"
#include "base/vec.h"

struct batch_mark { /* a range of the training thread in which a batch is made or awaited */
    int64_t start_ns, end_ns;
    uint32_t number;
    bool makes;
};

struct load { /* a batch made by another thread than the training thread */
    int64_t start_ns, end_ns;
    uint32_t thread;
};

struct loads VEC(struct load);

struct maker {
    struct graph *g;
    const struct facts *a;
    const struct timeline *t;
    struct VEC(struct task) tasks;
    struct VEC(struct sort_key) keys;
    struct VEC(struct batch_mark) marks;
    size_t mark;                  /* next one that has not ended before the cursor */
    uint32_t *first_op, *next_op; /* ops of an API call */
    uint32_t *home;               /* by stream: the one that orders its work, graph_homes.c */
    int64_t *ended;               /* by op: when all that began no later had; NULL: not asked yet */
    int64_t launch_ns;            /* of the host, for a launch that waits for nothing; 0: not
                                     asked yet */
    bool frees_wait;              /* as they should, and were not seen not to */
    int64_t end_ns;
    const bool *feeds; /* by thread: it has no tasks */
    bool failed;
};

/* A task of `lane` whose place in the order is `key`; never NULL, m->failed without memory. */
struct task *graph_put(struct maker *m, enum task_kind kind, int64_t key, uint32_t lane,
                       int64_t start_ns, int64_t end_ns, uint32_t source);
/* The tasks of one host thread, and the GPU work that its calls queue; `event_of`: by API call, the
 * event that it records. -1: out of memory. */
int graph_put_thread(struct maker *m, uint32_t thread, const uint32_t *event_of);
/* Fills m->home. -1: out of memory. */
int graph_find_homes(struct maker *m);
/* Puts one operation on the stream that orders it. */
void graph_put_op(struct maker *m, uint32_t op, int64_t key);
/* What a launch takes of the host where it waits for nothing. */
int64_t graph_launch_ns(struct maker *m);
/* Until when the call, a free, waited for the device; -1: it does not wait. */
int64_t graph_free_waited(struct maker *m, uint32_t api);
/* Batches: the training thread's marks, and what workers make. -1: out of memory. */
int graph_put_loads(struct maker *m);
/* The same from the rows of a framework's hook; 0 where these lack, 1 where marks and loads are all
 * of them. -1: out of memory. */
int graph_loader(struct maker *m, struct loads *loads);
/* Fills classes and computes. -1: out of memory. */
int graph_classify(struct graph *g);

#endif
