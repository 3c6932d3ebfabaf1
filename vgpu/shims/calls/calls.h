/* Calls that the runtime and the driver have in common. stream.h, graph.h and pool.h list such
 * calls, one row for each; both shims include them and turn each row into a function of their own.
 * A row is one of
 *
 *   BOTH(Name, runtime, driver, (parameters), result)
 *   BOTH_ON(Name, runtime, driver, (parameters), stream, result)
 *   BOTH_TWICE(Name, runtime, runtime_ptsz, driver, (parameters), stream, result)
 *
 * Name is the call's name without `cuda` or `cu`. `runtime` and `driver` are the version suffixes
 * of its names among CUPTI's callback ids (cudaStreamQuery_v3020, cuStreamDestroy_v2). `result` is
 * an expression for the value that the call returns; it may use `api` and, where the row names a
 * stream handle, `s`, the stream that the handle stands for. BOTH_TWICE defines a second function
 * in the runtime, the _ptsz form, for programs whose handle 0 means the thread's own default
 * stream.
 *
 * A shim defines these three macros and the types that differ between runtime and driver:
 * call_mode, call_status, call_id, call_kind, call_edge, call_callback and, for graph.h, those of a
 * node's parameters. */
#ifndef VGPU_SHIMS_CALLS_H
#define VGPU_SHIMS_CALLS_H

#include "core/core_graph.h"

#include <stdlib.h>
#include <string.h>

#define UNUSED __attribute__((unused))

/* The runtime and the driver use the same handle types. */
typedef struct CUstream_st *call_stream;
typedef struct CUevent_st *call_event;
typedef struct CUgraph_st *call_graph;
typedef struct CUgraphExec_st *call_exec;
typedef struct CUgraphNode_st *call_node;

static inline struct vg_graph *graph_of(call_graph g)
{
    return vg_graph_check((struct vg_graph *)g);
}

static inline struct vg_exec *exec_of(call_exec x)
{
    return vg_exec_check((struct vg_exec *)x);
}

static inline struct vg_node *node_of(call_node n)
{
    return (struct vg_node *)n;
}

static inline const struct vg_profile *here(void)
{
    return vg_profile(vg_current_device());
}

#endif
