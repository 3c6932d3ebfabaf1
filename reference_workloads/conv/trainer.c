/* See trainer.h. */
#include "reference_workloads/conv/trainer.h"

#include "reference_workloads/common/blocks.h"
#include "reference_workloads/common/clock.h"
#include "reference_workloads/common/nvtx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- data ---- */

/* Pinned or pageable, and touched: the first copy must not pay for page faults. */
static void *slot_new(const struct trainer *t)
{
    void *p;
    if (t->config.pin_memory)
        cudaCheck(cudaHostAlloc(&p, t->slot_bytes, cudaHostAllocDefault));
    else
        p = check_alloc(t->slot_bytes);
    memset(p, 0, t->slot_bytes);
    return p;
}

static void data_open(struct trainer *t, struct loader_config *l, int seed_shift)
{
    const struct config *c = &t->config;
    jpeg_set_make(&t->set, c->pictures, c->picture, c->classes, (unsigned)c->seed);
    *l = (struct loader_config){
        .set = &t->set,
        .batch = c->batch,
        .image = c->image,
        .float_pixels = c->float_input,
        .data = (enum loader_data)c->data,
        .workers = c->num_workers,
        .slots = c->prefetch + 2, /* two may still be in use by copies */
        .seed = (unsigned)(c->seed + seed_shift),
        .disk_mbps = c->disk_mbps,
    };
    t->slot_bytes = loader_slot_bytes(l);
    t->slot_count = l->slots;
    t->slots = check_alloc((size_t)t->slot_count * sizeof *t->slots);
    for (int i = 0; i < t->slot_count; i++)
        t->slots[i] = slot_new(t);
}

static void data_close(struct trainer *t)
{
    loader_close(t->loader);
    for (int i = 0; i < t->slot_count; i++) {
        if (t->config.pin_memory)
            cudaCheck(cudaFreeHost(t->slots[i]));
        else
            free(t->slots[i]);
    }
    free(t->slots);
    jpeg_set_free(&t->set);
}

/* Overlap needs memory that the GPU can read by itself: pageable memory is staged by the host. */
static int copies_overlap(const struct config *c)
{
    return c->non_blocking && c->pin_memory;
}

static void copy_batch(struct trainer *t, const struct loader_batch *batch, int which)
{
    void *to = t->model.staged[which];
    if (copies_overlap(&t->config)) {
        cudaCheck(cudaMemcpyAsync(to, batch->pixels, batch->bytes, cudaMemcpyHostToDevice,
                                  t->copy_stream));
        cudaCheck(cudaEventRecord(t->copied[which], t->copy_stream));
        cudaCheck(cudaStreamWaitEvent(t->model.stream, t->copied[which], 0));
    } else if (t->config.non_blocking) {
        cudaCheck(cudaMemcpyAsync(to, batch->pixels, batch->bytes, cudaMemcpyHostToDevice,
                                  t->model.stream));
    } else {
        cudaCheck(cudaMemcpy(to, batch->pixels, batch->bytes, cudaMemcpyHostToDevice));
    }
}

/* ---- one step ---- */

void trainer_compute(struct trainer *t, int which)
{
    if (t->config.zero_grad == ZERO_GRAD_MEMSET) {
        nvtx_push("zero_grad");
        model_zero_gradients(&t->model);
        nvtx_pop();
    }
    nvtx_push("forward");
    model_forward(&t->model, which, 0);
    nvtx_pop();
    nvtx_push("backward");
    model_backward(&t->model);
    nvtx_pop();
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
        t->compute(t, which);
        cudaCheck(cudaStreamEndCapture(t->model.stream, &graph));
        cudaCheck(cudaGraphInstantiate(&t->graph[which], graph, 0));
        cudaCheck(cudaGraphDestroy(graph));
    }
    cudaCheck(cudaGraphLaunch(t->graph[which], t->model.stream));
}

/* ---- the loss ---- */

enum { LOG_EVERY = 10 };

static void print_loss(struct trainer *t, int step)
{
    double sum = 0;
    if (t->silent) {
        clock_spin_us(t->config.log_work_us);
        return;
    }
    for (int i = 0; i < t->config.batch; i++)
        sum += (double)t->losses[i];
    if (t->is_virtual)
        printf("step %5d  loss not computed (virtual GPU)\n", step + 1);
    else
        printf("step %5d  loss %.4f\n", step + 1, sum / t->config.batch);
    clock_spin_us(t->config.log_work_us);
}

/* The slow way, as `loss.item()` does it: waits for the GPU, which then waits for the host. */
static void read_loss(struct trainer *t, int step)
{
    nvtx_push("sync");
    cudaCheck(cudaMemcpy(t->losses, t->model.losses, (size_t)t->config.batch * sizeof(float),
                         cudaMemcpyDeviceToHost));
    print_loss(t, step);
    nvtx_pop();
}

/* The other way: the copy is queued behind the step, and looked at when the step has long ended. */
static void queue_loss(struct trainer *t, int step)
{
    cudaCheck(cudaMemcpyAsync(t->losses, t->model.losses, (size_t)t->config.batch * sizeof(float),
                              cudaMemcpyDeviceToHost, t->model.stream));
    t->queued_loss = step;
}

static void print_queued_loss(struct trainer *t)
{
    print_loss(t, t->queued_loss);
    t->queued_loss = -1;
}

static void evaluate(struct trainer *t, int which)
{
    nvtx_push("evaluate");
    model_evaluate(&t->model, which);
    nvtx_pop();
}

/* Of the last evaluation, when all is done. */
static void print_evaluation(struct trainer *t)
{
    double sum = 0;
    int n = t->model.n; /* the first part of the batch */
    cudaCheck(cudaMemcpy(t->losses, t->model.eval_losses, (size_t)n * sizeof(float),
                         cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        sum += (double)t->losses[i];
    if (t->is_virtual)
        printf("evaluation  loss not computed (virtual GPU)\n");
    else
        printf("evaluation  loss %.4f\n", sum / n);
}

void trainer_step(struct trainer *t, int step)
{
    int which = step % 2;
    if (!t->is_part)
        nvtx_push("step");
    nvtx_push("data.wait");
    struct loader_batch batch = loader_next(t->loader);
    nvtx_pop();

    nvtx_push("copy");
    if (step >= 2) { /* two steps ago this device buffer and its slot were in use */
        cudaCheck(cudaEventSynchronize(t->done[which]));
        loader_release(t->loader);
        if (t->queued_loss == step - 2)
            print_queued_loss(t);
    }
    batch = burdens_copy(&t->burdens, &t->config, batch, which);
    copy_batch(t, &batch, which);
    nvtx_pop();

    burdens_bear(&t->burdens, &t->config, &t->model);
    if (t->config.retune_every && step > 0 && step % t->config.retune_every == 0)
        model_choose_algorithms(&t->model);
    if (t->config.cuda_graph && step > 0) /* the first step warms the libraries up */
        compute_graph(t, which);
    else
        t->compute(t, which);
    burdens_put_back(&t->burdens, &t->config, &t->model);
    if (t->config.check_nan)
        burdens_check(&t->burdens, &t->model);
    int sync_every = t->config.sync_every;
    if (sync_every == 0 && (step + 1) % LOG_EVERY == 0)
        queue_loss(t, step);
    if (t->config.eval_every > 0 && (step + 1) % t->config.eval_every == 0)
        evaluate(t, which);
    cudaCheck(cudaEventRecord(t->done[which], t->model.stream));
    if (t->config.wait_every > 0 && (step + 1) % t->config.wait_every == 0)
        cudaCheck(cudaDeviceSynchronize());
    if (sync_every > 0 && (step + 1) % sync_every == 0)
        read_loss(t, step);
    if (!t->is_part)
        nvtx_pop();
}

/* ---- the program ---- */

void trainer_open(struct trainer *t, int seed_shift)
{
    struct config *c = &t->config;
    struct cudaDeviceProp device;
    struct loader_config l;
    if (!t->compute)
        t->compute = trainer_compute;
    burdens_environment(c);
    cudaCheck(cudaSetDevice(t->device));
    cudaCheck(cudaGetDeviceProperties(&device, t->device));
    t->is_virtual = strncmp(device.name, "Virtual ", 8) == 0;
    c->precision = precision_on(c->precision, device.major);
    if (!t->silent) {
        printf("%s\n", device.name);
        config_print(c);
    }

    data_open(t, &l, seed_shift);
    size_t labels_offset = t->slot_bytes - (size_t)c->batch * sizeof(int32_t);
    model_open(&t->model, c, t->slot_bytes, labels_offset);
    burdens_open(&t->burdens, c, &t->model, t->slot_bytes);
    cudaCheck(
        cudaHostAlloc((void **)&t->losses, (size_t)c->batch * sizeof(float), cudaHostAllocDefault));
    t->queued_loss = -1;
    cudaCheck(cudaStreamCreateWithFlags(&t->copy_stream, cudaStreamNonBlocking));
    for (int i = 0; i < 2; i++) {
        cudaCheck(cudaEventCreateWithFlags(&t->copied[i], cudaEventDisableTiming));
        cudaCheck(cudaEventCreateWithFlags(&t->done[i], cudaEventDisableTiming));
    }
    cudaCheck(cudaDeviceSynchronize());
    if (!t->silent)
        printf("%zu parameters in %d tensors, %.0f MB on the device\n", t->model.parameters,
               t->model.tensor_count, (double)t->model.arena_bytes / 1e6);
    t->loader = loader_open(&l, t->slots);
}

void trainer_close(struct trainer *t)
{
    data_close(t);
    for (int i = 0; i < 2; i++) {
        cudaCheck(cudaEventDestroy(t->copied[i]));
        cudaCheck(cudaEventDestroy(t->done[i]));
        if (t->graph[i])
            cudaCheck(cudaGraphExecDestroy(t->graph[i]));
    }
    cudaCheck(cudaStreamDestroy(t->copy_stream));
    burdens_close(&t->burdens, &t->config);
    model_close(&t->model);
    cudaCheck(cudaFreeHost(t->losses));
}

void trainer_run(struct trainer *t, int64_t *step_ns)
{
    for (int step = 0; step < t->config.steps; step++) {
        blocks_step(t->config.profile_every, step);
        int64_t start_ns = clock_now_ns();
        trainer_step(t, step);
        step_ns[step] = clock_now_ns() - start_ns;
    }
    cudaCheck(cudaDeviceSynchronize());
    if (t->queued_loss >= 0)
        print_queued_loss(t);
    if (!t->silent && t->config.eval_every > 0 && t->config.steps >= t->config.eval_every)
        print_evaluation(t);
}

double trainer_median_ms(const struct trainer *t, int64_t *step_ns)
{
    int steps = t->config.steps, warmup = t->config.warmup < steps ? t->config.warmup : 0;
    return (double)median_ns(step_ns + warmup, (size_t)(steps - warmup)) / 1e6;
}
