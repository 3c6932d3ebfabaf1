/* cuFFT's plans: made, asked for their work area, given a stream, destroyed. */
#include "shims/cufft/shim_cufft.h"

#include <pthread.h>
#include <string.h>

enum { PLANS = 4096, VERSION = 12000 };
static struct fft_plan plans[PLANS];
static pthread_mutex_t plans_lock = PTHREAD_MUTEX_INITIALIZER;

struct fft_plan *fft_plan_of(int handle)
{
    return handle > 0 && handle < PLANS && plans[handle].used ? &plans[handle] : NULL;
}

static int new_plan(int *handle)
{
    if (!handle)
        return FFT_INVALID_VALUE;
    if (vg_start() != 0)
        return FFT_SETUP_FAILED;
    pthread_mutex_lock(&plans_lock);
    int i = 1;
    while (i < PLANS && plans[i].used)
        i++;
    if (i < PLANS)
        plans[i] = (struct fft_plan){.used = true, .own_area = true};
    pthread_mutex_unlock(&plans_lock);
    *handle = i;
    return i < PLANS ? FFT_SUCCESS : FFT_ALLOC_FAILED;
}

static void let_go(struct fft_plan *p)
{
    if (p->area && p->own_area)
        vg_library_free(p->area);
    p->area = NULL;
}

static int make(struct fft_plan *p, int rank, const int64_t *n, struct fft_kind kind, int64_t batch,
                size_t *work)
{
    if (!p || p->made)
        return FFT_INVALID_PLAN;
    if (rank < 1 || rank > FFT_MAX_RANK || batch < 1 || !n)
        return FFT_INVALID_VALUE;
    for (int i = 0; i < rank; i++) {
        if (n[i] < 1)
            return FFT_INVALID_SIZE;
        p->n[i] = n[i];
    }
    p->rank = rank;
    p->batch = batch;
    p->kind = kind;
    p->area_bytes = fft_area_bytes(p);
    if (p->own_area && p->area_bytes && vg_library_malloc(&p->area, p->area_bytes) != 0)
        return FFT_ALLOC_FAILED;
    p->made = true;
    if (work)
        *work = p->area_bytes;
    return FFT_SUCCESS;
}

static int make_typed(int handle, int rank, const int64_t *n, int type, int64_t batch, size_t *work)
{
    struct fft_kind kind;
    if (!fft_kind_of(type, &kind))
        return FFT_INVALID_TYPE;
    return make(fft_plan_of(handle), rank, n, kind, batch, work);
}

static int make_new(int *handle, int rank, const int64_t *n, int type, int64_t batch)
{
    int bad = new_plan(handle);
    return bad ? bad : make_typed(*handle, rank, n, type, batch, NULL);
}

/* Sizes in the widths in which calls give them; -1 marks what is missing. */
static const int64_t *widened(int rank, const int *n, int64_t out[FFT_MAX_RANK])
{
    for (int i = 0; n && i < rank && i < FFT_MAX_RANK; i++)
        out[i] = n[i];
    return n ? out : NULL;
}

CALL(cufftCreate, int *handle)
{
    return new_plan(handle);
}

CALL(cufftDestroy, int handle)
{
    struct fft_plan *p = fft_plan_of(handle);
    if (!p)
        return FFT_INVALID_PLAN;
    let_go(p);
    p->used = false;
    return FFT_SUCCESS;
}

CALL(cufftPlan1d, int *handle, int nx, int type, int batch)
{
    return make_new(handle, 1, (int64_t[]){nx}, type, batch);
}

CALL(cufftPlan2d, int *handle, int nx, int ny, int type)
{
    return make_new(handle, 2, (int64_t[]){nx, ny}, type, 1);
}

CALL(cufftPlan3d, int *handle, int nx, int ny, int nz, int type)
{
    return make_new(handle, 3, (int64_t[]){nx, ny, nz}, type, 1);
}

/* How the data lies does not change the time. */
CALL(cufftPlanMany, int *handle, int rank, const int *n, const int *in, int in_stride, int in_step,
     const int *out, int out_stride, int out_step, int type, int batch)
{
    (void)in, (void)in_stride, (void)in_step, (void)out, (void)out_stride, (void)out_step;
    int64_t wide[FFT_MAX_RANK] = {0};
    return make_new(handle, rank, widened(rank, n, wide), type, batch);
}

CALL(cufftMakePlan1d, int handle, int nx, int type, int batch, size_t *work)
{
    return make_typed(handle, 1, (int64_t[]){nx}, type, batch, work);
}

CALL(cufftMakePlan2d, int handle, int nx, int ny, int type, size_t *work)
{
    return make_typed(handle, 2, (int64_t[]){nx, ny}, type, 1, work);
}

CALL(cufftMakePlan3d, int handle, int nx, int ny, int nz, int type, size_t *work)
{
    return make_typed(handle, 3, (int64_t[]){nx, ny, nz}, type, 1, work);
}

CALL(cufftMakePlanMany, int handle, int rank, const int *n, const int *in, int in_stride,
     int in_step, const int *out, int out_stride, int out_step, int type, int batch, size_t *work)
{
    (void)in, (void)in_stride, (void)in_step, (void)out, (void)out_stride, (void)out_step;
    int64_t wide[FFT_MAX_RANK] = {0};
    return make_typed(handle, rank, widened(rank, n, wide), type, batch, work);
}

CALL(cufftMakePlanMany64, int handle, int rank, const long long *n, const long long *in,
     long long in_stride, long long in_step, const long long *out, long long out_stride,
     long long out_step, int type, long long batch, size_t *work)
{
    (void)in, (void)in_stride, (void)in_step, (void)out, (void)out_stride, (void)out_step;
    return make_typed(handle, rank, (const int64_t *)n, type, batch, work);
}

CALL(cufftXtMakePlanMany, int handle, int rank, const long long *n, const long long *in,
     long long in_stride, long long in_step, int in_type, const long long *out,
     long long out_stride, long long out_step, int out_type, long long batch, size_t *work,
     int exec_type)
{
    (void)in, (void)in_stride, (void)in_step, (void)out, (void)out_stride, (void)out_step;
    (void)exec_type;
    struct fft_kind kind;
    if (!fft_kind_of_data(in_type, out_type, &kind))
        return FFT_INVALID_TYPE;
    return make(fft_plan_of(handle), rank, (const int64_t *)n, kind, batch, work);
}

/* ---- what a plan needs ---- */

CALL(cufftGetSize, int handle, size_t *work)
{
    struct fft_plan *p = fft_plan_of(handle);
    if (!p || !work)
        return p ? FFT_INVALID_VALUE : FFT_INVALID_PLAN;
    *work = p->area_bytes;
    return FFT_SUCCESS;
}

static int estimate(int rank, const int64_t *n, int type, int64_t batch, size_t *work)
{
    struct fft_plan p = {.rank = rank, .batch = batch};
    if (!fft_kind_of(type, &p.kind))
        return FFT_INVALID_TYPE;
    if (rank < 1 || rank > FFT_MAX_RANK || !n || !work)
        return FFT_INVALID_VALUE;
    memcpy(p.n, n, (size_t)rank * sizeof *n);
    *work = fft_area_bytes(&p);
    return FFT_SUCCESS;
}

CALL(cufftEstimate1d, int nx, int type, int batch, size_t *work)
{
    return estimate(1, (int64_t[]){nx}, type, batch, work);
}

CALL(cufftEstimate2d, int nx, int ny, int type, size_t *work)
{
    return estimate(2, (int64_t[]){nx, ny}, type, 1, work);
}

CALL(cufftEstimate3d, int nx, int ny, int nz, int type, size_t *work)
{
    return estimate(3, (int64_t[]){nx, ny, nz}, type, 1, work);
}

CALL(cufftGetSize1d, int handle, int nx, int type, int batch, size_t *work)
{
    return fft_plan_of(handle) ? cufftEstimate1d(nx, type, batch, work) : FFT_INVALID_PLAN;
}

CALL(cufftGetSize2d, int handle, int nx, int ny, int type, size_t *work)
{
    return fft_plan_of(handle) ? cufftEstimate2d(nx, ny, type, work) : FFT_INVALID_PLAN;
}

CALL(cufftGetSize3d, int handle, int nx, int ny, int nz, int type, size_t *work)
{
    return fft_plan_of(handle) ? cufftEstimate3d(nx, ny, nz, type, work) : FFT_INVALID_PLAN;
}

CALL(cufftSetAutoAllocation, int handle, int allocate)
{
    struct fft_plan *p = fft_plan_of(handle);
    if (!p)
        return FFT_INVALID_PLAN;
    p->own_area = allocate != 0;
    return FFT_SUCCESS;
}

CALL(cufftSetWorkArea, int handle, void *area)
{
    struct fft_plan *p = fft_plan_of(handle);
    if (!p)
        return FFT_INVALID_PLAN;
    let_go(p);
    p->own_area = false;
    p->area = area;
    return FFT_SUCCESS;
}

CALL(cufftSetStream, int handle, struct vg_stream *stream)
{
    struct fft_plan *p = fft_plan_of(handle);
    if (!p)
        return FFT_INVALID_PLAN;
    p->stream = stream;
    return FFT_SUCCESS;
}

CALL(cufftGetVersion, int *version)
{
    if (!version)
        return FFT_INVALID_VALUE;
    *version = VERSION;
    return FFT_SUCCESS;
}

CALL(cufftGetProperty, int which, int *value)
{
    if (!value || which < 0 || which > 2)
        return FFT_INVALID_VALUE;
    *value = which == 0 ? VERSION / 1000 : which == 1 ? VERSION / 100 % 10 : VERSION % 100;
    return FFT_SUCCESS;
}

/* Functions of the program that the transform calls when it loads and stores: nobody runs them. */
CALL(cufftXtSetCallback, int handle, void **routine, int type, void **info)
{
    (void)type, (void)info;
    return !fft_plan_of(handle) ? FFT_INVALID_PLAN : routine ? FFT_SUCCESS : FFT_INVALID_VALUE;
}

CALL(cufftXtClearCallback, int handle, int type)
{
    (void)type;
    return fft_plan_of(handle) ? FFT_SUCCESS : FFT_INVALID_PLAN;
}

CALL(cufftXtSetCallbackSharedSize, int handle, int type, size_t bytes)
{
    (void)type, (void)bytes;
    return fft_plan_of(handle) ? FFT_SUCCESS : FFT_INVALID_PLAN;
}
