/* cuSPARSE's handle, versions and error names, and the durations of its kernels. */
#include "shims/cusparse/shim_cusparse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 12603 };

CALL(cusparseCreate, struct sparse_handle **out)
{
    if (!out)
        return SPARSE_INVALID_VALUE;
    if (vg_start() != 0)
        return SPARSE_NOT_INITIALIZED;
    *out = calloc(1, sizeof **out);
    return *out ? SPARSE_SUCCESS : SPARSE_ALLOC_FAILED;
}

CALL(cusparseDestroy, struct sparse_handle *h)
{
    free(h);
    return h ? SPARSE_SUCCESS : SPARSE_NOT_INITIALIZED;
}

CALL(cusparseSetStream, struct sparse_handle *h, struct vg_stream *stream)
{
    if (!h)
        return SPARSE_NOT_INITIALIZED;
    h->stream = stream;
    return SPARSE_SUCCESS;
}

CALL(cusparseGetStream, struct sparse_handle *h, struct vg_stream **stream)
{
    if (!h || !stream)
        return h ? SPARSE_INVALID_VALUE : SPARSE_NOT_INITIALIZED;
    *stream = h->stream;
    return SPARSE_SUCCESS;
}

CALL(cusparseSetPointerMode, struct sparse_handle *h, int mode)
{
    if (!h)
        return SPARSE_NOT_INITIALIZED;
    h->pointer_mode = mode;
    return SPARSE_SUCCESS;
}

CALL(cusparseGetPointerMode, struct sparse_handle *h, int *mode)
{
    if (!h || !mode)
        return h ? SPARSE_INVALID_VALUE : SPARSE_NOT_INITIALIZED;
    *mode = h->pointer_mode;
    return SPARSE_SUCCESS;
}

CALL(cusparseGetVersion, struct sparse_handle *h, int *version)
{
    if (!h || !version)
        return h ? SPARSE_INVALID_VALUE : SPARSE_NOT_INITIALIZED;
    *version = VERSION;
    return SPARSE_SUCCESS;
}

CALL(cusparseGetProperty, int which, int *value)
{
    if (!value || which < 0 || which > 2)
        return SPARSE_INVALID_VALUE;
    *value = which == 0 ? VERSION / 1000 : which == 1 ? VERSION / 100 % 10 : VERSION % 100;
    return SPARSE_SUCCESS;
}

static const char *const names[] = {
    "CUSPARSE_STATUS_SUCCESS",          "CUSPARSE_STATUS_NOT_INITIALIZED",
    "CUSPARSE_STATUS_ALLOC_FAILED",     "CUSPARSE_STATUS_INVALID_VALUE",
    "CUSPARSE_STATUS_ARCH_MISMATCH",    "CUSPARSE_STATUS_MAPPING_ERROR",
    "CUSPARSE_STATUS_EXECUTION_FAILED", "CUSPARSE_STATUS_INTERNAL_ERROR",
};
static const char *const texts[] = {
    "success",
    "initialization error",
    "out of memory",
    "invalid value",
    "architecture mismatch",
    "mapping error",
    "kernel launch failure",
    "internal error",
};

const char *cusparseGetErrorName(int status);
const char *cusparseGetErrorName(int status)
{
    bool known = status >= 0 && status < (int)(sizeof names / sizeof *names);
    return known ? names[status] : "unrecognized error code";
}

const char *cusparseGetErrorString(int status);
const char *cusparseGetErrorString(int status)
{
    bool known = status >= 0 && status < (int)(sizeof texts / sizeof *texts);
    return known ? texts[status] : "unrecognized error code";
}

/* ---- durations ---- */

double sparse_value_bytes(int type)
{
    static const struct {
        int type, bytes;
    } types[] = {{0, 4}, {1, 8}, {2, 2},  {3, 1},  {4, 8},  {5, 16},
                 {6, 4}, {8, 1}, {10, 4}, {14, 2}, {15, 4}, {28, 1}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type)
            return types[i].bytes;
    return 4;
}

double sparse_index_bytes(int type)
{
    return type == 3 ? 8 : type == 1 ? 2 : 4;
}

double sparse_bytes(const struct sparse_object *o)
{
    double values = (double)o->nnz * sparse_value_bytes(o->value_type) * fmax(1, o->batch);
    double index = sparse_index_bytes(o->index_type) * (double)o->nnz;
    double offset = sparse_index_bytes(o->offset_type);
    switch (o->format) {
    case SPARSE_CSR:
        return values + index + offset * (double)(o->rows + 1);
    case SPARSE_COO:
        return values + 2 * index;
    case SPARSE_DENSE:
        break;
    }
    return values;
}

static int launch(const struct sparse_handle *h, const char *name, double ns, double threads)
{
    struct vg_kernel k = {.name = name,
                          .grid = {(unsigned)fmin(fmax(threads / 256, 1), 1 << 24), 1, 1},
                          .block = {256, 1, 1},
                          .registers = 40,
                          .duration_ns = (int64_t)ns};
    return vg_library_launch(h->stream, &k) == 0 ? SPARSE_SUCCESS : SPARSE_EXECUTION_FAILED;
}

/* Sparse work reaches only a share of the memory's bandwidth, because rows have different lengths
 * and reads are scattered. The share (0.7) is a guess. */
static double bytes_ns(const struct vg_profile *p, double bytes)
{
    return (double)vg_cost_memory(p, bytes, 1, 0.7 * p->pointwise_eff);
}

int sparse_launch(const struct sparse_handle *h, const char *name, double bytes, double flops,
                  double threads)
{
    const struct vg_profile *p = vg_profile(vg_current_device());
    return launch(h, name, fmax(bytes_ns(p, bytes), flops / (0.3 * p->fp32_flops) * 1e9), threads);
}

int sparse_result(const struct sparse_handle *h, void *out, size_t size)
{
    if (h->pointer_mode != 0)
        return SPARSE_SUCCESS;
    memset(out, 0, size);
    return vg_library_sync(h->stream) == 0 ? SPARSE_SUCCESS : SPARSE_EXECUTION_FAILED;
}
