/* See config.h. The defaults are tuned: what every defect undoes, one at a time. */
#include <stdlib.h>
#include <string.h>

#include "reference_workloads/conv/config.h"

#include "reference_workloads/common/check.h"
#include "reference_workloads/common/settings.h"

static const struct config defaults = {
    .depth = 2, /* 50 */
    .image = 224,
    .batch = 64,
    .classes = 16,
    .steps = 40,
    .warmup = 5,
    .seed = 1,
    .learning_rate = 0.02f,
    .momentum = 0.9f,
    .weight_decay = 0.0001f,
    .picture = 96,
    .pictures = 256,
    .num_workers = 2,
    .prefetch = 3,
    .pin_memory = 1,
    .non_blocking = 1,
    .channels_last = 1,
    .precision = PRECISION_AUTO,
    .cudnn_find = 1,
    .workspace_mb = 256,
    .fuse_pointwise = 1,
    .optimizer = OPTIMIZER_FUSED,
    .zero_grad = ZERO_GRAD_NONE,
    .accumulation = 1,
    .sync_every = 0,
    .host_work_every = 1,
};

#define ROW(name, kind, field, min, max, choices, help)                                            \
    {                                                                                              \
        name, kind, offsetof(struct config, field), min, max, choices, help                        \
    }

static const struct setting rows[] = {
    ROW("depth", SETTING_CHOICE, depth, 0, 0, DEPTH_CHOICES, "layers of the ResNet"),
    ROW("image", SETTING_INT, image, 32, 1024, NULL,
        "side of the network's input, a multiple of 32"),
    ROW("batch", SETTING_INT, batch, 1, 4096, NULL, "pictures per step"),
    ROW("classes", SETTING_INT, classes, 2, 1000, NULL, "number of classes"),
    ROW("steps", SETTING_INT, steps, 1, 1e9, NULL, "training steps"),
    ROW("warmup", SETTING_INT, warmup, 0, 1e9, NULL, "first steps to exclude from the median"),
    ROW("seed", SETTING_INT, seed, 0, 1e9, NULL, "of weights and data"),
    ROW("learning-rate", SETTING_FLOAT, learning_rate, 0, 10, NULL, "of SGD"),
    ROW("momentum", SETTING_FLOAT, momentum, 0, 1, NULL, "of SGD"),
    ROW("weight-decay", SETTING_FLOAT, weight_decay, 0, 1, NULL, "of SGD"),
    ROW("data", SETTING_CHOICE, data, 0, 0, "jpeg|fixed",
        "decode every picture, or make a few batches once and repeat them"),
    ROW("input", SETTING_CHOICE, float_input, 0, 0, "bytes|float",
        "copy bytes and normalise on the GPU, or normalised floats"),
    ROW("picture", SETTING_INT, picture, 16, 4096, NULL, "side of the JPEG pictures"),
    ROW("pictures", SETTING_INT, pictures, 1, 1e6, NULL, "JPEG pictures in the set"),
    ROW("num-workers", SETTING_INT, num_workers, 0, 256, NULL, "threads that make batches"),
    ROW("prefetch", SETTING_INT, prefetch, 1, 64, NULL, "batches made ahead"),
    ROW("pin-memory", SETTING_BOOL, pin_memory, 0, 1, NULL, "batches in pinned memory"),
    ROW("non-blocking", SETTING_BOOL, non_blocking, 0, 1, NULL,
        "copy on a separate stream, one batch ahead (needs pinned memory)"),
    ROW("channels-last", SETTING_BOOL, channels_last, 0, 1, NULL, "NHWC instead of NCHW"),
    ROW("precision", SETTING_CHOICE, precision, 0, 0, PRECISION_CHOICES,
        "type of the matrix work; fp16 with loss scaling; auto: bf16 or, on older GPUs, fp16"),
    ROW("cudnn", SETTING_CHOICE, cudnn_find, 0, 0, "heuristic|find", "how algorithms are chosen"),
    ROW("cudnn-benchmark", SETTING_BOOL, cudnn_find, 0, 1, NULL, "the same: 1 is find"),
    ROW("workspace-mb", SETTING_INT, workspace_mb, 0, 8192, NULL, "memory that algorithms may use"),
    ROW("conv-bias", SETTING_BOOL, conv_bias, 0, 1, NULL, "a bias before every normalisation"),
    ROW("fuse-pointwise", SETTING_BOOL, fuse_pointwise, 0, 1, NULL,
        "residual add and ReLU in one kernel, gradients added by the convolution"),
    ROW("cuda-graph", SETTING_BOOL, cuda_graph, 0, 1, NULL, "replay the step as a CUDA graph"),
    ROW("own-layers", SETTING_BOOL, own_layers, 0, 1, NULL,
        "normalise and pool without cuDNN, as where it declines"),
    ROW("optimizer", SETTING_CHOICE, optimizer, 0, 0, "loop|foreach|fused",
        "five kernels per tensor, five for all, or one for all"),
    ROW("zero-grad", SETTING_CHOICE, zero_grad, 0, 0, "memset|none",
        "zero every gradient and add to it, or overwrite it"),
    ROW("sync-every", SETTING_INT, sync_every, 0, 1e9, NULL,
        "steps between waits for the loss; 0: none, read it late"),
    ROW("wait-every", SETTING_INT, wait_every, 0, 1e9, NULL,
        "steps between waits for all of the GPU's work, besides those for the loss; 0: none"),
    ROW("log-work-us", SETTING_INT, log_work_us, 0, 1e6, NULL,
        "host work after each read: metrics, logs"),
    ROW("host-overhead-us", SETTING_INT, host_overhead_us, 0, 1e6, NULL,
        "host work per operation, as a framework has"),
    ROW("host-work-us", SETTING_INT, host_work_us, 0, 1e6, NULL,
        "host work in each step, between the copy and the first launch"),
    ROW("host-work-every", SETTING_INT, host_work_every, 1, 1e9, NULL,
        "steps from one with host work to the next"),
    ROW("eval-every", SETTING_INT, eval_every, 0, 1e9, NULL,
        "steps between evaluations of the batch at hand; 0: none"),
    ROW("eval-training", SETTING_BOOL, eval_training, 0, 1, NULL,
        "evaluate with the layers in training mode: batch statistics, computed again"),
    ROW("launch-blocking", SETTING_BOOL, launch_blocking, 0, 1, NULL,
        "sets CUDA_LAUNCH_BLOCKING: every launch waits for its kernel"),
    ROW("small-copies", SETTING_INT, small_copies, 0, 1e6, NULL,
        "copies of 256 constant bytes to the GPU per step"),
    ROW("alloc-per-step", SETTING_INT, alloc_per_step, 0, 1e6, NULL,
        "blocks of GPU memory allocated and freed per step"),
    ROW("extra-copy", SETTING_INT, extra_copies, 0, 100, NULL,
        "times that a batch is copied on the host before it goes to the GPU"),
    ROW("profile-every", SETTING_INT, profile_every, 0, 1e9, NULL,
        "steps without, and as many with cudaProfilerStart, in turn; 0: none"),
    ROW("retune-every", SETTING_INT, retune_every, 0, 1e9, NULL,
        "steps between searches for algorithms, as if shapes had changed; 0: one at the start"),
    ROW("disk-mbps", SETTING_INT, disk_mbps, 0, 1e6, NULL,
        "MB/s at which pictures are read, by all workers together; 0: from memory"),
    ROW("check-nan", SETTING_BOOL, check_nan, 0, 1, NULL,
        "check every gradient tensor for NaN, and read each result"),
    ROW("busy-threads", SETTING_INT, busy_threads, 0, 16, NULL,
        "threads per usable core that compute all the time during the training"),
    ROW("offload", SETTING_BOOL, offload, 0, 1, NULL,
        "keep weights and momentum in host memory: fetch them before, and write them back after "
        "each step"),
    ROW("no-nvtx", SETTING_FLAG, no_nvtx, 0, 1, NULL, "no NVTX ranges"),
    ROW("nvtx-layers", SETTING_FLAG, nvtx_layers, 0, 1, NULL, "an NVTX range per layer"),
};

/* A defect: the rule that must find it, and the settings that plant it. Besides its own setting it
 * may set sizes, so that what it costs stands clear of the noise. */
static const struct defect defects[] = {
    {"workers0", "num-workers", "num_workers=0;picture=448;pictures=64", NULL,
     "decodes large pictures on the training thread"},
    {"pageable", "pin-memory", "pin_memory=0;data=fixed;input=float;depth=18;batch=64", NULL,
     "copies float batches from pageable memory"},
    {"blocking-copy", "overlap-copies", "non_blocking=0;data=fixed;input=float;depth=18;batch=64",
     NULL, "copies each batch with cudaMemcpy while the GPU waits"},
    {"sync-every-step", "sync-in-loop", "sync_every=1;log_work_us=3000", NULL,
     "reads the loss after every step and works on it while the GPU waits"},
    {"nchw", "channels-last", "channels_last=0", NULL,
     "keeps activations in NCHW with tensor cores"},
    {"fp32", "tensor-cores", "precision=fp32;batch=16", NULL,
     "computes in FP32 without tensor cores"},
    {"launch-bound", "cuda-graphs", "batch=4;image=64;host_overhead_us=20", NULL,
     "tiny batches and 20 us of host work per operation"},
    {"optimizer-loop", "fused-optimizer", "optimizer=loop;batch=32", NULL,
     "updates every tensor with five small kernels"},
    {"cudnn-heuristic", "cudnn-algorithm", "cudnn=heuristic;workspace_mb=8", NULL,
     "takes cuDNN's first guess with 8 MB of workspace"},
    {"small-batch", "batch-size", "batch=4;image=64;cuda_graph=1", NULL,
     "trains on four small pictures a step"},
    {"zero-grad-memset", "zero-grad", "zero_grad=memset;batch=8;image=128;cuda_graph=1", NULL,
     "zeroes every gradient tensor separately before adding to it"},
    {"conv-bias", "bias-before-norm", "conv_bias=1;batch=64", "conv_bias=0",
     "adds a bias before every batch normalisation"},
    {"launch-blocking", "debug-switches", "launch_blocking=1;batch=8;image=128",
     "launch_blocking=0", "leaves CUDA_LAUNCH_BLOCKING on"},
    {"check-nan", "debug-switches", "check_nan=1;batch=32", "check_nan=0",
     "checks every gradient tensor for NaN and reads each result"},
    {"small-copies", "small-copies", "small_copies=400;batch=16", "small_copies=0",
     "sends 400 constants to the GPU in every step, one by one"},
    {"alloc-per-step", "allocation-in-loop", "alloc_per_step=8;batch=32", "alloc_per_step=0",
     "allocates and frees eight blocks of GPU memory in every step"},
    {"extra-copy", "host-copies", "extra_copy=24;data=fixed;input=float;depth=18;batch=64",
     "extra_copy=0", "copies each batch on the host 24 times before it goes to the GPU"},
    {"retune", "shapes-change", "retune_every=1;batch=32", "retune_every=0",
     "searches for convolution algorithms again in every step"},
    {"slow-disk", "storage-bound", "disk_mbps=8;batch=16;image=128;picture=224;pictures=64",
     "disk_mbps=0", "reads its pictures from a disk of 8 MB/s"},
    {"eval-training", "eval-activations", "eval_every=1;eval_training=1;batch=32",
     "eval_training=0", "evaluates after every step with the layers as in training"},
    {"host-work", "host-work", "host_work_us=12000;data=fixed;depth=18;batch=16;image=128",
     "host_work_us=0", "does 12 ms of work on the host in each step, before it launches"},
    {"rare-work", "long-steps",
     "host_work_us=60000;host_work_every=4;data=fixed;depth=18;batch=16;image=128",
     "host_work_us=0", "does 60 ms of work on the host in every fourth step, as for a checkpoint"},
    {"offload", "copy-volume", "offload=1;data=fixed;batch=4;image=64;cuda_graph=1", NULL,
     "fetches weights and momentum from host memory in every step"},
    {"busy-threads", "cpu-contention",
     "busy_threads=2;data=fixed;depth=18;batch=8;image=64;host_overhead_us=20", "busy_threads=0",
     "computes on two more threads per core during the training"},
    {"starved-workers", "starved-workers",
     "busy_threads=2;num_workers=2;depth=18;batch=16;image=128;picture=448;pictures=64",
     "busy_threads=0", "gives the threads that decode pictures a third of each core"},
};

struct config config_defaults(void)
{
    return defaults;
}

const struct setting *config_rows(size_t *count)
{
    *count = sizeof rows / sizeof *rows;
    return rows;
}

void config_check(const struct config *c)
{
    if (c->image % 32 != 0)
        die(2, "image must be a multiple of 32, not %d", c->image);
    if (c->batch % c->accumulation != 0)
        die(2, "batch %d does not divide into %d parts", c->batch, c->accumulation);
}

/* Whoever follows the advice to measure algorithms gives the search its memory as well. */
static void give_search_room(struct config *c)
{
    const char *told = getenv("GPUPROF_APPLY");
    if (told && strstr(told, "cudnn_benchmark=1") && c->workspace_mb < defaults.workspace_mb)
        c->workspace_mb = defaults.workspace_mb;
}

void config_read(struct config *c, int argc, char **argv)
{
    *c = defaults;
    const struct settings k = {rows, sizeof rows / sizeof *rows, c};
    settings_read(&k, defects, sizeof defects / sizeof *defects, argc, argv,
                  "usage: train_conv [--defect NAME|list] [options]\n"
                  "Trains a ResNet on generated pictures. GPUPROF_APPLY=\"name=value;...\" changes "
                  "settings, too.\n");
    give_search_room(c);
    config_check(c);
}

void config_print(const struct config *c)
{
    static const char *const always[] = {"depth",         "image",     "batch", "precision",
                                         "channels-last", "optimizer", "cudnn", "cuda-graph"};
    struct config now = *c, before = defaults;
    settings_print(&(struct settings){rows, sizeof rows / sizeof *rows, &now}, &before, always,
                   sizeof always / sizeof *always);
}
