/* Inside the cuFFT shim: plans, and which kernels a plan runs. The build needs no header of cuFFT:
 * the types here are those of its binary interface, the numbers those of its enumerations. */
#ifndef VGPU_SHIM_CUFFT_H
#define VGPU_SHIM_CUFFT_H

#include "core/core.h"
#include "shims/vendor_call.h"

enum {
    FFT_SUCCESS = 0,
    FFT_INVALID_PLAN = 1,
    FFT_ALLOC_FAILED = 2,
    FFT_INVALID_TYPE = 3,
    FFT_INVALID_VALUE = 4,
    FFT_EXEC_FAILED = 6,
    FFT_SETUP_FAILED = 7,
    FFT_INVALID_SIZE = 8,
};
enum { FFT_MAX_RANK = 3 };

/* The types of a transform's input and output. */
struct fft_kind {
    bool real_in, real_out;
    unsigned real_bytes; /* bytes of one real number: 2, 4 or 8 */
};
/* Both types are cudaDataType. */
bool fft_kind_of_data(int in_type, int out_type, struct fft_kind *out);

struct fft_plan {
    bool used, made, own_area;
    int rank;
    int64_t n[FFT_MAX_RANK], batch;
    struct fft_kind kind;
    struct vg_stream *stream;
    void *area;
    size_t area_bytes;
};

struct fft_plan *fft_plan_of(int handle); /* NULL: no such plan */
/* The number of points of one transform that the plan stores; real points count as half. */
double fft_points(const struct fft_plan *p);
size_t fft_area_bytes(const struct fft_plan *p);
int fft_run(const struct fft_plan *p);

#endif
