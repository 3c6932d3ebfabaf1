/* Inside the cuSOLVER shim: handles, and what a factorisation launches. cuSOLVER's header is not
 * asked for: the types are those of its binary interface. */
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
struct solver_type solver_type_of(int data_type); /* a cudaDataType */

/* A blocked algorithm of `flops` on a matrix of `columns` columns: for each panel a kernel that one
 * column after the other goes through, and one that updates the rest. `info`, if there is one, gets
 * a 0. */
int solver_blocked(const struct solver_handle *h, const char *panel, const char *update,
                   double columns, double flops, struct solver_type t, int *info);
/* The same for `batch` small matrices at once, by one kernel. */
int solver_batched(const struct solver_handle *h, const char *name, double columns, double flops,
                   struct solver_type t, int *info, int batch);

#endif
