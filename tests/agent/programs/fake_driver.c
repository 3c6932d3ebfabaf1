/* A stand-in for libcuda and libcudart without a GPU. It reports the driver version in
 * $FAKE_DRIVER. */
#include <stdlib.h>

int cuDriverGetVersion(int *version);
int cudaDriverGetVersion(int *version);
int cuInit(unsigned flags);
int cuDeviceGetCount(int *count);
int cuDeviceGetName(char *name, int size, int device);

int cuDriverGetVersion(int *version)
{
    const char *v = getenv("FAKE_DRIVER");
    *version = v ? atoi(v) : 13000;
    return 0;
}

int cudaDriverGetVersion(int *version)
{
    return cuDriverGetVersion(version);
}

int cuInit(unsigned flags)
{
    (void)flags;
    return 0;
}

int cuDeviceGetCount(int *count)
{
    *count = 0;
    return 0;
}

int cuDeviceGetName(char *name, int size, int device)
{
    (void)name, (void)size, (void)device;
    return 1;
}
