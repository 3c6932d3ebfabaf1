#include "reference_workloads/conv/burdens.h"

#include "reference_workloads/common/check.h"
#include "reference_workloads/common/nvtx.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_BYTES = 256, BLOCK_BYTES = 8 << 20 };

void burdens_environment(const struct config *c)
{
    if (c->launch_blocking)
        setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
}

void burdens_open(struct burdens *b, const struct config *c, size_t slot_bytes)
{
    if (c->small_copies)
        cudaCheck(cudaMalloc(&b->on_device, SMALL_BYTES));
    for (int i = 0; c->extra_copies && i < 2; i++) {
        if (c->pin_memory)
            cudaCheck(cudaHostAlloc(&b->again[i], slot_bytes, cudaHostAllocDefault));
        else
            b->again[i] = check_alloc(slot_bytes);
    }
}

void burdens_close(struct burdens *b, const struct config *c)
{
    if (c->small_copies)
        cudaCheck(cudaFree(b->on_device));
    for (int i = 0; c->extra_copies && i < 2; i++) {
        if (c->pin_memory)
            cudaCheck(cudaFreeHost(b->again[i]));
        else
            free(b->again[i]);
    }
}

/* Constants that are sent again in every step, one by one, as torch.tensor(x).cuda() does. */
static void copy_constants(struct burdens *b, int count)
{
    char constant[SMALL_BYTES] = {0};
    nvtx_push("constants");
    for (int i = 0; i < count; i++)
        cudaCheck(cudaMemcpy(b->on_device, constant, sizeof constant, cudaMemcpyHostToDevice));
    nvtx_pop();
}

static void allocate(int count)
{
    nvtx_push("buffers");
    for (int i = 0; i < count; i++) {
        void *p;
        cudaCheck(cudaMalloc(&p, BLOCK_BYTES));
        cudaCheck(cudaFree(p));
    }
    nvtx_pop();
}

void burdens_bear(struct burdens *b, const struct config *c)
{
    if (c->small_copies)
        copy_constants(b, c->small_copies);
    if (c->alloc_per_step)
        allocate(c->alloc_per_step);
}

struct loader_batch burdens_copy(struct burdens *b, const struct config *c,
                                 struct loader_batch batch, int which)
{
    if (!c->extra_copies)
        return batch;
    nvtx_push("host_copy");
    for (int i = 0; i < c->extra_copies; i++)
        memcpy(b->again[which], batch.pixels, batch.bytes);
    nvtx_pop();
    size_t labels = (size_t)((const char *)batch.labels - (const char *)batch.pixels);
    batch.pixels = b->again[which];
    batch.labels = (const int32_t *)(const void *)((const char *)b->again[which] + labels);
    return batch;
}
