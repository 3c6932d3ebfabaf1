/* cuDNN's graph interface, inside the shim. A descriptor is a bag of attributes as the caller set
 * them; it keeps the descriptors that it points to alive. shim_cudnn_backend.c stores the
 * attributes and answers questions about them; shim_cudnn_graph.c turns a graph of operations into
 * an engine, which is a list of kernels. */
#ifndef VGPU_SHIM_CUDNN_BACKEND_H
#define VGPU_SHIM_CUDNN_BACKEND_H

#include "shims/cudnn/shim_cudnn.h"

enum { GRAPH_MAX_KERNELS = CONV_MAX_KERNELS, GRAPH_MAX_ENGINES = 2 * CONV_MAX_ALGOS };

struct backend {
    cudnnBackendDescriptorType_t type;
    int refs;
    bool finalized;
    struct attribute {
        int name, type;
        int64_t count;
        /* `count` values of attribute_size(type) bytes; a descriptor value holds a reference. */
        void *values;
    } * attributes;
    size_t attribute_count;
    struct engine *engine; /* NULL unless this is a finalized plan */
};

const struct attribute *backend_find(const struct backend *d, int name);
/* The first value of an attribute, or `unset` if there is none. */
int64_t backend_number(const struct backend *d, int name, int64_t unset);
struct backend *backend_child(const struct backend *d, int name, int64_t index);

struct engine { /* one way to compute a graph */
    int64_t id;
    int64_t workspace;
    bool tensor, deterministic;
    int kernels;
    struct vg_kernel kernel[GRAPH_MAX_KERNELS];
};
/* Lists the ways to compute a graph, the best guess first. Returns how many; 0: not supported. */
int graph_engines(const struct backend *graph, struct engine out[GRAPH_MAX_ENGINES]);

#endif
