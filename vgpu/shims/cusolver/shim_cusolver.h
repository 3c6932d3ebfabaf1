/* Inside the cuSOLVER shim: handles, and the kernels of a factorisation. The build needs no header
 * of cuSOLVER: the types here are those of its binary interface. */
#ifndef VGPU_SHIM_CUSOLVER_H
#define VGPU_SHIM_CUSOLVER_H

#include "core/core.h"
#include "shims/vendor_call.h"

#include <complex.h>

enum {
    SOLVER_SUCCESS = 0,
    SOLVER_NOT_INITIALIZED = 1,
    SOLVER_ALLOC_FAILED = 2,
    SOLVER_INVALID_VALUE = 3,
    SOLVER_EXECUTION_FAILED = 6,
};

struct solver_handle {
    struct vg_stream *stream;
};

struct solver_type { /* of a matrix's elements */
    double bytes;
    bool imaginary, wide;
};
#define SOLVER_TYPE(type)                                                                          \
    (struct solver_type)                                                                           \
    {                                                                                              \
        sizeof(type),                                                                              \
            _Generic((type){0}, float complex                                                      \
                     : true, double complex                                                        \
                     : true, default                                                               \
                     : false),                                                                     \
            _Generic((type){0}, double                                                             \
                     : true, double complex                                                        \
                     : true, default                                                               \
                     : false)                                                                      \
    }
struct solver_type solver_type_of(int data_type); /* data_type is a cudaDataType */

/* Launches a blocked algorithm with `flops` operations on a matrix of `columns` columns. Each panel
 * takes two kernels: `panel`, which computes one column after the other, and `update`, which
 * updates the rest of the matrix. *info, if given, is set to 0. */
int solver_blocked(const struct solver_handle *h, const char *panel, const char *update,
                   double columns, double flops, struct solver_type t, int *info);
/* Launches one kernel that does this for `batch` small matrices at once. */
int solver_batched(const struct solver_handle *h, const char *name, double columns, double flops,
                   struct solver_type t, int *info, int batch);

#endif
