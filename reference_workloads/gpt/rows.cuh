// What the kernels over rows share: sums and maxima of a block.
#ifndef GPT_ROWS_CUH
#define GPT_ROWS_CUH

#include "reference_workloads/conv/kernels.cuh"
#include "reference_workloads/gpt/kernels.h"

struct Sum {
    __device__ static float of(float a, float b)
    {
        return a + b;
    }
    static constexpr float none = 0.0f;
};
struct Max {
    __device__ static float of(float a, float b)
    {
        return fmaxf(a, b);
    }
    static constexpr float none = -3.4e38f;
};

// Of all threads of the block (whole warps), in the same order every time; every thread gets it.
template <typename Op> __device__ __forceinline__ float over_block(float v)
{
    __shared__ float of_warp[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    for (int step = 16; step > 0; step /= 2)
        v = Op::of(v, __shfl_xor_sync(0xffffffffu, v, step));
    __syncthreads(); // the last call's values have been read
    if (lane == 0)
        of_warp[warp] = v;
    __syncthreads();
    v = lane < warps ? of_warp[lane] : Op::none;
    for (int step = 16; step > 0; step /= 2)
        v = Op::of(v, __shfl_xor_sync(0xffffffffu, v, step));
    return v;
}

// The block's row: value k of this thread is at threadIdx.x + k * blockDim.x.
__device__ __forceinline__ int row_place(int k)
{
    return (int)threadIdx.x + k * (int)blockDim.x;
}

// A block per row of `width` values.
#define LAUNCH_ROWS(kernel, rows, width, stream, ...)                                              \
    do {                                                                                           \
        kernel<<<(unsigned)(rows), (unsigned)((width) / ROW_VALUES), 0, stream>>>(__VA_ARGS__);    \
        launched(#kernel);                                                                         \
    } while (0)

#endif
