/* The defects of train_conv that burden the host: busy threads, small copies, allocations. */
#include "reference_workloads/conv/burdens.h"

#include "reference_workloads/common/check.h"
#include "reference_workloads/common/clock.h"
#include "reference_workloads/common/nvtx.h"

#include <cuda_runtime_api.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_BYTES = 256, BLOCK_BYTES = 8 << 20 };

void burdens_environment(const struct config *c)
{
    if (c->launch_blocking)
        setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
}

static void *keep_busy(void *arg)
{
    struct burdens *b = arg;
    while (!atomic_load_explicit(&b->stop, memory_order_relaxed))
        ;
    return NULL;
}

static void start_busy_threads(struct burdens *b, int for_each_core)
{
    enum { MOST = sizeof b->busy / sizeof *b->busy };
    cpu_set_t cores;
    CPU_ZERO(&cores);
    int usable = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
    int wanted = for_each_core * usable < MOST ? for_each_core * usable : MOST;
    for (; b->busy_count < wanted; b->busy_count++)
        if (pthread_create(&b->busy[b->busy_count], NULL, keep_busy, b) != 0)
            die(1, "busy-threads: no more than %d threads can be made", b->busy_count);
}

/* ---- weights that live on the host ---- */

/* The home of a group is as long as both its vectors. Down: to the device. */
static void move_weights(struct burdens *b, const struct model *m, enum cudaMemcpyKind kind)
{
    for (int i = 0; i < GROUP_COUNT; i++) {
        const struct group *g = &m->groups[i];
        float *vector[] = {g->master, g->momentum};
        for (int v = 0; v < 2; v++) {
            float *home = b->home[i] + (size_t)v * g->count;
            int down = kind == cudaMemcpyHostToDevice;
            cudaCheck(cudaMemcpyAsync(down ? vector[v] : home, down ? home : vector[v],
                                      g->count * sizeof(float), kind, m->stream));
        }
    }
}

static void leave_device(struct burdens *b, const struct model *m)
{
    for (int i = 0; i < GROUP_COUNT; i++)
        cudaCheck(cudaHostAlloc((void **)&b->home[i], 2 * m->groups[i].count * sizeof(float),
                                cudaHostAllocDefault));
    move_weights(b, m, cudaMemcpyDeviceToHost);
}

void burdens_put_back(struct burdens *b, const struct config *c, const struct model *m)
{
    if (!c->offload)
        return;
    nvtx_push("offload");
    move_weights(b, m, cudaMemcpyDeviceToHost);
    nvtx_pop();
}

/* ---- all of them ---- */

void burdens_open(struct burdens *b, const struct config *c, const struct model *m,
                  size_t slot_bytes)
{
    if (c->offload)
        leave_device(b, m);
    if (c->small_copies)
        cudaCheck(cudaMalloc(&b->on_device, SMALL_BYTES));
    if (c->check_nan) {
        cudaCheck(cudaMalloc((void **)&b->found_nan, sizeof *b->found_nan));
        cudaCheck(cudaMemset(b->found_nan, 0, sizeof *b->found_nan));
    }
    start_busy_threads(b, c->busy_threads);
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
    if (c->check_nan)
        cudaCheck(cudaFree(b->found_nan));
    atomic_store(&b->stop, 1);
    for (int i = 0; i < b->busy_count; i++)
        pthread_join(b->busy[i], NULL);
    for (int i = 0; c->offload && i < GROUP_COUNT; i++)
        cudaCheck(cudaFreeHost(b->home[i]));
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

void burdens_bear(struct burdens *b, const struct config *c, const struct model *m)
{
    if (c->host_work_us && ++b->steps % c->host_work_every == 0) {
        nvtx_push("metrics");
        clock_spin_us(c->host_work_us);
        nvtx_pop();
    }
    if (c->offload) {
        nvtx_push("fetch");
        move_weights(b, m, cudaMemcpyHostToDevice);
        nvtx_pop();
    }
    if (c->small_copies)
        copy_constants(b, c->small_copies);
    if (c->alloc_per_step)
        allocate(c->alloc_per_step);
}

/* As anomaly detection does: a kernel per tensor, and a host that waits for what it found. */
void burdens_check(struct burdens *b, const struct model *m)
{
    nvtx_push("check_nan");
    for (int i = 0; i < m->tensor_count; i++) {
        int found;
        kernel_check_nan(m->stream, m->groups[m->tensors[i].group].type, model_gradient(m, i),
                         b->found_nan, m->tensors[i].count);
        cudaCheck(
            cudaMemcpyAsync(&found, b->found_nan, sizeof found, cudaMemcpyDeviceToHost, m->stream));
        cudaCheck(cudaStreamSynchronize(m->stream));
        if (found)
            fprintf(stderr, "NaN in the gradient of tensor %d\n", i);
    }
    nvtx_pop();
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
