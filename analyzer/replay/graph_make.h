/* Shared by the files that make a graph's tasks: graph.c, graph_threads.c for host threads,
 * graph_loads.c and graph_loader.c for batches, graph_queue.c for calls that block, graph_homes.c
 * for the nodes of CUDA graphs. */
#ifndef GPUPROF_REPLAY_GRAPH_MAKE_H
#define GPUPROF_REPLAY_GRAPH_MAKE_H

#include "analyzer/timeline/sort.h"
#include "analyzer/replay/graph.h"
#include "base/vec.h"

/* A range of the training thread in which it makes a batch (`makes`) or waits for one. */
struct batch_mark {
    int64_t start_ns, end_ns;
    uint32_t number;
    bool makes;
};

/* A batch that another thread than the training thread makes. */
struct load {
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
    size_t mark;                  /* first mark that ends after the cursor */
    uint32_t *first_op, *next_op; /* by API call, its first operation; by operation, the call's next
                                     one */
    uint32_t *home;               /* by stream: the stream that orders its work (graph_homes.c) */
    /* By operation: when all operations that started no later had ended. NULL: not computed yet. */
    int64_t *ended;
    /* Usual host time of a launch that does not block; 0: not computed yet. */
    int64_t launch_ns;
    bool frees_wait; /* frees wait for the GPU: true unless the recording shows one that did not */
    int64_t end_ns;
    const bool *feeds; /* by thread: it feeds the program from aside and gets no tasks */
    bool failed;
};

/* Adds a task of `lane`; tasks are sorted by `key`, a time. Never returns NULL: without memory it
 * sets m->failed and returns a dummy. */
struct task *graph_put(struct maker *m, enum task_kind kind, int64_t key, uint32_t lane,
                       int64_t start_ns, int64_t end_ns, uint32_t source);
/* Adds the tasks of one host thread, and the GPU work that its calls issue. `event_of` has, by API
 * call, the event that the call records. Returns -1 without memory. */
int graph_put_thread(struct maker *m, uint32_t thread, const uint32_t *event_of);
/* Fills m->home. Returns -1 without memory. */
int graph_find_homes(struct maker *m);
/* Adds one operation, on the stream that orders it. */
void graph_put_op(struct maker *m, uint32_t op, int64_t key);
/* Returns the usual host time of a launch that does not block, at least 1 ns. */
int64_t graph_launch_ns(struct maker *m);
/* Returns until when the call, if it frees memory, waited for the device; -1: it does not wait. */
int64_t graph_free_waited(struct maker *m, uint32_t api);
/* Adds the batches: where the training thread makes or takes one, and what workers make. Returns -1
 * without memory. */
int graph_put_loads(struct maker *m);
/* Finds the same marks and loads in the rows of a framework's hook. Returns 1 if it found all of
 * them, 0 if the rows are missing or incomplete, -1 without memory. */
int graph_loader(struct maker *m, struct loads *loads);
/* Fills g->classes and g->computes. Returns -1 without memory. */
int graph_classify(struct graph *g);

#endif
