/* See config.h. The defaults are tuned: what every defect undoes, one at a time. */
#include "reference_workloads/gpt/config.h"

#include "reference_workloads/common/check.h"
#include "reference_workloads/common/settings.h"

static const struct config defaults = {
    .layers = 12,
    .heads = 12,
    .width = 768,
    .context = 1024,
    .vocab = 50257,
    .batch = 4,
    .steps = 40,
    .warmup = 5,
    .seed = 1,
    .learning_rate = 0.0003f,
    .weight_decay = 0.1f,
    .clip_norm = 1.0f,
    .precision = PRECISION_AUTO,
    .pad_vocab = 1,
    .fuse_pointwise = 1,
    .clip = CLIP_FUSED,
    .optimizer = OPTIMIZER_FUSED,
};

#define ROW(name, kind, field, min, max, choices, help)                                            \
    {                                                                                              \
        name, kind, offsetof(struct config, field), min, max, choices, help                        \
    }

static const struct setting rows[] = {
    ROW("layers", SETTING_INT, layers, 1, 96, NULL, "transformer layers"),
    ROW("heads", SETTING_INT, heads, 1, 128, NULL, "attention heads"),
    ROW("width", SETTING_INT, width, 256, 8192, NULL, "of a token's vector, a multiple of 256"),
    ROW("context", SETTING_INT, context, 256, 8192, NULL, "tokens per sequence, a multiple of 256"),
    ROW("vocab", SETTING_INT, vocab, 64, 1e6, NULL, "different tokens"),
    ROW("batch", SETTING_INT, batch, 1, 1024, NULL, "sequences per step"),
    ROW("steps", SETTING_INT, steps, 1, 1e9, NULL, "training steps"),
    ROW("warmup", SETTING_INT, warmup, 0, 1e9, NULL, "first steps to exclude from the median"),
    ROW("seed", SETTING_INT, seed, 0, 1e9, NULL, "of weights and data"),
    ROW("learning-rate", SETTING_FLOAT, learning_rate, 0, 10, NULL, "of AdamW"),
    ROW("weight-decay", SETTING_FLOAT, weight_decay, 0, 1, NULL, "of AdamW, for matrices"),
    ROW("clip-norm", SETTING_FLOAT, clip_norm, 1e-6, 1e9, NULL, "largest norm of all gradients"),
    ROW("precision", SETTING_CHOICE, precision, 0, 0, PRECISION_CHOICES,
        "type of the matrix work; fp16 with loss scaling; auto: bf16 or, on older GPUs, fp16"),
    ROW("pad-vocab", SETTING_BOOL, pad_vocab, 0, 1, NULL,
        "round the vocabulary's matrices up to a multiple of 128"),
    ROW("fuse-pointwise", SETTING_BOOL, fuse_pointwise, 0, 1, NULL,
        "biases in the matrix products, GELU in one kernel, additions in the normalisation"),
    ROW("clip", SETTING_CHOICE, clip, 0, 0, "none|per_tensor|fused|sync",
        "gradient clipping: not at all, two kernels per tensor, in two for all, or by the host"),
    ROW("optimizer", SETTING_CHOICE, optimizer, 0, 0, "loop|foreach|fused",
        "six kernels per tensor, six for all, or one for all"),
    ROW("checkpoint", SETTING_BOOL, checkpoint, 0, 1, NULL,
        "keep only each layer's input and compute the rest again in the backward pass"),
    ROW("alloc-per-step", SETTING_BOOL, alloc_per_step, 0, 1, NULL,
        "allocate and free every layer's activations in every step"),
    ROW("clones", SETTING_INT, clones, 0, 64, NULL,
        "copies that every layer makes of what its MLP computes, and does not need"),
    ROW("cuda-graph", SETTING_BOOL, cuda_graph, 0, 1, NULL, "replay the step as a CUDA graph"),
    ROW("sync-every", SETTING_INT, sync_every, 0, 1e9, NULL,
        "steps between waits for the loss; 0: none, read it late"),
    ROW("log-work-us", SETTING_INT, log_work_us, 0, 1e6, NULL,
        "host work after each read of the loss, or of the norm: metrics, logs"),
    ROW("profile-every", SETTING_INT, profile_every, 0, 1e9, NULL,
        "steps without, and as many with cudaProfilerStart, in turn; 0: none"),
    ROW("host-overhead-us", SETTING_INT, host_overhead_us, 0, 1e6, NULL,
        "host work per operation, as a framework has"),
    ROW("no-nvtx", SETTING_FLAG, no_nvtx, 0, 1, NULL, "no NVTX ranges"),
};

/* A defect: the rule that must find it, and the settings that plant it. Besides its own setting it
 * may set sizes, so that what it costs stands clear of the noise. */
static const struct defect defects[] = {
    {"fp32", "tensor-cores", "precision=fp32;batch=1;layers=6", NULL,
     "computes in FP32 without tensor cores"},
    {"vocab-unpadded", "misaligned-kernels", "pad_vocab=0;layers=4", NULL,
     "multiplies by a vocabulary of 50257, which is odd"},
    {"unfused", "pointwise-fusion", "fuse_pointwise=0", NULL,
     "adds biases, computes GELU and adds residuals in kernels of their own"},
    {"clip-sync", "gradient-clipping", "clip=sync;log_work_us=2000", NULL,
     "reads the gradients' norm on the host before every update, and logs it"},
    {"clip-per-tensor", "gradient-clipping", "clip=per_tensor;batch=1;context=256;cuda_graph=1",
     NULL, "takes the norm of every tensor and clips it in kernels of their own"},
    {"optimizer-loop", "fused-optimizer", "optimizer=loop;batch=2", NULL,
     "updates every tensor with six small kernels"},
    {"sync-every-step", "sync-in-loop", "sync_every=1;log_work_us=3000", NULL,
     "reads the loss after every step and works on it while the GPU waits"},
    {"launch-bound", "cuda-graphs", "batch=1;context=256;width=256;heads=4;host_overhead_us=20",
     NULL, "a small model and 20 us of host work per operation"},
    {"alloc-per-step", "allocation-in-loop", "alloc_per_step=1;layers=6", "alloc_per_step=0",
     "allocates and frees what every MLP keeps, in every step"},
    {"clones", "device-copies", "clones=8", "clones=0",
     "copies what every MLP computes eight times within the GPU's memory"},
    {"checkpoint", "checkpointing", "checkpoint=1", NULL,
     "computes every layer twice although the memory for once is there"},
};

struct config config_defaults(void)
{
    return defaults;
}

static void check(const struct config *c)
{
    if (c->width % 256 != 0 || c->context % 256 != 0)
        die(2, "width and context must be multiples of 256, not %d and %d", c->width, c->context);
    if (c->width % c->heads != 0 || c->width / c->heads % 8 != 0)
        die(2, "%d heads do not divide a width of %d into multiples of 8", c->heads, c->width);
    if (c->cuda_graph && (c->clip == CLIP_SYNC || c->alloc_per_step))
        die(2, "cuda_graph is refused: a graph holds neither clip=sync nor alloc-per-step");
}

void config_read(struct config *c, int argc, char **argv)
{
    *c = defaults;
    const struct settings k = {rows, sizeof rows / sizeof *rows, c};
    settings_read(&k, defects, sizeof defects / sizeof *defects, argc, argv,
                  "usage: train_gpt [--defect NAME|list] [options]\n"
                  "Trains a small GPT on generated text. GPUPROF_APPLY=\"name=value;...\" changes "
                  "settings, too.\n");
    check(c);
}

void config_print(const struct config *c)
{
    static const char *const always[] = {"layers",    "width",     "context", "batch",
                                         "precision", "optimizer", "clip",    "cuda-graph"};
    struct config now = *c, before = defaults;
    settings_print(&(struct settings){rows, sizeof rows / sizeof *rows, &now}, &before, always,
                   sizeof always / sizeof *always);
}
