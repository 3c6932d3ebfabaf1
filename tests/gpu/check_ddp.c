/* Compares the gradients that two ranks of train_ddp average with those of one rank that has both
 * halves of the batch, on two real GPUs. Exit status 1 if they differ, 77 without two GPUs that
 * compute.
 *
 * The halves contain the same pictures and different labels. So batch normalisation, which takes
 * its statistics over what a rank sees, does the same in both, and everything in the backward pass
 * is linear in what depends on the labels. The mean must therefore agree up to rounding, and either
 * half alone must not. This process drives both ranks; each has its own communicator, model and
 * reducer. */
#include "reference_workloads/conv/model.h"
#include "reference_workloads/ddp/nccl_check.h"
#include "reference_workloads/ddp/reducer.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 8, IMAGE = 64, CLASSES = 10, PIXELS = IMAGE * IMAGE * 3 };
static const double tolerance = 1e-3; /* of the largest gradient of a group */

void nccl_check(ncclResult_t rc, const char *call, const char *file, int line)
{
    if (rc != ncclSuccess)
        die(1, "%s in %s (%s:%d)", ncclGetErrorString(rc), call, file, line);
}

/* Pixels, then labels, as a loader's slot has them; labels from `first` on. */
static void stage(struct model *m, int batch, int first, size_t labels_offset)
{
    size_t bytes = labels_offset + (size_t)batch * sizeof(int32_t);
    unsigned char *slot = check_alloc(bytes);
    for (int i = 0; i < batch * PIXELS; i++)
        slot[i] = (unsigned char)((unsigned)(i % (BATCH * PIXELS)) * 2654435761u >> 24);
    for (int i = 0; i < batch; i++) {
        int32_t label = (first + i) * 7 % CLASSES;
        memcpy(slot + labels_offset + (size_t)i * sizeof label, &label, sizeof label);
    }
    cudaCheck(cudaMemcpy(m->staged[0], slot, bytes, cudaMemcpyHostToDevice));
    free(slot);
}

static void open_model(struct model *m, struct config *c, int device, int batch, int first)
{
    size_t pixels = (size_t)batch * PIXELS;
    cudaCheck(cudaSetDevice(device));
    c->batch = batch;
    model_open(m, c, pixels + (size_t)batch * sizeof(int32_t), pixels);
    stage(m, batch, first, pixels);
}

static void pass(struct model *m, int device)
{
    cudaCheck(cudaSetDevice(device));
    model_forward(m, 0, 0);
    model_backward(m);
}

/* A thread a rank: a communicator's first exchange may wait for the other ranks. */
struct rank {
    struct reducer reducer;
    struct model model;
    int device;
};

static void *run_rank(void *arg)
{
    struct rank *r = arg;
    reducer_begin(&r->reducer, 1);
    pass(&r->model, r->device);
    reducer_finish(&r->reducer);
    return NULL;
}

static float *gradients(const struct model *m, int device, int group)
{
    const struct group *g = &m->groups[group];
    float *host = check_alloc(g->count * sizeof *host);
    cudaCheck(cudaSetDevice(device));
    cudaCheck(cudaDeviceSynchronize());
    cudaCheck(cudaMemcpy(host, g->gradient, g->count * sizeof *host, cudaMemcpyDeviceToHost));
    return host;
}

/* The largest difference over the largest value. */
static double apart(const float *a, const float *b, size_t n)
{
    double most = 0, largest = 1e-30;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
        largest = fmax(largest, fabs((double)b[i]));
    }
    return isfinite(most) ? most / largest : INFINITY;
}

static struct config small_config(void)
{
    struct config c = config_defaults();
    c.depth = 0;
    c.image = IMAGE;
    c.classes = CLASSES;
    c.precision = PRECISION_FP32;
    c.cudnn_find = 0;
    return c;
}

/* The gradients of a group on both ranks, with those of the whole batch; how many differ. */
static int compare(const struct rank *half, const struct model *alone, const struct model *whole,
                   int group)
{
    size_t n = whole->groups[group].count;
    float *one = gradients(whole, 0, group), *first = gradients(alone, 0, group);
    int failures = 0;
    for (int i = 0; i < 2; i++) {
        float *mean = gradients(&half[i].model, i, group);
        double difference = apart(mean, one, n), without = apart(first, one, n);
        int good = difference <= tolerance && without > tolerance;
        printf("%s group %d, rank %d: apart by %.2g of the largest; without averaging %.2g\n",
               good ? "ok    " : "DIFFER", group, i, difference, without);
        failures += !good;
        free(mean);
    }
    free(one);
    free(first);
    return failures;
}

int main(void)
{
    static struct rank half[2];
    static struct model alone, whole;
    static struct config config[4];
    pthread_t thread[2];
    static struct ddp_config ddp = {.bucket_mb = 1, .first_bucket_mb = 1, .overlap = 1};
    ncclComm_t comm[2];
    struct cudaDeviceProp device;
    int count = 0, failures = 0;
    setenv("LOCAL_WORLD_SIZE", "2", 0); /* on the virtual GPU: all calls, no arithmetic */
    if (cudaGetDeviceCount(&count) != cudaSuccess || count < 2) {
        printf("skipped: no two GPUs here, there are %d\n", count);
        return 77;
    }
    for (int i = 0; i < 4; i++)
        config[i] = small_config();
    ncclCheck(ncclCommInitAll(comm, 2, NULL));
    for (int i = 0; i < 2; i++) {
        half[i].device = i;
        open_model(&half[i].model, &config[i], i, BATCH, i * BATCH);
        reducer_open(&half[i].reducer, &half[i].model, &ddp, comm[i]);
    }
    open_model(&alone, &config[2], 0, BATCH, 0);
    open_model(&whole, &config[3], 0, 2 * BATCH, 0);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&thread[i], NULL, run_rank, &half[i]) != 0)
            die(1, "no thread");
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    pass(&alone, 0);
    pass(&whole, 0);
    cudaCheck(cudaDeviceSynchronize());
    cudaCheck(cudaGetDeviceProperties(&device, 0));
    if (strncmp(device.name, "Virtual ", 8) == 0) {
        printf("skipped: no GPU that computes, but %s\n", device.name);
        return 77;
    }
    for (int g = 0; g < GROUP_COUNT; g++)
        failures += compare(half, &alone, &whole, g);
    return failures != 0;
}
