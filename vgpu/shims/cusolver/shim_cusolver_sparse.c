/* Solves with sparse matrices. How full the factors become is not known: as many times the
 * elements of the matrix as rows have on average. */
#include "shims/cusolver/shim_cusolver.h"

#include <math.h>

typedef const struct solver_handle *handle;

static double solve_flops(int n, int nnz)
{
    double row = n > 0 ? (double)nnz / n : 0;
    return 2 * row * row * (double)nnz;
}

/* `Host`: the library computes on the processor there; here nobody does. */
#define SOLVE(name, type, real)                                                                    \
    CALL(name, handle h, int n, int nnz, const void *a, const type *values, const int *rows,       \
         const int *cols, const type *b, real tolerance, int reorder, type *x, int *singularity)   \
    {                                                                                              \
        (void)a, (void)values, (void)rows, (void)cols, (void)tolerance, (void)reorder;             \
        if (!h || !b || !x || !singularity)                                                        \
            return h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;                              \
        *singularity = -1;                                                                         \
        int bad = solver_blocked(h, "csr_front_kernel", "csr_update_kernel", n,                    \
                                 solve_flops(n, nnz), SOLVER_TYPE(type), NULL);                    \
        return bad || vg_library_sync(h->stream) == 0 ? bad : SOLVER_EXECUTION_FAILED;             \
    }                                                                                              \
    CALL(name##Host, handle h, int n, int nnz, const void *a, const type *values, const int *rows, \
         const int *cols, const type *b, real tolerance, int reorder, type *x, int *singularity)   \
    {                                                                                              \
        (void)n, (void)nnz, (void)a, (void)values, (void)rows, (void)cols, (void)tolerance;        \
        (void)reorder;                                                                             \
        if (!h || !b || !x || !singularity)                                                        \
            return h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;                              \
        *singularity = -1;                                                                         \
        return SOLVER_SUCCESS;                                                                     \
    }
#define HOST_ONLY(name, type, real)                                                                \
    CALL(name, handle h, int n, int nnz, const void *a, const type *values, const int *rows,       \
         const int *cols, const type *b, real tolerance, int reorder, type *x, int *singularity)   \
    {                                                                                              \
        (void)n, (void)nnz, (void)a, (void)values, (void)rows, (void)cols, (void)tolerance;        \
        (void)reorder;                                                                             \
        if (!h || !b || !x || !singularity)                                                        \
            return h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;                              \
        *singularity = -1;                                                                         \
        return SOLVER_SUCCESS;                                                                     \
    }
SOLVE(cusolverSpScsrlsvqr, float, float)
SOLVE(cusolverSpDcsrlsvqr, double, double)
SOLVE(cusolverSpCcsrlsvqr, float complex, float)
SOLVE(cusolverSpZcsrlsvqr, double complex, double)
SOLVE(cusolverSpScsrlsvchol, float, float)
SOLVE(cusolverSpDcsrlsvchol, double, double)
SOLVE(cusolverSpCcsrlsvchol, float complex, float)
SOLVE(cusolverSpZcsrlsvchol, double complex, double)
HOST_ONLY(cusolverSpScsrlsvluHost, float, float)
HOST_ONLY(cusolverSpDcsrlsvluHost, double, double)
HOST_ONLY(cusolverSpCcsrlsvluHost, float complex, float)
HOST_ONLY(cusolverSpZcsrlsvluHost, double complex, double)

/* ---- orders of rows: all stay where they are ---- */

#define ORDER(name, ...)                                                                           \
    CALL(name, handle h, int n, int nnz, const void *a, const int *rows,                           \
         const int *cols __VA_ARGS__, int *order)                                                  \
    {                                                                                              \
        (void)nnz, (void)a, (void)rows, (void)cols;                                                \
        if (!h || !order)                                                                          \
            return h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;                              \
        for (int i = 0; i < n; i++)                                                                \
            order[i] = i;                                                                          \
        return SOLVER_SUCCESS;                                                                     \
    }
#define OPTIONS , const int64_t *options __attribute__((unused))
ORDER(cusolverSpXcsrsymrcmHost)
ORDER(cusolverSpXcsrsymmdqHost)
ORDER(cusolverSpXcsrsymamdHost)
ORDER(cusolverSpXcsrmetisndHost, OPTIONS)

#define PERMUTED handle h, int m, int n, int nnz, const void *a
CALL(cusolverSpXcsrperm_bufferSizeHost, PERMUTED, const int *rows, const int *cols, const int *p,
     const int *q, size_t *bytes)
{
    (void)m, (void)n, (void)a, (void)rows, (void)cols, (void)p, (void)q;
    if (!h || !bytes)
        return h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;
    *bytes = 4 * (size_t)nnz + 1024;
    return SOLVER_SUCCESS;
}

/* Right for the orders above. */
CALL(cusolverSpXcsrpermHost, PERMUTED, int *rows, int *cols, const int *p, const int *q, int *map,
     void *buffer)
{
    (void)m, (void)n, (void)nnz, (void)a, (void)p, (void)q, (void)buffer;
    return h && rows && cols && map ? SOLVER_SUCCESS : SOLVER_INVALID_VALUE;
}

CALL(cusolverSpXcsrissymHost, handle h, int m, int nnz, const void *a, const int *rows,
     const int *ends, const int *cols, int *symmetric)
{
    (void)nnz, (void)a;
    if (!h || !rows || !ends || !cols || !symmetric)
        return h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;
    int base = m > 0 ? rows[0] : 0;
    *symmetric = 1;
    for (int i = 0; i < m; i++)
        for (int k = rows[i] - base; k < ends[i] - base; k++) {
            int j = cols[k] - base;
            bool mirrored = false;
            for (int l = rows[j] - base; l < ends[j] - base && !mirrored; l++)
                mirrored = cols[l] - base == i;
            *symmetric &= mirrored;
        }
    return SOLVER_SUCCESS;
}
