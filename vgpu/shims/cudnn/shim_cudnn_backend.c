/* Descriptors of cuDNN's graph interface: storing and reading attributes, listing the engines of a
 * graph, and running a plan. */
#include "shims/cudnn/shim_cudnn_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t attribute_size(int type)
{
    switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
        return 8;
    case CUDNN_TYPE_FRACTION:
        return sizeof(cudnnFraction_t);
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
        return 1;
    default:
        return 4; /* enumerations, INT32, FLOAT */
    }
}

static void release(struct backend *d);

static void clear_values(struct attribute *a)
{
    for (int64_t i = 0; a->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < a->count; i++)
        release(((struct backend **)a->values)[i]);
    free(a->values);
    a->values = NULL;
    a->count = 0;
}

static void release(struct backend *d)
{
    if (!d || __atomic_sub_fetch(&d->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (size_t i = 0; i < d->attribute_count; i++)
        clear_values(&d->attributes[i]);
    free(d->attributes);
    free(d->engine);
    free(d);
}

const struct attribute *backend_find(const struct backend *d, int name)
{
    for (size_t i = 0; d && i < d->attribute_count; i++)
        if (d->attributes[i].name == name && d->attributes[i].count > 0)
            return &d->attributes[i];
    return NULL;
}

int64_t backend_number(const struct backend *d, int name, int64_t unset)
{
    const struct attribute *a = backend_find(d, name);
    int32_t narrow;
    int64_t wide;
    if (!a)
        return unset;
    switch (attribute_size(a->type)) {
    case 1:
        return *(const char *)a->values;
    case 4:
        memcpy(&narrow, a->values, sizeof narrow);
        return narrow;
    default:
        memcpy(&wide, a->values, sizeof wide);
        return wide;
    }
}

struct backend *backend_child(const struct backend *d, int name, int64_t index)
{
    const struct attribute *a = backend_find(d, name);
    if (!a || a->type != CUDNN_TYPE_BACKEND_DESCRIPTOR || index >= a->count)
        return NULL;
    return ((struct backend **)a->values)[index];
}

static cudnnStatus_t put(struct backend *d, int name, int type, int64_t count, const void *values)
{
    size_t size = attribute_size(type) * (size_t)count, at = 0;
    void *copy = malloc(size ? size : 1);
    while (at < d->attribute_count && d->attributes[at].name != name)
        at++;
    if (copy && at == d->attribute_count) {
        struct attribute *grown = realloc(d->attributes, (at + 1) * sizeof *grown);
        if (grown) {
            d->attributes = grown;
            d->attributes[d->attribute_count++] = (struct attribute){.name = name};
        }
    }
    if (!copy || at == d->attribute_count) {
        free(copy);
        return CUDNN_STATUS_ALLOC_FAILED;
    }
    if (size)
        memcpy(copy, values, size);
    for (int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < count; i++)
        if (((struct backend **)copy)[i])
            __atomic_add_fetch(&((struct backend **)copy)[i]->refs, 1, __ATOMIC_RELAXED);
    clear_values(&d->attributes[at]);
    d->attributes[at] = (struct attribute){name, type, count, copy};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *out)
{
    NEED(out);
    struct backend *d = calloc(1, sizeof *d);
    if (!d)
        return CUDNN_STATUS_ALLOC_FAILED;
    d->type = type;
    d->refs = 1;
    *out = d;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d)
{
    release(d);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void *values)
{
    struct backend *d = descriptor;
    NEED(d && count >= 0 && (values || count == 0));
    if (d->finalized)
        /* As the library does: a finalized descriptor cannot be changed. */
        return CUDNN_STATUS_NOT_INITIALIZED;
    return put(d, (int)name, (int)type, count, values);
}

/* ---- the engines that can compute a graph ---- */

static const struct backend *graph_of(const struct backend *d)
{
    switch (d ? d->type : CUDNN_BACKEND_TENSOR_DESCRIPTOR) {
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
        return backend_child(d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, 0);
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
        return backend_child(d, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, 0);
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
        return graph_of(backend_child(d, CUDNN_ATTR_ENGINECFG_ENGINE, 0));
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
        return graph_of(backend_child(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 0));
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
        return d;
    default:
        return NULL;
    }
}

/* Finds the engine that an engine descriptor, a configuration or a plan names. False: there is
 * none. */
static bool engine_of(const struct backend *d, struct engine *out)
{
    struct engine all[GRAPH_MAX_ENGINES];
    const struct backend *graph = graph_of(d);
    if (d && d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
        d = backend_child(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 0);
    if (d && d->type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
        d = backend_child(d, CUDNN_ATTR_ENGINECFG_ENGINE, 0);
    int64_t id = backend_number(d, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1);
    int n = graph ? graph_engines(graph, all) : 0;
    for (int i = 0; i < n; i++)
        if (all[i].id == id) {
            *out = all[i];
            return true;
        }
    return false;
}

static cudnnStatus_t finalize_plan(struct backend *d)
{
    d->engine = malloc(sizeof *d->engine);
    if (!d->engine)
        return CUDNN_STATUS_ALLOC_FAILED;
    return engine_of(d, d->engine) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
    struct engine e;
    struct backend *d = descriptor;
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    NEED(d);
    if (d->finalized)
        return status;
    if (d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
        status = finalize_plan(d);
    else if (d->type == CUDNN_BACKEND_ENGINE_DESCRIPTOR && !engine_of(d, &e))
        status = CUDNN_STATUS_NOT_SUPPORTED;
    d->finalized = status == CUDNN_STATUS_SUCCESS;
    return status;
}

/* Gives the heuristic's results: makes the caller's configuration descriptors name the engines of
 * the graph. *count receives how many there are, at most `wanted` if that is not 0. */
static cudnnStatus_t results(const struct backend *heuristic, int64_t wanted, int64_t *count,
                             void *out)
{
    struct engine all[GRAPH_MAX_ENGINES];
    struct backend *graph = (struct backend *)graph_of(heuristic);
    int n = graph ? graph_engines(graph, all) : 0;
    if (count)
        *count = wanted > 0 && wanted < n ? wanted : n;
    for (int i = 0; out && i < n && i < wanted; i++) {
        struct backend *config = ((struct backend **)out)[i], *engine = NULL;
        NEED(config);
        cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, (void **)&engine);
        if (!engine)
            return CUDNN_STATUS_ALLOC_FAILED;
        put(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph);
        put(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &all[i].id);
        engine->finalized = true;
        put(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine);
        put(config, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &all[i].workspace);
        config->finalized = true;
        release(engine);
    }
    return CUDNN_STATUS_SUCCESS;
}

/* The caller reads a descriptor by having its own descriptor filled: copies ours into it. */
static void copy_into(struct backend *to, const struct backend *from)
{
    for (size_t i = 0; i < from->attribute_count; i++)
        put(to, from->attributes[i].name, from->attributes[i].type, from->attributes[i].count,
            from->attributes[i].values);
    to->finalized = from->finalized;
}

static cudnnStatus_t give(const void *values, size_t size, int64_t has, int64_t wanted,
                          int64_t *count, void *out)
{
    if (count)
        *count = out && wanted < has ? wanted : has;
    if (out && wanted > 0 && has > 0)
        memcpy(out, values, size * (size_t)(has < wanted ? has : wanted));
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t give_set(const struct attribute *a, int64_t wanted, int64_t *count, void *out)
{
    if (a->type != CUDNN_TYPE_BACKEND_DESCRIPTOR)
        return give(a->values, attribute_size(a->type), a->count, wanted, count, out);
    if (count)
        *count = out && wanted < a->count ? wanted : a->count;
    for (int64_t i = 0; out && i < a->count && i < wanted; i++) {
        struct backend *to = ((struct backend **)out)[i];
        NEED(to);
        copy_into(to, ((struct backend **)a->values)[i]);
    }
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t give_notes(const struct backend *d, int64_t wanted, int64_t *count, void *out)
{
    struct engine e;
    cudnnBackendNumericalNote_t notes[2];
    int64_t n = 0;
    if (!engine_of(d, &e))
        return CUDNN_STATUS_BAD_PARAM;
    if (e.tensor)
        notes[n++] = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    if (!e.deterministic)
        notes[n++] = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
    return give(notes, sizeof notes[0], n, wanted, count, out);
}

/* Programs can write a plan to text and read it in again. The shim's text only names the engine. */
static cudnnStatus_t give_text(const struct backend *d, int64_t wanted, int64_t *count, void *out)
{
    char text[96];
    struct engine e;
    if (!engine_of(d, &e))
        return CUDNN_STATUS_BAD_PARAM;
    int n = snprintf(text, sizeof text, "{\"virtual_gpu_engine\": %lld}", (long long)e.id);
    return give(text, 1, n + 1, wanted, count, out);
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t wanted,
                                       int64_t *count, void *out)
{
    static const int64_t nothing;
    struct backend *d = descriptor;
    struct engine all[GRAPH_MAX_ENGINES];
    int64_t n;
    (void)type;
    NEED(d);
    const struct attribute *a = backend_find(d, (int)name);
    if (a)
        return give_set(a, wanted, count, out);
    switch ((int)name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
        return results(d, wanted, count, out);
    case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT:
        n = graph_engines(d, all) > 0 ? GRAPH_MAX_ENGINES : 0;
        return give(&n, sizeof n, 1, wanted, count, out);
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
        return give_notes(d, wanted, count, out);
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
        NEED(d->engine);
        return give(&d->engine->workspace, sizeof n, 1, wanted, count, out);
    /* Bytes of shared memory beyond what every device has. */
    case CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED:
        return give(&nothing, sizeof(int32_t), 1, wanted, count, out);
    case CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION:
        return give_text(d, wanted, count, out);
    default: /* attributes that were not set (knobs, behaviour notes, layouts): there are none */
        return give(&nothing, sizeof nothing, 0, wanted, count, out);
    }
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t h, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack)
{
    const struct backend *p = plan;
    NEED(h && p && pack && p->finalized && p->engine);
    for (int i = 0; i < p->engine->kernels; i++) {
        cudnnStatus_t status = cudnn_launch(h, &p->engine->kernel[i]);
        if (status != CUDNN_STATUS_SUCCESS)
            return status;
    }
    return CUDNN_STATUS_SUCCESS;
}
