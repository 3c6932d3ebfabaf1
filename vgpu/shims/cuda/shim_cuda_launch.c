/* The driver's launches, and the occupancy calls: how many blocks of a kernel fit on a
 * multiprocessor. */
#include "core/core_attributes.h"
#include "shims/cuda/shim_cuda.h"

#include <string.h>

void launch_block(struct vg_shape *shape, void *const *extra)
{
    for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2)
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            shape->packed = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
            shape->packed_bytes = *(const size_t *)extra[1];
}

static int launch(struct vg_stream *s, CUfunction f, const struct vg_shape *shape)
{
    struct vg_kernel k;
    const struct vg_profile *p = vg_profile(s->device);
    int bad = vg_function_kernel(vg_function_of(f), p, shape, &k);
    return bad ? bad : vg_launch(s, &k, p->launch_host_ns);
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned smem, CUstream stream, void **params,
                        void **extra)
{
    OPEN_ON(api, cuLaunchKernel, stream, s);
    struct vg_shape shape = {
        .grid = {gx, gy, gz}, .block = {bx, by, bz}, .smem = smem, .args = params};
    launch_block(&shape, extra);
    CLOSE(api, launch(s, f, &shape));
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                   unsigned by, unsigned bz, unsigned smem, CUstream stream,
                                   void **params)
{
    OPEN_ON(api, cuLaunchCooperativeKernel, stream, s);
    struct vg_shape shape = {
        .grid = {gx, gy, gz}, .block = {bx, by, bz}, .smem = smem, .args = params};
    CLOSE(api, launch(s, f, &shape));
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    OPEN_ON(api, cuLaunchKernelEx, c->hStream, s);
    struct vg_shape shape = {.grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
                             .block = {c->blockDimX, c->blockDimY, c->blockDimZ},
                             .smem = c->sharedMemBytes,
                             .args = params};
    launch_block(&shape, extra);
    CLOSE(api, launch(s, f, &shape));
}

static int blocks_per_sm(const struct vg_function *f, int block, size_t smem, int *out)
{
    if (!f || block <= 0)
        return f ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    size_t shared = smem + f->smem_static;
    int by_threads = vg_threads_per_sm(here()) / ((block + 31) / 32 * 32);
    int by_shared = shared ? (int)(vg_shared_per_sm(here()) / (shared + 1024)) : 32;
    int by_registers = (int)(65536 / (f->registers * (unsigned)((block + 31) / 32 * 32)));
    *out = by_threads < by_shared ? by_threads : by_shared;
    *out = by_registers < *out ? by_registers : *out;
    *out = *out > 32 ? 32 : *out;
    return CUDA_SUCCESS;
}

ROW(cuOccupancyMaxActiveBlocksPerMultiprocessor, ,
    (int *blocks, CUfunction f, int block, size_t smem),
    blocks_per_sm(vg_function_of(f), block, smem, blocks))
ROW(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, ,
    (int *blocks, CUfunction f, int block, size_t smem, unsigned flags UNUSED),
    blocks_per_sm(vg_function_of(f), block, smem, blocks))

/* Sets *block to the block size that puts the most threads on a multiprocessor, the largest if
 * there are several. */
static int best_block(int *min_grid, int *block, const struct vg_function *f,
                      CUoccupancyB2DSize smem_of, size_t smem, int limit)
{
    int best = 0, most = f ? (int)f->max_threads : 0;
    if (!f || !min_grid || !block)
        return f ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    if (limit > 0 && limit < most)
        most = limit;
    *min_grid = *block = 0;
    for (int size = most; size > 0; size = (size - 1) / 32 * 32) {
        int blocks = 0;
        blocks_per_sm(f, size, smem_of ? smem_of(size) : smem, &blocks);
        if (blocks * size > best) {
            best = blocks * size;
            *block = size;
            *min_grid = blocks * here()->sm_count;
        }
    }
    return best ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
}

ROW(cuOccupancyMaxPotentialBlockSize, ,
    (int *min_grid, int *block, CUfunction f, CUoccupancyB2DSize smem_of, size_t smem, int limit),
    best_block(min_grid, block, vg_function_of(f), smem_of, smem, limit))
ROW(cuOccupancyMaxPotentialBlockSizeWithFlags, ,
    (int *min_grid, int *block, CUfunction f, CUoccupancyB2DSize smem_of, size_t smem, int limit,
     unsigned flags UNUSED),
    best_block(min_grid, block, vg_function_of(f), smem_of, smem, limit))

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *out, CUfunction f, int blocks, int size)
{
    (void)size;
    OPEN(api, cuOccupancyAvailableDynamicSMemPerBlock);
    const struct vg_function *known = vg_function_of(f);
    if (!known || !out || blocks <= 0)
        CLOSE(api, known ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
    size_t each = (size_t)vg_shared_per_sm(here()) / (size_t)blocks;
    /* Bytes of shared memory that the system takes for each block. */
    size_t taken = known->smem_static + 1024;
    *out = each > taken ? each - taken : 0;
    CLOSE(api, CUDA_SUCCESS);
}

CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction f, const CUlaunchConfig *c)
{
    OPEN(api, cuOccupancyMaxActiveClusters);
    int each = 0;
    int block = (int)(c->blockDimX * c->blockDimY * c->blockDimZ);
    int bad = blocks_per_sm(vg_function_of(f), block, c->sharedMemBytes, &each);
    unsigned size = 1;
    for (unsigned i = 0; i < c->numAttrs; i++)
        if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            size = c->attrs[i].value.clusterDim.x * c->attrs[i].value.clusterDim.y *
                   c->attrs[i].value.clusterDim.z;
    *clusters = bad || !size ? 0 : each * here()->sm_count / (int)size;
    CLOSE(api, bad);
}
