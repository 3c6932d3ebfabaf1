/* A library that contains NVIDIA's runtime but no GPU code, as the bindings of a language do: 3
 * copies, 2 memsets. */
#include <cuda_runtime_api.h>

int work(void);

int work(void)
{
    float host[256] = {0};
    void *device;
    if (cudaMalloc(&device, sizeof host) != cudaSuccess)
        return 1;
    for (int i = 0; i < 2; i++)
        cudaMemset(device, 0, sizeof host);
    for (int i = 0; i < 2; i++)
        cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
    cudaError_t bad = cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
    cudaFree(device);
    return bad != cudaSuccess;
}
