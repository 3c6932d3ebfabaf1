/* libcudart of the virtual GPU: what its files share. A call is opened (correlation id, CUPTI's
 * enter), resolved to a stream where it has one, and closed with its result. Functions that take a
 * stream exist twice: the plain name means the legacy default stream by 0, the _ptsz/_ptds name the
 * thread's own. */
#ifndef VGPU_SHIM_CUDART_H
#define VGPU_SHIM_CUDART_H

#include "code/function.h"
#include "core/core_graph.h"

#include <cuda_runtime_api.h>
#include <cupti_runtime_cbid.h>

#define CBID(name) ((uint32_t)CUPTI_RUNTIME_TRACE_CBID_##name)

/* Opens a call; returns from the function when CUDA cannot start. */
#define OPEN(api, name)                                                                            \
    struct vg_api api;                                                                             \
    do {                                                                                           \
        int bad_ = vg_api_enter(&(api), CBID(name));                                               \
        if (bad_)                                                                                  \
            return (cudaError_t)bad_;                                                              \
    } while (0)
#define CLOSE(api, result) return (cudaError_t)vg_api_exit(&(api), (int)(result))

struct place {
    bool per_thread;
    uint32_t cbid;
};

/* Defines NAME and NAME+SUFFIX over NAME_at(struct place, ...). */
#define TWIN(name, version, suffix, suffix_version, params, ...)                                   \
    cudaError_t name params                                                                        \
    {                                                                                              \
        return name##_at((struct place){false, CBID(name##_##version)}, __VA_ARGS__);              \
    }                                                                                              \
    cudaError_t name##suffix params;                                                               \
    cudaError_t name##suffix params                                                                \
    {                                                                                              \
        return name##_at((struct place){true, CBID(name##suffix##_##suffix_version)},              \
                         __VA_ARGS__);                                                             \
    }

/* Opens a call on a stream. Not 0: the call is closed already, return it. */
static inline int open_on(struct vg_api *api, struct place at, cudaStream_t handle,
                          struct vg_stream **s)
{
    int bad = vg_api_enter(api, at.cbid);
    if (bad)
        return bad;
    bad = vg_stream_resolve((struct vg_stream *)handle, at.per_thread, s);
    return bad ? vg_api_exit(api, bad) : 0;
}

static inline const struct vg_profile *here(void)
{
    return vg_profile(vg_current_device());
}

/* A kernel by the address that the program launches, or by its handle. */
struct vg_function *function_find(const void *host_or_kernel);
/* Tells CUPTI of memory that was allocated or, with `release`, freed. */
void emit_memory(void *ptr, size_t bytes, bool release, bool async, enum vg_memory_kind kind);

#endif
