// What the trainer's kernel files share: types, packs of 16 bytes, launching.
#ifndef CONV_KERNELS_CUH
#define CONV_KERNELS_CUH

#include "reference_workloads/conv/kernels.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdio.h>
#include <stdlib.h>

constexpr int BLOCK = 256;

__device__ __forceinline__ float to_float(float x)
{
    return x;
}
__device__ __forceinline__ float to_float(__half x)
{
    return __half2float(x);
}
__device__ __forceinline__ float to_float(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}
template <typename T> __device__ __forceinline__ T from_float(float x);
template <> __device__ __forceinline__ float from_float<float>(float x)
{
    return x;
}
template <> __device__ __forceinline__ __half from_float<__half>(float x)
{
    return __float2half(x);
}
template <> __device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float x)
{
    return __float2bfloat16(x);
}

// 16 bytes of T, moved by one load or store
template <typename T> struct alignas(16) Pack {
    static constexpr int size = 16 / sizeof(T);
    T at[size];
};

__device__ __forceinline__ size_t thread_index()
{
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static inline unsigned blocks(size_t threads)
{
    return (unsigned)((threads + BLOCK - 1) / BLOCK);
}

static void launched(const char *name)
{
    cudaError_t rc = cudaGetLastError();
    if (rc == cudaSuccess)
        return;
    fprintf(stderr, "train_conv: %s: %s\n", name, cudaGetErrorString(rc));
    exit(1);
}

// LAUNCH(name, threads, stream, args): the plain kernel. LAUNCH_T: the same, with T by dtype; the
// arguments may say T.
#define LAUNCH(kernel, threads, stream, ...)                                                       \
    do {                                                                                           \
        kernel<<<blocks(threads), BLOCK, 0, stream>>>(__VA_ARGS__);                                \
        launched(#kernel);                                                                         \
    } while (0)
#define TYPED(type, ...)                                                                           \
    do {                                                                                           \
        using T = type;                                                                            \
        __VA_ARGS__;                                                                               \
    } while (0)
#define FOR_DTYPE(t, ...)                                                                          \
    do {                                                                                           \
        if ((t) == DTYPE_F32)                                                                      \
            TYPED(float, __VA_ARGS__);                                                             \
        else if ((t) == DTYPE_F16)                                                                 \
            TYPED(__half, __VA_ARGS__);                                                            \
        else                                                                                       \
            TYPED(__nv_bfloat16, __VA_ARGS__);                                                     \
    } while (0)

#endif
