/* train_gpt: trains a small GPT on generated text, in plain C over cuBLASLt.
 *
 * It is there to be profiled, as train_conv is: the defaults are the tuned ones, and `--defect
 * NAME` turns one bad habit on. One step is
 *
 *   data      the next batch, made by this thread
 *   copy      its tokens, on a stream of their own, to one of two device buffers
 *   forward, backward, clip, optimizer
 *   sync      on request: waits for the loss; else it is read two steps late
 *
 * and the host stays at most two steps ahead of the GPU. It ends with `pace_step_ms=...` and
 * `median_step_ms=...`. */
#include "reference_workloads/common/blocks.h"
#include "reference_workloads/common/clock.h"
#include "reference_workloads/common/nvtx.h"
#include "reference_workloads/gpt/data.h"
#include "reference_workloads/gpt/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_EVERY = 10 };

struct trainer {
    struct config config;
    struct model model;
    struct data data;
    int32_t *batch[2], *scratch; /* batches pinned */
    cudaStream_t copy_stream;
    cudaEvent_t copied[2], done[2];
    cudaGraphExec_t graph[2];
    float *losses; /* (N) on the host, pinned */
    int queued_loss, is_virtual;
};

static void compute(struct trainer *t, int which)
{
    nvtx_push("forward");
    model_forward(&t->model, which);
    nvtx_pop();
    nvtx_push("backward");
    model_backward(&t->model, which);
    nvtx_pop();
    model_clip(&t->model);
    nvtx_push("optimizer");
    model_update(&t->model);
    nvtx_pop();
}

/* The same work recorded once per device buffer and launched as a whole. */
static void compute_graph(struct trainer *t, int which)
{
    if (!t->graph[which]) {
        cudaGraph_t graph;
        cudaCheck(cudaStreamBeginCapture(t->model.stream, cudaStreamCaptureModeThreadLocal));
        compute(t, which);
        cudaCheck(cudaStreamEndCapture(t->model.stream, &graph));
        cudaCheck(cudaGraphInstantiate(&t->graph[which], graph, 0));
        cudaCheck(cudaGraphDestroy(graph));
    }
    cudaCheck(cudaGraphLaunch(t->graph[which], t->model.stream));
}

/* ---- the loss ---- */

static size_t loss_bytes(const struct trainer *t)
{
    return (size_t)t->model.tokens * sizeof(float);
}

static void print_loss(struct trainer *t, int step)
{
    double sum = 0;
    for (int i = 0; i < t->model.tokens; i++)
        sum += (double)t->losses[i];
    if (t->is_virtual)
        printf("step %5d  loss not computed (virtual GPU)\n", step + 1);
    else
        printf("step %5d  loss %.4f\n", step + 1, sum / t->model.tokens);
    clock_spin_us(t->config.log_work_us);
}

/* The slow way, as `loss.item()` does it: waits for the GPU, which then waits for the host. */
static void read_loss(struct trainer *t, int step)
{
    nvtx_push("sync");
    cudaCheck(cudaMemcpy(t->losses, t->model.losses, loss_bytes(t), cudaMemcpyDeviceToHost));
    print_loss(t, step);
    nvtx_pop();
}

/* The other way: the copy is queued behind the step, and looked at when the step has long ended. */
static void queue_loss(struct trainer *t, int step)
{
    cudaCheck(cudaMemcpyAsync(t->losses, t->model.losses, loss_bytes(t), cudaMemcpyDeviceToHost,
                              t->model.stream));
    t->queued_loss = step;
}

static void print_queued_loss(struct trainer *t)
{
    print_loss(t, t->queued_loss);
    t->queued_loss = -1;
}

/* ---- one step ---- */

static void copy_batch(struct trainer *t, int which)
{
    size_t bytes = data_bytes(t->model.tokens);
    cudaCheck(cudaMemcpyAsync(t->model.staged[which], t->batch[which], bytes,
                              cudaMemcpyHostToDevice, t->copy_stream));
    cudaCheck(cudaEventRecord(t->copied[which], t->copy_stream));
    cudaCheck(cudaStreamWaitEvent(t->model.stream, t->copied[which], 0));
}

static void step_once(struct trainer *t, int step)
{
    int which = step % 2, sync_every = t->config.sync_every;
    nvtx_push("step");
    if (step >= 2) { /* two steps ago this batch and its device buffer were in use */
        cudaCheck(cudaEventSynchronize(t->done[which]));
        if (t->queued_loss == step - 2)
            print_queued_loss(t);
    }
    nvtx_push("data");
    data_batch(&t->data, t->batch[which], t->scratch);
    nvtx_pop();
    nvtx_push("copy");
    copy_batch(t, which);
    nvtx_pop();
    if (t->config.cuda_graph && step > 0) /* the first step chooses algorithms */
        compute_graph(t, which);
    else
        compute(t, which);
    if (sync_every == 0 && (step + 1) % LOG_EVERY == 0)
        queue_loss(t, step);
    cudaCheck(cudaEventRecord(t->done[which], t->model.stream));
    if (sync_every > 0 && (step + 1) % sync_every == 0)
        read_loss(t, step);
    nvtx_pop();
}

/* ---- the program ---- */

static void trainer_open(struct trainer *t)
{
    struct config *c = &t->config;
    struct cudaDeviceProp device;
    int rows = c->batch * c->context;
    cudaCheck(cudaGetDeviceProperties(&device, 0));
    t->is_virtual = strncmp(device.name, "Virtual ", 8) == 0;
    c->precision = precision_on(c->precision, device.major);
    printf("%s\n", device.name);
    config_print(c);
    t->data = data_open(c->vocab, rows, c->context, c->seed);
    t->scratch = check_alloc((size_t)c->vocab * sizeof *t->scratch);
    model_open(&t->model, c, data_bytes(rows));
    cudaCheck(cudaHostAlloc((void **)&t->losses, loss_bytes(t), cudaHostAllocDefault));
    t->queued_loss = -1;
    cudaCheck(cudaStreamCreateWithFlags(&t->copy_stream, cudaStreamNonBlocking));
    for (int i = 0; i < 2; i++) {
        cudaCheck(cudaHostAlloc((void **)&t->batch[i], data_bytes(rows), cudaHostAllocDefault));
        cudaCheck(cudaEventCreateWithFlags(&t->copied[i], cudaEventDisableTiming));
        cudaCheck(cudaEventCreateWithFlags(&t->done[i], cudaEventDisableTiming));
    }
    cudaCheck(cudaDeviceSynchronize());
    printf("%zu parameters in %d tensors, %.0f MB on the device\n", t->model.parameters,
           t->model.tensor_count, (double)t->model.arena_bytes / 1e6);
}

static void trainer_close(struct trainer *t)
{
    for (int i = 0; i < 2; i++) {
        cudaCheck(cudaEventDestroy(t->copied[i]));
        cudaCheck(cudaEventDestroy(t->done[i]));
        cudaCheck(cudaFreeHost(t->batch[i]));
        if (t->graph[i])
            cudaCheck(cudaGraphExecDestroy(t->graph[i]));
    }
    cudaCheck(cudaStreamDestroy(t->copy_stream));
    model_close(&t->model);
    cudaCheck(cudaFreeHost(t->losses));
    free(t->scratch);
}

int main(int argc, char **argv)
{
    static struct trainer t;
    setvbuf(stdout, NULL, _IOLBF, 0);
    config_read(&t.config, argc, argv);
    nvtx_enable(!t.config.no_nvtx);
    trainer_open(&t);
    int steps = t.config.steps, warmup = t.config.warmup < steps ? t.config.warmup : 0;
    int64_t *step_ns = check_alloc((size_t)steps * sizeof *step_ns);
    for (int step = 0; step < steps; step++) {
        blocks_step(t.config.profile_every, step);
        int64_t start_ns = clock_now_ns();
        step_once(&t, step);
        step_ns[step] = clock_now_ns() - start_ns;
    }
    cudaCheck(cudaDeviceSynchronize());
    if (t.queued_loss >= 0)
        print_queued_loss(&t);
    trainer_close(&t);
    size_t counted = (size_t)(steps - warmup);
    blocks_print(t.config.profile_every, step_ns, steps, warmup);
    printf("pace_step_ms=%.3f\n", (double)pace_ns(step_ns + warmup, counted) / 1e6);
    printf("median_step_ms=%.3f\n", (double)median_ns(step_ns + warmup, counted) / 1e6);
    free(step_ns);
    return 0;
}
