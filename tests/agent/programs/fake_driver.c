/* Says which driver is here, as libcuda and libcudart do: $FAKE_DRIVER. */
#include <stdlib.h>

int cuDriverGetVersion(int *version);
int cudaDriverGetVersion(int *version);

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
