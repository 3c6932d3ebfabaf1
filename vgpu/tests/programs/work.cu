// Does a known amount on the GPU: 30 kernels, 3 copies, 2 memsets. Built in several ways.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill(float *p)
{
    p[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

extern "C" int work()
{
    float *device, host[256] = {};
    if (cudaMalloc(&device, sizeof host) != cudaSuccess)
        return 1;
    for (int i = 0; i < 2; i++)
        cudaMemset(device, 0, sizeof host);
    for (int i = 0; i < 2; i++)
        cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
    for (int i = 0; i < 30; i++)
        fill<<<4, 64>>>(device);
    cudaError_t bad = cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
    cudaFree(device);
    printf("work: %s\n", cudaGetErrorString(bad));
    return bad != cudaSuccess;
}

#ifdef VENDORS // looks like a library of NVIDIA's with a runtime of its own
extern "C" int cublasLtCreate(void **handle)
{
    return handle == nullptr;
}
#endif

#ifdef OWN_NAMES // called as the driver's functions are
extern "C" __attribute__((noinline)) int cuInit(unsigned flags)
{
    return 1234 + (int)flags;
}
#endif

#ifndef LIBRARY
int main()
{
#ifdef OWN_NAMES
    if (cuInit(1) != 1235)
        return 3;
#endif
    return work();
}
#endif
