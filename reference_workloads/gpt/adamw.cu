// The optimizer's kernels: norm of the gradients, clipping, AdamW whole and in passes. See
// kernels.h.
#include "reference_workloads/gpt/rows.cuh"

#include <math.h>

// ---- norm and plan ------------------------------------------------------------------------------

template <typename T>
__global__ void gradient_norm_partial_kernel(const T *gradient, float *partial, size_t n)
{
    size_t first = (size_t)blockIdx.x * NORM_CHUNK + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < NORM_CHUNK / BLOCK; k++) {
        size_t i = first + (size_t)k * BLOCK;
        float g = i < n ? to_float(gradient[i]) : 0.0f;
        sum += g * g;
    }
    sum = over_block<Sum>(sum);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

__global__ void gradient_norm_total_kernel(const float *partial, size_t n, struct update_plan *p,
                                           const struct loss_scale *s)
{
    float sum = 0.0f;
    for (size_t i = threadIdx.x; i < n; i += blockDim.x)
        sum += partial[i];
    sum = over_block<Sum>(sum);
    if (threadIdx.x == 0)
        p->norm = sqrtf(sum) / s->scale;
}

__global__ void init_plan_kernel(struct update_plan *p)
{
    *p = {};
}

__global__ void adamw_plan_kernel(struct update_plan *p, const struct loss_scale *s, struct adamw o,
                                  float limit)
{
    p->skip = s->found_inf;
    p->step += !p->skip;
    p->correct1 = 1.0f - powf(o.beta1, (float)p->step);
    p->correct2 = 1.0f - powf(o.beta2, (float)p->step);
    p->multiply = 1.0f / s->scale;
    if (limit > 0.0f && p->norm > limit)
        p->multiply *= limit / p->norm;
}

template <typename T> __global__ void gradient_scale_kernel(T *gradient, float by, size_t n)
{
    size_t i = thread_index();
    if (i < n)
        gradient[i] = from_float<T>(to_float(gradient[i]) * by);
}

template <typename T>
__global__ void gradient_clip_kernel(T *gradient, const struct update_plan *p, float limit,
                                     size_t n)
{
    size_t i = thread_index();
    if (i < n && p->norm > limit)
        gradient[i] = from_float<T>(to_float(gradient[i]) * (limit / p->norm));
}

// ---- AdamW --------------------------------------------------------------------------------------

__device__ __forceinline__ float decayed(const struct adamw &o, size_t index, float w)
{
    return index < o.decayed ? w * (1.0f - o.rate * o.decay) : w;
}

// A step with infinite gradients changes nothing.
template <typename T> __global__ void adamw_fused_kernel(struct adamw o, struct adamw_state s)
{
    size_t i = thread_index();
    if (i >= s.n || o.plan->skip)
        return;
    float g = to_float(((const T *)s.gradient)[i]) * o.plan->multiply;
    float m = o.beta1 * s.m[i] + (1.0f - o.beta1) * g;
    float v = o.beta2 * s.v[i] + (1.0f - o.beta2) * g * g;
    float root = sqrtf(v / o.plan->correct2) + o.epsilon;
    float w = decayed(o, s.offset + i, s.w[i]) - o.rate * (m / o.plan->correct1) / root;
    s.m[i] = m;
    s.v[i] = v;
    s.w[i] = w;
    if (s.working)
        ((T *)s.working)[i] = from_float<T>(w);
}

template <typename T> __global__ void adamw_unscale_kernel(struct adamw o, struct adamw_state s)
{
    size_t i = thread_index();
    if (i < s.n)
        s.d[i] = to_float(((const T *)s.gradient)[i]) * o.plan->multiply;
}

__global__ void adamw_first_kernel(struct adamw o, struct adamw_state s)
{
    size_t i = thread_index();
    if (i < s.n && !o.plan->skip)
        s.m[i] = o.beta1 * s.m[i] + (1.0f - o.beta1) * s.d[i];
}

__global__ void adamw_second_kernel(struct adamw o, struct adamw_state s)
{
    size_t i = thread_index();
    if (i < s.n && !o.plan->skip)
        s.v[i] = o.beta2 * s.v[i] + (1.0f - o.beta2) * s.d[i] * s.d[i];
}

__global__ void adamw_root_kernel(struct adamw o, struct adamw_state s)
{
    size_t i = thread_index();
    if (i < s.n)
        s.d[i] = sqrtf(s.v[i] / o.plan->correct2) + o.epsilon;
}

__global__ void adamw_step_kernel(struct adamw o, struct adamw_state s)
{
    size_t i = thread_index();
    if (i < s.n && !o.plan->skip)
        s.w[i] = decayed(o, s.offset + i, s.w[i]) - o.rate * (s.m[i] / o.plan->correct1) / s.d[i];
}

template <typename T> __global__ void adamw_cast_kernel(struct adamw_state s)
{
    size_t i = thread_index();
    if (i < s.n)
        ((T *)s.working)[i] = from_float<T>(s.w[i]);
}

// ---- launching ----------------------------------------------------------------------------------

void kernel_init_plan(cudaStream_t stream, struct update_plan *p)
{
    init_plan_kernel<<<1, 1, 0, stream>>>(p);
    launched("init_plan_kernel");
}

void kernel_gradient_squares(cudaStream_t stream, enum dtype t, const void *gradient,
                             float *partial, size_t n)
{
    unsigned chunks = (unsigned)((n + NORM_CHUNK - 1) / NORM_CHUNK);
    FOR_DTYPE(t, gradient_norm_partial_kernel<T>
              <<<chunks, BLOCK, 0, stream>>>((const T *)gradient, partial, n));
    launched("gradient_norm_partial_kernel");
}

void kernel_gradient_norm(cudaStream_t stream, const float *partial, size_t n,
                          struct update_plan *p, const struct loss_scale *s)
{
    gradient_norm_total_kernel<<<1, 1024, 0, stream>>>(partial, n, p, s);
    launched("gradient_norm_total_kernel");
}

void kernel_plan_update(cudaStream_t stream, struct update_plan *p, const struct loss_scale *s,
                        const struct adamw *o, float limit)
{
    adamw_plan_kernel<<<1, 1, 0, stream>>>(p, s, *o, limit);
    launched("adamw_plan_kernel");
}

void kernel_scale_gradient(cudaStream_t stream, enum dtype t, void *gradient, float by, size_t n)
{
    FOR_DTYPE(t, LAUNCH(gradient_scale_kernel<T>, n, stream, (T *)gradient, by, n));
}

void kernel_clip_gradient(cudaStream_t stream, enum dtype t, void *gradient,
                          const struct update_plan *p, float limit, size_t n)
{
    FOR_DTYPE(t, LAUNCH(gradient_clip_kernel<T>, n, stream, (T *)gradient, p, limit, n));
}

void kernel_adamw_fused(cudaStream_t stream, enum dtype t, const struct adamw *o,
                        const struct adamw_state *s)
{
    FOR_DTYPE(t, LAUNCH(adamw_fused_kernel<T>, s->n, stream, *o, *s));
}

void kernel_adamw_unscale(cudaStream_t stream, enum dtype t, const struct adamw *o,
                          const struct adamw_state *s)
{
    FOR_DTYPE(t, LAUNCH(adamw_unscale_kernel<T>, s->n, stream, *o, *s));
}

void kernel_adamw_first(cudaStream_t stream, const struct adamw *o, const struct adamw_state *s)
{
    LAUNCH(adamw_first_kernel, s->n, stream, *o, *s);
}

void kernel_adamw_second(cudaStream_t stream, const struct adamw *o, const struct adamw_state *s)
{
    LAUNCH(adamw_second_kernel, s->n, stream, *o, *s);
}

void kernel_adamw_root(cudaStream_t stream, const struct adamw *o, const struct adamw_state *s)
{
    LAUNCH(adamw_root_kernel, s->n, stream, *o, *s);
}

void kernel_adamw_step(cudaStream_t stream, const struct adamw *o, const struct adamw_state *s)
{
    LAUNCH(adamw_step_kernel, s->n, stream, *o, *s);
}

void kernel_adamw_cast(cudaStream_t stream, enum dtype t, const struct adamw_state *s)
{
    FOR_DTYPE(t, LAUNCH(adamw_cast_kernel<T>, s->n, stream, *s));
}
