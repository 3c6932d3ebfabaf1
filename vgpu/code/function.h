/* Kernels that a program registered or loaded: what cudaKernel_t, cudaFunction_t and CUfunction
 * point to. Their code is read when it is first needed. */
#ifndef VGPU_CODE_FUNCTION_H
#define VGPU_CODE_FUNCTION_H

#include "core/core_state.h"
#include "values/results.h"

struct vg_function {
    const void *host; /* the address by which the program launches it; NULL: loaded from a module */
    const char *name; /* mangled; must stay valid */
    unsigned smem_static, max_dynamic_smem, registers, max_threads;
    unsigned ptx_arch, binary_arch; /* compute capability times ten; 0: not known */
    void *module;         /* the driver's module; NULL: registered by the program's binary */
    const void *image;    /* the device code that contains it; NULL: unknown */
    _Atomic bool known;   /* the image has been read */
    struct vg_code *code; /* for estimates; NULL: none */
    double moves;         /* bytes that a thread moves, by machine code; -1: unknown */
    _Atomic(const struct vg_results *) results; /* what it writes; NULL: not known yet */
};

/* NULL: out of memory. Functions are never freed: a recording may still need their names. */
struct vg_function *vg_function_new(const void *host, const char *name);
/* The function behind a handle; NULL: not one of these. Any pointer may be passed. */
struct vg_function *vg_function_of(const void *handle);

/* Reads from its image: registers, shared memory, code. Does so once; any thread may call it. */
void vg_function_look(struct vg_function *f);

struct vg_shape {
    unsigned grid[3], block[3];
    size_t smem;
    void *const *args;  /* addresses of the arguments; NULL: unknown */
    const void *packed; /* or all arguments in one block */
    size_t packed_bytes;
};
/* Describes a launch on this device, with its duration. Returns a cudaError_t number. */
int vg_function_kernel(struct vg_function *f, const struct vg_profile *p,
                       const struct vg_shape *shape, struct vg_kernel *out);

#endif
