/* What the files of the virtual GPU's libcudart share. A call is opened (correlation id, CUPTI's
 * enter callback), resolved to a stream if it has one, and closed with its result. Functions that
 * take a stream exist twice: in the plain one a handle of 0 means the legacy default stream, in the
 * _ptsz or _ptds one the thread's own default stream. */
#ifndef VGPU_SHIM_CUDART_H
#define VGPU_SHIM_CUDART_H

#include "code/function.h"
#include "shims/calls/calls.h"

#include <cuda_runtime_api.h>
#include <cupti_runtime_cbid.h>

#define CBID(name) ((uint32_t)CUPTI_RUNTIME_TRACE_CBID_##name)

/* Opens a call. Returns from the surrounding function when CUDA cannot start. */
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

/* Opens a call on a stream and looks up the stream. If the result is not 0, the call is already
 * closed and the caller returns the result. */
static inline int open_on(struct vg_api *api, struct place at, cudaStream_t handle,
                          struct vg_stream **s)
{
    int bad = vg_api_enter(api, at.cbid);
    if (bad)
        return bad;
    bad = vg_stream_resolve((struct vg_stream *)handle, at.per_thread, s);
    return bad ? vg_api_exit(api, bad) : 0;
}

/* Defines NAME and NAME+SUFFIX. Both return the expression `result`, which may use `at`. The names
 * of the callback ids are pasted in this macro, before the function's name is expanded, because the
 * build for CUDA 12 renames functions by macros (cudart12/names.h). */
#define TWIN(name, version, suffix, suffix_version, params, result)                                \
    TWO(name, CBID(name##_##version), name##suffix, CBID(name##suffix##_##suffix_version), params, \
        result)
/* TWIN for a call on a stream: `result` may use `api` and the stream `s`. */
#define TWIN_ON(name, version, suffix, suffix_version, params, stream, result)                     \
    TWO(name, CBID(name##_##version), name##suffix, CBID(name##suffix##_##suffix_version), params, \
        ON_STREAM(at, stream, result))
#define TWO(name, cbid_, own_name, own_cbid, params, result)                                       \
    cudaError_t name params                                                                        \
    {                                                                                              \
        struct place at = {false, cbid_};                                                          \
        return result;                                                                             \
    }                                                                                              \
    cudaError_t own_name params;                                                                   \
    cudaError_t own_name params                                                                    \
    {                                                                                              \
        struct place at = {true, own_cbid};                                                        \
        return result;                                                                             \
    }
#define ON_STREAM(at, stream, result)                                                              \
    ({                                                                                             \
        struct vg_api api;                                                                         \
        struct vg_stream *s;                                                                       \
        int bad_ = open_on(&api, at, stream, &s);                                                  \
        (cudaError_t)(bad_ ? bad_ : vg_api_exit(&api, (int)(result)));                             \
    })

/* Defines a call in one row: its name, the version in its callback id, its parameters, and an
 * expression for its result, which may use `api`. */
#define ROW(name, version, params, ...)                                                            \
    cudaError_t name params                                                                        \
    {                                                                                              \
        OPEN(api, name##_##version);                                                               \
        CLOSE(api, (__VA_ARGS__));                                                                 \
    }

/* Defines the rows of shims/calls/ for the runtime. */
#define BOTH(Name, version, driver, params, ...)                                                   \
    cudaError_t cuda##Name params                                                                  \
    {                                                                                              \
        OPEN(api, cuda##Name##_##version);                                                         \
        CLOSE(api, (__VA_ARGS__));                                                                 \
    }
#define BOTH_ON(Name, version, driver, params, stream, ...)                                        \
    cudaError_t cuda##Name params                                                                  \
    {                                                                                              \
        return ON_STREAM(((struct place){false, CBID(cuda##Name##_##version)}), stream,            \
                         (__VA_ARGS__));                                                           \
    }
#define BOTH_TWICE(Name, version, ptsz_version, driver, params, stream, ...)                       \
    TWO(cuda##Name, CBID(cuda##Name##_##version), cuda##Name##_ptsz,                               \
        CBID(cuda##Name##_ptsz_##ptsz_version), params, ON_STREAM(at, stream, (__VA_ARGS__)))

/* Finds a kernel by the host address that the program launches, or by its handle. NULL: unknown. */
struct vg_function *function_find(const void *host_or_kernel);
/* Reports memory that was allocated or, with `release`, freed to CUPTI. */
void emit_memory(void *ptr, size_t bytes, bool release, bool async, enum vg_memory_kind kind);

#endif
