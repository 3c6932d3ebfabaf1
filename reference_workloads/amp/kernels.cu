// See kernels.h.
#include "reference_workloads/amp/kernels.h"

#include "reference_workloads/conv/kernels.cuh"

#include <math.h>

template <typename T> __global__ void weight_cast_kernel(const float *w, T *working, size_t n)
{
    size_t i = thread_index();
    if (i < n)
        working[i] = from_float<T>(w[i]);
}

__global__ void amp_update_scale_kernel(struct loss_scale *s, int interval)
{
    if (s->found_inf) {
        s->scale = fmaxf(s->scale * 0.5f, 1.0f);
        s->good_steps = 0;
    } else if (++s->good_steps >= interval) {
        s->scale = fminf(s->scale * 2.0f, 16777216.0f);
        s->good_steps = 0;
    }
    s->found_inf = 0;
}

__global__ void amp_set_scale_kernel(struct loss_scale *s, float scale)
{
    s->scale = scale;
    s->found_inf = 0;
    s->good_steps = 0;
}

template <typename T> __global__ void amp_overflow_kernel(T *gradient)
{
    gradient[0] = from_float<T>(INFINITY);
}

void kernel_weight_cast(cudaStream_t stream, enum dtype t, const float *w, void *working, size_t n)
{
    FOR_DTYPE(t, LAUNCH(weight_cast_kernel<T>, n, stream, w, (T *)working, n));
}

void kernel_amp_update_scale(cudaStream_t stream, struct loss_scale *s, int interval)
{
    amp_update_scale_kernel<<<1, 1, 0, stream>>>(s, interval);
    launched("amp_update_scale_kernel");
}

void kernel_amp_set_scale(cudaStream_t stream, struct loss_scale *s, float scale)
{
    amp_set_scale_kernel<<<1, 1, 0, stream>>>(s, scale);
    launched("amp_set_scale_kernel");
}

void kernel_amp_overflow(cudaStream_t stream, enum dtype t, void *gradient)
{
    FOR_DTYPE(t, amp_overflow_kernel<T><<<1, 1, 0, stream>>>((T *)gradient));
    launched("amp_overflow_kernel");
}
