/* A CUDA program that brings its libraries along, as PyTorch's wheels do: its RPATH, which takes
 * precedence over LD_LIBRARY_PATH, leads to its own runtime. Prints how many devices it sees. */
#include <stdio.h>

#ifdef OWN_RUNTIME
int cudaGetDeviceCount(int *count);
int cudaGetDeviceCount(int *count)
{
    *count = 0;
    return 35; /* cudaErrorInsufficientDriver */
}
#else
int cudaGetDeviceCount(int *count);
int main(void)
{
    int n = -1, status = cudaGetDeviceCount(&n);
    printf("status %d, %d devices\n", status, n);
    return 0;
}
#endif
