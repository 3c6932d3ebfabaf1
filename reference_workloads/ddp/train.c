/* train_ddp: data-parallel training of train_conv's ResNet over NCCL.
 *
 * Each rank is a process with a GPU of its own, the same weights and other pictures. Gradients are
 * averaged bucket by bucket while backward runs (reducer.h), then every rank makes the same update.
 * `--mode dp` is the other way, which is there to be found: one process drives all GPUs, hands out
 * the weights and gathers the gradients in each step. Ends with `median_step_ms=...` of rank 0. */
#include "reference_workloads/common/clock.h"
#include "reference_workloads/common/nvtx.h"
#include "reference_workloads/conv/trainer.h"
#include "reference_workloads/ddp/nccl_check.h"
#include "reference_workloads/ddp/ranks.h"
#include "reference_workloads/ddp/reducer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 16 };

static struct ddp_config config;

/* ---- a process for each device ---- */

static struct replica {
    struct ranks ranks;
    struct trainer trainer;
    struct reducer reducer;
    ncclComm_t comm;
    float *buffers; /* the running statistics of all units, one behind the other */
} self;

void nccl_check(ncclResult_t rc, const char *call, const char *file, int line)
{
    if (rc == ncclSuccess)
        return;
    const char *slash = strrchr(file, '/');
    die(1, "rank %d: %s: %s\n    in %s (%s:%d)\n---> HINT: NCCL_DEBUG=INFO says more",
        self.ranks.rank, ncclGetErrorString(rc), ncclGetLastError(self.comm), call,
        slash ? slash + 1 : file, line);
}

/* It reads how far its GPU is and works on that, as a rank that logs does: work beside which the
 * GPU went on would be hidden wherever the GPU takes longer. */
static void work_of_slow_rank(struct model *m)
{
    if (config.slow != SLOW_HOST || self.ranks.rank != config.slow_rank)
        return;
    nvtx_push("extra host work");
    cudaCheck(cudaStreamSynchronize(m->stream));
    usleep((useconds_t)config.slow_us); /* asleep: other ranks share the cores */
    nvtx_pop();
}

/* One way between the running statistics and the flat copy of them that travels: a small copy for
 * each, as DistributedDataParallel makes them. Returns how many numbers there are. */
static size_t copy_buffers(struct replica *r, int pack)
{
    struct model *m = &r->trainer.model;
    size_t at = 0;
    for (int i = 0; i < m->unit_count; i++) {
        float *own[] = {m->units[i].running_mean, m->units[i].running_variance};
        for (int k = 0; k < 2; k++, at += (size_t)m->units[i].k)
            if (r->buffers)
                cudaCheck(cudaMemcpyAsync(
                    pack ? r->buffers + at : own[k], pack ? own[k] : r->buffers + at,
                    (size_t)m->units[i].k * sizeof(float), cudaMemcpyDeviceToDevice, m->stream));
    }
    return at;
}

static void broadcast_buffers(struct replica *r)
{
    if (!config.broadcast_buffers)
        return;
    nvtx_push("broadcast buffers");
    if (!r->buffers)
        cudaCheck(cudaMalloc((void **)&r->buffers, copy_buffers(r, 0) * sizeof(float)));
    size_t count = copy_buffers(r, 1);
    ncclCheck(ncclBroadcast(r->buffers, r->buffers, count, ncclFloat32, 0, r->comm,
                            r->trainer.model.stream));
    copy_buffers(r, 0);
    nvtx_pop();
}

/* Ranks that died would be waited for as long as the GPU lives. */
static void check_comm(void)
{
    ncclResult_t state;
    ncclCheck(ncclCommGetAsyncError(self.comm, &state));
    ncclCheck(state);
}

static void compute(struct trainer *t, int which)
{
    struct replica *r = t->arg;
    struct model *m = &t->model;
    int parts = t->config.accumulation;
    check_comm();
    work_of_slow_rank(m);
    broadcast_buffers(r);
    if (t->config.zero_grad == ZERO_GRAD_MEMSET) {
        nvtx_push("zero_grad");
        model_zero_gradients(m);
        nvtx_pop();
    }
    for (int part = 0; part < parts; part++) {
        m->accumulate = part > 0;
        nvtx_push("forward");
        model_forward(m, which, part);
        nvtx_pop();
        nvtx_push("backward");
        reducer_begin(&r->reducer, part == parts - 1 || !config.no_sync);
        model_backward(m);
        reducer_finish(&r->reducer);
        nvtx_pop();
    }
    nvtx_push("optimizer");
    model_update(m);
    nvtx_pop();
}

/* The sum over the parts of a batch stands where their mean belongs. */
static void scale_learning(struct config *c)
{
    c->learning_rate /= (float)c->accumulation;
    c->weight_decay *= (float)c->accumulation;
}

static void use_device(int device)
{
    int count = 0;
    cudaCheck(cudaGetDeviceCount(&count));
    if (device >= count)
        die(1, "rank %d needs GPU %d, but there %s %d", self.ranks.rank, device,
            count == 1 ? "is only" : "are only", count);
    cudaCheck(cudaSetDevice(device));
}

/* One of several GPUs hidden by the launcher: then each rank sees its own as number 0. */
static int own_device(const struct ranks *r)
{
    int count = 0;
    cudaCheck(cudaGetDeviceCount(&count));
    return count == 1 && getenv("CUDA_VISIBLE_DEVICES") ? 0 : r->local;
}

/* Every rank begins with rank 0's weights, as DistributedDataParallel makes sure; and together. */
static void share_weights(struct replica *r)
{
    for (int i = 0; i < GROUP_COUNT; i++) {
        struct group *g = &r->trainer.model.groups[i];
        ncclCheck(ncclBroadcast(g->master, g->master, g->count, ncclFloat32, 0, r->comm,
                                r->trainer.model.stream));
        if (g->working)
            ncclCheck(ncclBroadcast(g->working, g->working, g->count, nccl_type(g->type), 0,
                                    r->comm, r->trainer.model.stream));
    }
    cudaCheck(cudaDeviceSynchronize());
}

static void replica_open(struct replica *r)
{
    ncclUniqueId id;
    struct config *c = &r->trainer.config;
    *c = config.conv;
    scale_learning(c);
    if (r->ranks.rank == config.slow_rank && config.slow == SLOW_BATCH)
        c->batch += c->batch / 2;
    if (r->ranks.rank == config.slow_rank && config.slow == SLOW_LOADER) {
        c->num_workers = 0;
        c->data = LOADER_JPEG;
    }
    r->trainer.device = own_device(&r->ranks);
    r->trainer.silent = r->ranks.rank != 0;
    r->trainer.compute = compute;
    r->trainer.arg = r;
    use_device(r->trainer.device);
    memset(&id, 0, sizeof id);
    if (r->ranks.rank == 0)
        ncclCheck(ncclGetUniqueId(&id));
    ranks_share(&r->ranks, &id, sizeof id);
    ncclCheck(ncclCommInitRank(&r->comm, r->ranks.world, id, r->ranks.rank));
    trainer_open(&r->trainer, r->ranks.rank);
    reducer_open(&r->reducer, &r->trainer.model, &config, r->comm);
    share_weights(r);
    if (r->ranks.rank == 0) {
        printf("%d ranks, %d buckets of gradients\n", r->ranks.world, r->reducer.bucket_count);
        config.conv.precision = r->trainer.config.precision;
        ddp_config_print(&config);
    }
}

static void print_pace(const int64_t *step_ns)
{
    int steps = config.conv.steps, warmup = config.conv.warmup < steps ? config.conv.warmup : 0;
    printf("pace_step_ms=%.3f\n",
           (double)pace_ns(step_ns + warmup, (size_t)(steps - warmup)) / 1e6);
}

static double train_ranks(char **argv, int *talks)
{
    struct replica *r = &self;
    ranks_start(&r->ranks, config.ranks, argv);
    replica_open(r);
    int64_t *step_ns = check_alloc((size_t)config.conv.steps * sizeof *step_ns);
    trainer_run(&r->trainer, step_ns);
    check_comm();
    reducer_close(&r->reducer);
    cudaCheck(cudaFree(r->buffers));
    trainer_close(&r->trainer);
    ncclCheck(ncclCommDestroy(r->comm));
    *talks = r->ranks.rank == 0;
    if (*talks)
        print_pace(step_ns);
    double median_ms = trainer_median_ms(&r->trainer, step_ns);
    free(step_ns);
    return median_ms;
}

/* ---- one process for all devices ---- */

static struct trainer *part[MOST];
static ncclComm_t comms[MOST];

static void half_step(struct trainer *t, int which)
{
    nvtx_push("forward");
    model_forward(&t->model, which, 0);
    nvtx_pop();
    nvtx_push("backward");
    model_backward(&t->model);
    nvtx_pop();
}

/* The first device's weights to all; with `gather` all gradients to the first. */
static void exchange(int gather)
{
    for (int g = 0; g < GROUP_COUNT; g++) {
        ncclCheck(ncclGroupStart());
        for (int i = 0; i < config.ranks; i++) {
            struct group *a = &part[i]->model.groups[g];
            void *weights = a->working ? a->working : a->master;
            cudaStream_t s = part[i]->model.stream;
            if (gather)
                ncclCheck(ncclReduce(a->gradient, a->gradient, a->count, nccl_type(a->type),
                                     ncclAvg, 0, comms[i], s));
            else
                ncclCheck(
                    ncclBroadcast(weights, weights, a->count, nccl_type(a->type), 0, comms[i], s));
        }
        ncclCheck(ncclGroupEnd());
    }
}

static void dp_step(int step)
{
    nvtx_push("step");
    nvtx_push("replicate");
    exchange(0);
    nvtx_pop();
    for (int i = 0; i < config.ranks; i++) {
        cudaCheck(cudaSetDevice(part[i]->device));
        trainer_step(part[i], step);
    }
    nvtx_push("gather");
    exchange(1);
    nvtx_pop();
    cudaCheck(cudaSetDevice(part[0]->device));
    nvtx_push("optimizer");
    model_update(&part[0]->model);
    nvtx_pop();
    nvtx_pop();
}

static double train_all_devices(void)
{
    char count[16];
    int steps = config.conv.steps, devices = 0;
    snprintf(count, sizeof count, "%d", config.ranks);
    setenv("LOCAL_WORLD_SIZE", count, 0); /* as many virtual GPUs, where GPUs are virtual */
    cudaCheck(cudaGetDeviceCount(&devices));
    if (devices < config.ranks)
        die(1, "--ranks %d needs as many GPUs, but there %s %d", config.ranks,
            devices == 1 ? "is" : "are", devices);
    for (int i = 0; i < config.ranks; i++) {
        part[i] = check_alloc(sizeof *part[i]);
        part[i]->config = config.conv;
        part[i]->device = i;
        part[i]->compute = half_step;
        part[i]->silent = i != 0;
        part[i]->is_part = 1;
        trainer_open(part[i], i);
    }
    ncclCheck(ncclCommInitAll(comms, config.ranks, NULL));
    config.conv.precision = part[0]->config.precision;
    ddp_config_print(&config);
    int64_t *step_ns = check_alloc((size_t)steps * sizeof *step_ns);
    for (int step = 0; step < steps; step++) {
        int64_t start_ns = clock_now_ns();
        dp_step(step);
        step_ns[step] = clock_now_ns() - start_ns;
    }
    for (int i = 0; i < config.ranks; i++) {
        cudaCheck(cudaSetDevice(i));
        cudaCheck(cudaDeviceSynchronize());
        trainer_close(part[i]);
        ncclCheck(ncclCommDestroy(comms[i]));
    }
    print_pace(step_ns);
    double median_ms = trainer_median_ms(part[0], step_ns);
    for (int i = 0; i < config.ranks; i++)
        free(part[i]);
    free(step_ns);
    return median_ms;
}

int main(int argc, char **argv)
{
    int talks = 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    ddp_config_read(&config, argc, argv);
    nvtx_enable(!config.conv.no_nvtx);
    double median_ms = config.mode == MODE_DP ? train_all_devices() : train_ranks(argv, &talks);
    if (talks)
        printf("median_step_ms=%.3f\n", median_ms);
    return 0;
}
