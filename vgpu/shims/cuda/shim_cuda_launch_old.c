/* Launches in the form from before CUDA 4: separate calls set the block size and the arguments of a
 * function, and a launch gives the grid. */
#include "shims/cuda/shim_cuda.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 4096 };

struct kept {
    CUfunction f;
    unsigned block[3], smem;
    size_t bytes;
    char arguments[BLOCK_BYTES];
    struct kept *next;
};
static struct kept *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What was set for this function. NULL: not a function, or out of memory. */
static struct kept *kept_of(CUfunction f)
{
    if (!vg_function_of(f))
        return NULL;
    pthread_mutex_lock(&lock);
    struct kept *k = all;
    while (k && k->f != f)
        k = k->next;
    if (!k && (k = calloc(1, sizeof *k))) {
        k->f = f;
        k->block[0] = k->block[1] = k->block[2] = 1;
        k->next = all;
        all = k;
    }
    pthread_mutex_unlock(&lock);
    return k;
}

CUresult cuFuncSetBlockShape(CUfunction f, int x, int y, int z)
{
    struct kept *k = kept_of(f);
    if (!k || x < 1 || y < 1 || z < 1)
        return k ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    k->block[0] = (unsigned)x;
    k->block[1] = (unsigned)y;
    k->block[2] = (unsigned)z;
    return CUDA_SUCCESS;
}

CUresult cuFuncSetSharedSize(CUfunction f, unsigned bytes)
{
    struct kept *k = kept_of(f);
    if (k)
        k->smem = bytes;
    return k ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuParamSetSize(CUfunction f, unsigned bytes)
{
    struct kept *k = kept_of(f);
    if (!k || bytes > BLOCK_BYTES)
        return k ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    k->bytes = bytes;
    return CUDA_SUCCESS;
}

static CUresult set_value(CUfunction f, int offset, const void *value, unsigned bytes)
{
    struct kept *k = kept_of(f);
    if (!k || !value || offset < 0 || bytes > BLOCK_BYTES || (unsigned)offset > BLOCK_BYTES - bytes)
        return k ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    memcpy(k->arguments + offset, value, bytes);
    return CUDA_SUCCESS;
}

CUresult cuParamSetv(CUfunction f, int offset, void *value, unsigned bytes)
{
    return set_value(f, offset, value, bytes);
}

CUresult cuParamSeti(CUfunction f, int offset, unsigned value)
{
    return set_value(f, offset, &value, sizeof value);
}

CUresult cuParamSetf(CUfunction f, int offset, float value)
{
    return set_value(f, offset, &value, sizeof value);
}

static CUresult launch_grid(CUfunction f, int width, int height, CUstream stream)
{
    struct kept *k = kept_of(f);
    if (!k || width < 1 || height < 1)
        return k ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    void *block[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, k->arguments, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &k->bytes, CU_LAUNCH_PARAM_END};
    return cuLaunchKernel(f, (unsigned)width, (unsigned)height, 1, k->block[0], k->block[1],
                          k->block[2], k->smem, stream, NULL, block);
}

CUresult cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream)
{
    return launch_grid(f, width, height, stream);
}

CUresult cuLaunchGrid(CUfunction f, int width, int height)
{
    return launch_grid(f, width, height, NULL);
}

CUresult cuLaunch(CUfunction f)
{
    return launch_grid(f, 1, 1, NULL);
}
