/* Kernels that a program registered or loaded: what cudaKernel_t, cudaFunction_t and CUfunction
 * point to. Their code is looked at when it is first needed. */
#ifndef VGPU_CODE_FUNCTION_H
#define VGPU_CODE_FUNCTION_H

#include "core/core_state.h"
#include "values/results.h"

struct vg_function {
    const void *host; /* the address that the program launches; NULL: loaded from a module */
    const char *name; /* mangled; must stay valid */
    unsigned smem_static, max_dynamic_smem, registers, max_threads;
    void *module;         /* of the driver; NULL: registered by the program's binary */
    const void *image;    /* the device code that has it; NULL: not known */
    _Atomic bool known;   /* what the image tells has been read */
    struct vg_code *code; /* for estimates; NULL: none */
    double moves;         /* bytes that a thread moves, by machine code; -1: not known */
    _Atomic(const struct vg_results *) results; /* what it writes; NULL: not known yet */
};

/* NULL: out of memory. Functions are never freed: a recording may still need their names. */
struct vg_function *vg_function_new(const void *host, const char *name);
/* The function behind a handle, NULL if it is none of ours. Any pointer may be asked for. */
struct vg_function *vg_function_of(const void *handle);

/* Reads what its image tells: registers, shared memory, code. Once; from any thread. */
void vg_function_look(struct vg_function *f);

struct vg_shape {
    unsigned grid[3], block[3];
    size_t smem;
    void *const *args;  /* addresses of the arguments; NULL: not known */
    const void *packed; /* or all of them, one behind the other */
    size_t packed_bytes;
};
/* What a launch of it is on this device, with its duration; or a cudaError_t number. */
int vg_function_kernel(struct vg_function *f, const struct vg_profile *p,
                       const struct vg_shape *shape, struct vg_kernel *out);

#endif
