/* Does a known amount of work through the driver's interface: 3 copies, 2 memsets, in a context of
 * its own. */
#include <cuda.h>
#include <stdio.h>

#ifdef CARRIES_CODE
/* Where nvcc puts device code; here it is for cuModuleLoadData. */
__attribute__((section(".nv_fatbin"), used)) static const char code[16] = {0};
#endif

static int failed(CUresult result, const char *what)
{
    if (result != CUDA_SUCCESS)
        fprintf(stderr, "driver: %s: %d\n", what, (int)result);
    return result != CUDA_SUCCESS;
}

int main(void)
{
    CUdevice device;
    CUcontext context, found;
    CUdeviceptr memory;
    char host[256] = {0};
    if (failed(cuInit(0), "cuInit") || failed(cuDeviceGet(&device, 0), "cuDeviceGet") ||
        failed(cuCtxCreate(&context, NULL, 0, device), "cuCtxCreate") ||
        failed(cuCtxGetCurrent(&found), "cuCtxGetCurrent") || found != context ||
        failed(cuMemAlloc(&memory, sizeof host), "cuMemAlloc"))
        return 1;
    for (int i = 0; i < 2; i++)
        if (failed(cuMemsetD8(memory, 7, sizeof host), "cuMemsetD8") ||
            failed(cuMemcpyHtoD(memory, host, sizeof host), "cuMemcpyHtoD"))
            return 1;
    if (failed(cuMemcpyDtoH(host, memory, sizeof host), "cuMemcpyDtoH") ||
        failed(cuMemFree(memory), "cuMemFree") || failed(cuCtxDestroy(context), "cuCtxDestroy"))
        return 1;
    return cuCtxGetCurrent(&found) != CUDA_SUCCESS || found != NULL;
}
