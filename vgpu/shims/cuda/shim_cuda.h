/* libcuda of the virtual GPU: what its files share. CUresult and cudaError_t agree on the numbers
 * that the core returns. CUcontext points to the device; a stream, an event and a kernel are the
 * runtime's, so programs may mix both interfaces. */
#ifndef VGPU_SHIM_CUDA_H
#define VGPU_SHIM_CUDA_H

#include "code/function.h"
#include "shims/calls/calls.h"

#include <cuda.h>
#include <cupti_driver_cbid.h>

#define CBID(name) ((uint32_t)CUPTI_DRIVER_TRACE_CBID_##name)

/* Opens a call; returns from the function when CUDA cannot start. */
#define OPEN(api, name)                                                                            \
    struct vg_api api;                                                                             \
    do {                                                                                           \
        int bad_ = vg_api_enter_driver(&(api), CBID(name));                                        \
        if (bad_)                                                                                  \
            return (CUresult)bad_;                                                                 \
    } while (0)
#define CLOSE(api, result) return (CUresult)vg_api_exit(&(api), (int)(result))

/* Opens a call on a stream. Not 0: the call is closed already, return it. */
static inline int open_on(struct vg_api *api, uint32_t cbid, CUstream handle, struct vg_stream **s)
{
    int bad = vg_api_enter_driver(api, cbid);
    if (bad)
        return bad;
    bad = vg_stream_resolve((struct vg_stream *)handle, false, s);
    return bad ? vg_api_exit(api, bad) : 0;
}

#define OPEN_ON(api, name, handle, s)                                                              \
    struct vg_api api;                                                                             \
    struct vg_stream *s;                                                                           \
    do {                                                                                           \
        int bad_ = open_on(&(api), CBID(name), handle, &(s));                                      \
        if (bad_)                                                                                  \
            return (CUresult)bad_;                                                                 \
    } while (0)

/* A call in one row: its name, what its callback id has behind that, its parameters, and what it
 * returns, an expression that may use `api` and, of ROW_ON, the stream `s`. */
#define ROW(name, form, params, ...)                                                               \
    CUresult name params                                                                           \
    {                                                                                              \
        OPEN(api, name##form);                                                                     \
        CLOSE(api, (__VA_ARGS__));                                                                 \
    }
#define ROW_ON(name, form, params, stream, ...)                                                    \
    CUresult name params                                                                           \
    {                                                                                              \
        OPEN_ON(api, name##form, stream, s);                                                       \
        CLOSE(api, (__VA_ARGS__));                                                                 \
    }

/* Rows of shims/calls/. */
#define BOTH(Name, runtime, form, params, ...)                                                     \
    CUresult cu##Name params                                                                       \
    {                                                                                              \
        OPEN(api, cu##Name##form);                                                                 \
        CLOSE(api, (__VA_ARGS__));                                                                 \
    }
#define BOTH_ON(Name, runtime, form, params, stream, ...)                                          \
    CUresult cu##Name params                                                                       \
    {                                                                                              \
        OPEN_ON(api, cu##Name##form, stream, s);                                                   \
        CLOSE(api, (__VA_ARGS__));                                                                 \
    }
#define BOTH_TWICE(Name, runtime, runtime_ptsz, form, params, stream, ...)                         \
    BOTH_ON(Name, runtime, form, params, stream, __VA_ARGS__)

/* Tells of memory that is allocated or released. */
void emit_memory(const void *ptr, size_t bytes, bool release, bool async, enum vg_memory_kind kind);
/* Arguments in one block, as a launch's `extra` gives them. */
void launch_block(struct vg_shape *shape, void *const *extra);

/* A copy of a box as the core wants it; a CUresult number. */
int box_of(const CUDA_MEMCPY3D *c, bool async, struct vg_copy *out);
/* A file's contents behind a zero, to be freed; NULL: it cannot be read. */
char *image_file(const char *path, size_t *size);

/* What a call is called in the form that CUDA 12 gave it; NULL: as today (shim_cuda_forms12.c). */
const char *form_of_12(const char *name);

static inline bool device_known(CUdevice d)
{
    return d >= 0 && d < vg_device_count();
}

#endif
