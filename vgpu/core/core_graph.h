/* Graphs of the virtual GPU: captured (core_capture.c), built, instantiated and launched
 * (core_graph.c). Functions that return int return a cudaError_t number. */
#ifndef VGPU_CORE_GRAPH_H
#define VGPU_CORE_GRAPH_H

#include "core/core_state.h"

enum vg_node_kind {
    VG_NODE_KERNEL = 0,
    VG_NODE_COPY = 1,
    VG_NODE_MEMSET = 2,
    VG_NODE_HOST = 3,
    VG_NODE_GRAPH = 4,
    VG_NODE_EMPTY = 5,
    VG_NODE_WAIT = 6,
    VG_NODE_RECORD = 7,
    VG_NODE_ALLOC = 10,
    VG_NODE_FREE = 11,
    VG_NODE_CONDITIONAL = 13
};
enum { VG_NODE_GIVEN = 256 };

/* The memory of an allocation node. Its address stays taken as long as a graph has the node. */
struct vg_graph_memory {
    void *ptr;
    int refs;
    bool freed_inside; /* otherwise the program frees it */
};

struct vg_node {
    enum vg_node_kind kind; /* numbered as cudaGraphNodeType */
    uint64_t id;
    size_t index;        /* in its graph: dependencies have smaller ones */
    const void *copy_of; /* the node that the program knows; its graph may be freed by now */
    bool disabled;
    struct vg_node **deps;
    size_t deps_n;
    struct vg_kernel kernel;
    struct vg_copy copy;
    enum vg_engine engine;
    double duration_ns; /* of copies and memsets */
    struct vg_record record;
    struct vg_set set;
    void (*host)(void *);
    void *host_arg;
    struct vg_event *event;
    struct vg_barrier barrier; /* of a kernel that has one: then `begin` is set */
    struct vg_graph *child; /* of a child graph or a condition: the graph that runs in its place */
    size_t child_first;     /* once the graph is flat: index of the child's first node */
    struct vg_graph_memory *memory;                  /* of an allocation */
    _Alignas(16) unsigned char given[VG_NODE_GIVEN]; /* parameters as the program gave them */
    struct { /* of a kernel, as the program set them; id 0: free */
        int id;
        unsigned char value[64]; /* cudaLaunchAttributeValue */
    } attribute[8];
};

struct vg_graph {
    uint32_t magic, id;
    struct vg_node **nodes;
    size_t count, capacity;
    struct vg_stream *streams[32]; /* streams in the capture; the first one began it */
    size_t stream_count;
    bool invalid, kept; /* kept: captured into a graph that the program had made */
    size_t *order; /* for a flat graph whose nodes are not already in order of their dependencies */
    struct vg_graph *next_capture;
};

struct vg_exec {
    uint32_t magic, id;
    struct vg_graph *graph; /* a copy of its own */
};

/* NULL: not a living graph. */
static inline struct vg_graph *vg_graph_check(struct vg_graph *g)
{
    return g && g->magic == VG_GRAPH_MAGIC ? g : NULL;
}
static inline struct vg_exec *vg_exec_check(struct vg_exec *x)
{
    return x && x->magic == VG_EXEC_MAGIC ? x : NULL;
}
/* The executable graph's copy of a node; NULL: it has none. */
static inline struct vg_node *vg_exec_node(struct vg_exec *x, const struct vg_node *n)
{
    for (size_t i = 0; n && vg_exec_check(x) && i < x->graph->count; i++)
        if (x->graph->nodes[i]->copy_of == n)
            return x->graph->nodes[i];
    return NULL;
}

/* The capture in which an event was recorded, if it is still in progress; else NULL. */
struct vg_graph *vg_event_capture(const struct vg_event *e);
/* During capture of `s`: a new node behind what the stream did last. NULL: not capturing. */
struct vg_node *vg_capture_node(struct vg_stream *s, enum vg_node_kind kind);
/* The error of a call that capture forbids (any synchronisation), or 0. s NULL: the device. */
int vg_capture_forbids(struct vg_stream *s);
/* The same for calls that a thread may make once it has relaxed its mode: allocations. */
int vg_capture_forbids_unsafe(void);
int vg_capture_thread_mode(int mode); /* sets a cudaStreamCaptureMode; returns the previous one */
/* into: NULL, or a graph that gets the nodes, behind `deps`. */
int vg_capture_begin(struct vg_stream *s, int mode, struct vg_graph *into,
                     struct vg_node *const *deps, size_t n);
/* Sets, or adds to, the nodes on which the stream's next one depends. */
int vg_capture_depend(struct vg_stream *s, struct vg_node *const *deps, size_t n, bool add);
int vg_capture_end(struct vg_stream *s, struct vg_graph **out);
int vg_capture_barrier(struct vg_stream *s, const struct vg_kernel *k,
                       const struct vg_barrier *barrier);
int vg_capture_record(struct vg_event *e, struct vg_stream *s);
int vg_capture_wait(struct vg_stream *s, struct vg_event *e);

/* Nodes from what the program gives (core_graph_node.c). vg_node_new returns NULL with *bad set.
 * vg_node_done returns the finished node in *out, or removes it if bad. */
struct vg_node *vg_node_new(struct vg_graph *g, enum vg_node_kind kind, struct vg_node *const *deps,
                            size_t count, int *bad);
int vg_node_done(struct vg_node *n, int bad, struct vg_graph *g, struct vg_node **out);
void vg_node_keep(struct vg_node *n, const void *given, size_t bytes);
int vg_node_kernel(struct vg_node *n, const struct vg_kernel *k);
int vg_node_memset(struct vg_node *n, const struct vg_set *set);
int vg_node_host(struct vg_node *n, void (*fn)(void *), void *arg);
int vg_node_event(struct vg_node *n, struct vg_event *event);
int vg_node_child(struct vg_node *n, const struct vg_graph *child); /* a copy of it */
int vg_node_alloc(struct vg_node *n, int device, size_t bytes, void **out);
int vg_node_free(struct vg_node *n, const struct vg_graph *g, void *ptr);
/* The bodies of a condition are graphs that the program fills later; they lie in `given`. */
int vg_node_condition(struct vg_node *n, size_t bodies);

/* Lists. *count: in, the room; out, the number. With a NULL list all are counted. */
int vg_graph_nodes(const struct vg_graph *g, struct vg_node **out, size_t *count);
int vg_graph_roots(const struct vg_graph *g, struct vg_node **out, size_t *count);
int vg_graph_edges(const struct vg_graph *g, struct vg_node **from, struct vg_node **to,
                   size_t *count);
int vg_node_list(const struct vg_node *n, struct vg_node **deps, size_t *count);
int vg_graph_connect(const struct vg_graph *g, struct vg_node *const *from,
                     struct vg_node *const *to, size_t n, bool add);

struct vg_graph *vg_graph_new(void);
struct vg_node *vg_graph_add(struct vg_graph *g, enum vg_node_kind kind,
                             struct vg_node *const *deps, size_t n);
struct vg_graph *vg_graph_clone(const struct vg_graph *g);
/* Copies only the nodes: those of child graphs stay shared with `g`. */
struct vg_graph *vg_graph_copy(const struct vg_graph *g);
/* A copy in which the nodes of child graphs replace these (core_graph_flat.c). NULL: no memory, or
 * a cycle. */
struct vg_graph *vg_graph_flat(const struct vg_graph *g);
bool vg_node_depends(const struct vg_node *n, const struct vg_node *on);
int vg_node_depend(struct vg_node *n, struct vg_node *on);
void vg_node_release(struct vg_node *n, const struct vg_node *on);
/* Fill a node's record, engine and time for such a copy or memset. */
int vg_copy_node(struct vg_node *n, int device, const struct vg_copy *c);
void vg_set_node(struct vg_node *n, int device, const struct vg_set *set);
void vg_graph_free(struct vg_graph *g);
int vg_exec_new(struct vg_graph *g, struct vg_exec **out);
int vg_exec_update(struct vg_exec *x, const struct vg_graph *g);
int vg_exec_free(struct vg_exec *x);
int vg_exec_launch(struct vg_exec *x, struct vg_stream *s);

/* The work of a node, for placing it, and its record. */
struct vg_work vg_node_work(const struct vg_profile *p, const struct vg_node *n);
struct vg_record vg_node_record(const struct vg_exec *x, const struct vg_stream *s,
                                const struct vg_node *n);
static inline size_t vg_node_at(const struct vg_graph *g, size_t k) /* dependencies come first */
{
    return g->order ? g->order[k] : k;
}

/* core_graph_held.c: launches in rows, while times are not known yet. */
bool vg_exec_has_barrier(const struct vg_exec *x);
int vg_exec_hold(struct vg_exec *x, struct vg_stream *s, const struct vg_work *begin);

#endif
