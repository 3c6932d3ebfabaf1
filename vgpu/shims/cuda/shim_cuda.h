/* What the files of the virtual GPU's libcuda share. CUresult and cudaError_t have the same numbers
 * for all errors that the core returns. A CUcontext points to the device's struct; streams, events
 * and kernels are the same objects as the runtime's, so a program may mix both interfaces. */
#ifndef VGPU_SHIM_CUDA_H
#define VGPU_SHIM_CUDA_H

#include "code/function.h"
#include "shims/calls/calls.h"

#include <cuda.h>
#include <cupti_driver_cbid.h>

#define CBID(name) ((uint32_t)CUPTI_DRIVER_TRACE_CBID_##name)

/* Opens a call (correlation id, CUPTI's enter callback). Returns from the surrounding function when
 * CUDA cannot start. */
#define OPEN(api, name)                                                                            \
    struct vg_api api;                                                                             \
    do {                                                                                           \
        int bad_ = vg_api_enter_driver(&(api), CBID(name));                                        \
        if (bad_)                                                                                  \
            return (CUresult)bad_;                                                                 \
    } while (0)
#define CLOSE(api, result) return (CUresult)vg_api_exit(&(api), (int)(result))

/* Opens a call on a stream and looks up the stream. If the result is not 0, the call is already
 * closed and the caller returns the result. */
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

/* Defines a call in one row: its name, the suffix of its name among CUPTI's callback ids, its
 * parameters, and an expression for its result. The expression may use `api` and, in ROW_ON, the
 * stream `s`. */
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

/* Defines the rows of shims/calls/ for the driver. */
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

/* Reports memory that was allocated or, with `release`, freed. */
void emit_memory(const void *ptr, size_t bytes, bool release, bool async, enum vg_memory_kind kind);
/* Takes a kernel's arguments from one block, as `extra` of a launch gives them. */
void launch_block(struct vg_shape *shape, void *const *extra);

/* Translates a 3D copy for the core. Returns a CUresult number. */
int box_of(const CUDA_MEMCPY3D *c, bool async, struct vg_copy *out);
/* Reads a file into memory, followed by zeros; the caller frees it. NULL: the file cannot be
 * read. */
char *image_file(const char *path, size_t *size);

/* The name of the form that CUDA 12 meant by `name`. NULL: the same as today's
 * (shim_cuda_forms12.c). */
const char *form_of_12(const char *name);

static inline bool device_known(CUdevice d)
{
    return d >= 0 && d < vg_device_count();
}

#endif
