/* cuFFT's plans as PyTorch makes and uses them: created empty, filled by cufftXtMakePlanMany(),
 * given a work area and a stream, destroyed. A call that this shim does not define ends the program
 * with a message. */
#include "shims/cufft/shim_cufft.h"

#include <pthread.h>

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

/* The layout of the data (embedding, strides) does not change the time, so it is ignored. */
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
