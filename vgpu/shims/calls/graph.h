/* Graphs: the calls that the runtime and the driver have in common (calls.h explains the rows).
 * Each of the two shims includes this file once, after it has defined
 *
 *   call_kernel, call_copy, call_memset, call_host, call_alloc, call_condition, call_params,
 *   call_pointer: its types for a node's parameters
 *   int set_kernel(struct vg_node *, const call_kernel *), set_copy and so on: functions that make
 *   a node do what the parameters say
 *   CONTEXT: the context parameter that some of the driver's calls have; empty in the runtime */

#define NEW_NODE call_node *out, call_graph graph, const call_node *deps, size_t count

/* Adds a node of `kind` to `graph`. `set` is an expression that gives the new node `n` its
 * parameters and returns an error or 0. */
#define ADD(kind, set)                                                                             \
    ({                                                                                             \
        int bad_;                                                                                  \
        struct vg_node *n = vg_node_new((struct vg_graph *)graph, kind,                            \
                                        (struct vg_node *const *)deps, count, &bad_);              \
        bad_ = n ? (set) : bad_;                                                                   \
        vg_node_done(n, bad_, (struct vg_graph *)graph, (struct vg_node **)out);                   \
    })

/* Evaluates `act` for `n`, the copy of `node` in the executable graph `exec`. */
#define IN_EXEC(act)                                                                               \
    ({                                                                                             \
        struct vg_node *n = vg_exec_node((struct vg_exec *)exec, node_of(node));                   \
        n ? (act) : VG_INVALID_VALUE;                                                              \
    })

/* ---- whole graphs ---- */

static int instantiate(struct vg_api *api, call_exec *out, call_graph graph)
{
    struct vg_graph *g = graph_of(graph);
    if (!g)
        return VG_INVALID_VALUE;
    api->host_ns = (int64_t)(here()->graph_instantiate_ns +
                             (double)g->count * here()->graph_instantiate_node_ns);
    return vg_exec_new(g, (struct vg_exec **)out);
}

static int free_graph(call_graph graph)
{
    struct vg_graph *g = graph_of(graph);
    if (g)
        vg_graph_free(g);
    return g ? VG_OK : VG_INVALID_VALUE;
}

static int copy_of(call_graph *out, call_graph graph)
{
    struct vg_graph *g = graph_of(graph);
    *out = g ? (call_graph)vg_graph_clone(g) : NULL;
    return *out ? VG_OK : VG_INVALID_VALUE;
}

static int update(call_exec exec, call_graph graph, call_update *info)
{
    const int topology_changed = 2; /* in both enumerations of update results */
    struct vg_exec *x = exec_of(exec);
    struct vg_graph *g = graph_of(graph);
    int bad = x && g ? vg_exec_update(x, g) : VG_INVALID_VALUE;
    if (info)
        *info = (call_update){.result = bad ? topology_changed : 0};
    return bad;
}

BOTH(GraphCreate, v10000, , (call_graph * out, unsigned flags UNUSED),
     (*out = (call_graph)vg_graph_new()) ? VG_OK : VG_NO_MEMORY)
BOTH(GraphDestroy, v10000, , (call_graph graph), free_graph(graph))
BOTH(GraphClone, v10000, , (call_graph * out, call_graph graph), copy_of(out, graph))
BOTH(GraphExecDestroy, v10000, , (call_exec exec),
     exec_of(exec) ? vg_exec_free(exec_of(exec)) : VG_INVALID_VALUE)
BOTH(GraphExecUpdate, v10020, _v2, (call_exec exec, call_graph graph, call_update *info),
     update(exec, graph, info))
BOTH_TWICE(GraphLaunch, v10000, v10000, , (call_exec exec, call_stream stream), stream,
           exec_of(exec) ? vg_exec_launch(exec_of(exec), s) : VG_INVALID_VALUE)
BOTH_TWICE(GraphUpload, v10000, v10000, , (call_exec exec, call_stream stream), stream,
           ((void)s, exec_of(exec) ? VG_OK : VG_INVALID_VALUE))

/* ---- edges between nodes; data of edges is not modelled and reads as zeros ---- */

static void clear(call_edge *edges, const size_t *n)
{
    if (edges && n)
        memset(edges, 0, *n * sizeof *edges);
}

static int set_edges(call_graph graph, const call_node *from, const call_node *to, size_t n,
                     bool add)
{
    return vg_graph_connect(graph_of(graph), (struct vg_node *const *)from,
                            (struct vg_node *const *)to, n, add);
}

static int find_in_clone(call_node *out, call_node node, call_graph clone)
{
    struct vg_graph *g = graph_of(clone);
    size_t at = node_of(node)->index;
    if (!g || at >= g->count)
        return VG_INVALID_VALUE;
    *out = (call_node)g->nodes[at];
    return VG_OK;
}

BOTH(GraphGetNodes, v10000, , (call_graph graph, call_node *nodes, size_t *count),
     vg_graph_nodes(graph_of(graph), (struct vg_node **)nodes, count))
BOTH(GraphGetRootNodes, v10000, , (call_graph graph, call_node *nodes, size_t *count),
     vg_graph_roots(graph_of(graph), (struct vg_node **)nodes, count))
BOTH(GraphGetEdges, v12030, _v2,
     (call_graph graph, call_node *from, call_node *to, call_edge *edges, size_t *count),
     (clear(edges, count),
      vg_graph_edges(graph_of(graph), (struct vg_node **)from, (struct vg_node **)to, count)))
BOTH(GraphNodeGetDependencies, v12030, _v2,
     (call_node node, call_node *deps, call_edge *edges, size_t *count),
     (clear(edges, count), vg_node_list(node_of(node), (struct vg_node **)deps, count)))
BOTH(GraphAddDependencies, v12030, _v2,
     (call_graph graph, const call_node *from, const call_node *to, const call_edge *edges UNUSED,
      size_t n),
     set_edges(graph, from, to, n, true))
BOTH(GraphRemoveDependencies, v12030, _v2,
     (call_graph graph, const call_node *from, const call_node *to, const call_edge *edges UNUSED,
      size_t n),
     set_edges(graph, from, to, n, false))
BOTH(GraphNodeGetType, v10000, , (call_node node, call_kind *kind),
     (*kind = (call_kind)node_of(node)->kind, VG_OK))
BOTH(GraphNodeFindInClone, v10000, , (call_node * out, call_node node, call_graph clone),
     find_in_clone(out, node, clone))
BOTH(GraphNodeSetEnabled, v11060, , (call_exec exec, call_node node, unsigned enabled),
     IN_EXEC((n->disabled = !enabled, VG_OK)))
BOTH(GraphNodeGetEnabled, v11060, , (call_exec exec, call_node node, unsigned *enabled),
     IN_EXEC((*enabled = !n->disabled, VG_OK)))
/* Gets (`out`) or sets (`in`) an attribute of a kernel node: priority, cluster size, access to the
 * cache. Attributes are stored and returned but do not change a kernel's duration. One that was
 * never set reads as 0. */
static int attribute(call_node node, int id, call_attribute_value *out,
                     const call_attribute_value *in)
{
    _Static_assert(sizeof *in == sizeof node_of(node)->attribute[0].value, "the same values");
    struct vg_node *n = node_of(node);
    size_t i = 0, room = sizeof n->attribute / sizeof *n->attribute;
    if (!n || n->kind != VG_NODE_KERNEL || id <= 0 || !(in || out))
        return VG_INVALID_VALUE;
    while (i < room && n->attribute[i].id && n->attribute[i].id != id)
        i++;
    if (out)
        memset(out, 0, sizeof *out);
    if (out && i < room)
        memcpy(out, n->attribute[i].value, sizeof *out);
    if (in && i < room) {
        n->attribute[i].id = id;
        memcpy(n->attribute[i].value, in, sizeof *in);
    }
    return VG_OK;
}

static int copy_attributes(call_node to, call_node from)
{
    if (!to || !from)
        return VG_INVALID_VALUE;
    memcpy(node_of(to)->attribute, node_of(from)->attribute, sizeof node_of(to)->attribute);
    return VG_OK;
}

BOTH(GraphKernelNodeSetAttribute, v11000, ,
     (call_node node, call_attribute id, const call_attribute_value *value),
     attribute(node, (int)id, NULL, value))
BOTH(GraphKernelNodeGetAttribute, v11000, ,
     (call_node node, call_attribute id, call_attribute_value *value),
     attribute(node, (int)id, value, NULL))
BOTH(GraphKernelNodeCopyAttributes, v11000, , (call_node to, call_node from),
     copy_attributes(to, from))

/* ---- for each kind of node: add one, get its parameters, replace them ---- */

#define NODE_CALLS(Kind, KIND, form, type, set, exec_version, exec_form, extra)                    \
    BOTH(GraphAdd##Kind##Node, v10000, form, (NEW_NODE, const type *p extra),                      \
         ADD(VG_NODE_##KIND, set(n, p)))                                                           \
    BOTH(Graph##Kind##NodeGetParams, v10000, form, (call_node node, type * p),                     \
         (memcpy(p, node_of(node)->given, sizeof *p), VG_OK))                                      \
    BOTH(Graph##Kind##NodeSetParams, v10000, form, (call_node node, const type *p),                \
         set(node_of(node), p))                                                                    \
    BOTH(GraphExec##Kind##NodeSetParams, exec_version, exec_form,                                  \
         (call_exec exec, call_node node, const type *p extra), IN_EXEC(set(n, p)))
NODE_CALLS(Kernel, KERNEL, _v2, call_kernel, set_kernel, v10010, _v2, )
NODE_CALLS(Memcpy, COPY, , call_copy, set_copy, v10020, , CONTEXT)
NODE_CALLS(Memset, MEMSET, , call_memset, set_memset, v10020, , CONTEXT)
NODE_CALLS(Host, HOST, , call_host, set_host, v10020, , )

static int set_event(struct vg_node *n, call_event event)
{
    return vg_node_event(n, (struct vg_event *)event);
}

#define EVENT_CALLS(Kind, KIND)                                                                    \
    BOTH(GraphAddEvent##Kind##Node, v11010, , (NEW_NODE, call_event event),                        \
         ADD(VG_NODE_##KIND, set_event(n, event)))                                                 \
    BOTH(GraphEvent##Kind##NodeGetEvent, v11010, , (call_node node, call_event * event),           \
         (*event = (call_event)node_of(node)->event, VG_OK))                                       \
    BOTH(GraphEvent##Kind##NodeSetEvent, v11010, , (call_node node, call_event event),             \
         set_event(node_of(node), event))                                                          \
    BOTH(GraphExecEvent##Kind##NodeSetEvent, v11010, ,                                             \
         (call_exec exec, call_node node, call_event event), IN_EXEC(set_event(n, event)))
EVENT_CALLS(Record, RECORD)
EVENT_CALLS(Wait, WAIT)

BOTH(GraphAddEmptyNode, v10000, , (NEW_NODE), ADD(VG_NODE_EMPTY, VG_OK))
BOTH(GraphAddChildGraphNode, v10000, , (NEW_NODE, call_graph child),
     ADD(VG_NODE_GRAPH, vg_node_child(n, graph_of(child))))
BOTH(GraphChildGraphNodeGetGraph, v10000, , (call_node node, call_graph *out),
     (*out = (call_graph)node_of(node)->child) ? VG_OK : VG_INVALID_VALUE)
BOTH(GraphAddMemAllocNode, v11040, , (NEW_NODE, call_alloc *p), ADD(VG_NODE_ALLOC, set_alloc(n, p)))
BOTH(GraphMemAllocNodeGetParams, v11040, , (call_node node, call_alloc *p),
     (memcpy(p, node_of(node)->given, sizeof *p), VG_OK))
BOTH(GraphAddMemFreeNode, v11040, , (NEW_NODE, call_pointer p),
     ADD(VG_NODE_FREE, set_free(n, graph, p)))

static int set_condition(struct vg_node *n, call_condition *p)
{
    int bad = vg_node_condition(n, p->size);
    p->phGraph_out = bad ? NULL : (call_graph *)(void *)n->given;
    return bad;
}

/* The runtime's and the driver's parameter structs have the same layout up to the end of the
 * shorter one, hence the casts. */
static int set_any(struct vg_node *n, call_graph graph, call_params *p)
{
    const int not_supported = 801;
    switch ((int)p->type) {
    case VG_NODE_KERNEL:
        return set_kernel(n, (const call_kernel *)(const void *)&p->kernel);
    case VG_NODE_COPY:
        return set_copy(n, &p->memcpy.copyParams);
    case VG_NODE_MEMSET:
        return set_memset(n, (const call_memset *)(const void *)&p->memset);
    case VG_NODE_HOST:
        return set_host(n, (const call_host *)(const void *)&p->host);
    case VG_NODE_GRAPH:
        return vg_node_child(n, graph_of(p->graph.graph));
    case VG_NODE_WAIT:
        return set_event(n, p->eventWait.event);
    case VG_NODE_RECORD:
        return set_event(n, p->eventRecord.event);
    case VG_NODE_ALLOC:
        return set_alloc(n, (call_alloc *)(void *)&p->alloc);
    case VG_NODE_FREE:
        return set_free(n, graph, p->free.dptr);
    case VG_NODE_CONDITIONAL:
        return set_condition(n, &p->conditional);
    case VG_NODE_EMPTY:
        return VG_OK;
    default:
        return not_supported;
    }
}

BOTH(GraphAddNode, v12030, _v2,
     (call_node * out, call_graph graph, const call_node *deps, const call_edge *edges UNUSED,
      size_t count, call_params *p),
     ADD((enum vg_node_kind)p->type, set_any(n, graph, p)))
BOTH(GraphNodeSetParams, v12020, , (call_node node, call_params *p),
     set_any(node_of(node), NULL, p))
BOTH(GraphExecNodeSetParams, v12020, , (call_exec exec, call_node node, call_params *p),
     IN_EXEC(set_any(n, NULL, p)))
BOTH(GraphConditionalHandleCreate, v12030, ,
     (call_handle * out, call_graph graph CONTEXT, unsigned value UNUSED, unsigned flags UNUSED),
     (*out = vg_core.next_id++, graph_of(graph) ? VG_OK : VG_INVALID_VALUE))
