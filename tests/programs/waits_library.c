/* A library of the user that waits for the GPU, for waits_cpp.cu. */
#include <cuda_runtime.h>

void library_wait(void);

void library_wait(void)
{
    cudaDeviceSynchronize(); /* wait: library */
    __asm__ volatile("");
}
