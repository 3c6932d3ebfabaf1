/* What train_gpt can be told: its settings, and the defects, each of which is a few settings. */
#ifndef GPT_CONFIG_H
#define GPT_CONFIG_H

#include "reference_workloads/common/args.h"
#include "reference_workloads/common/precision.h"

enum optimizer { OPTIMIZER_LOOP, OPTIMIZER_FOREACH, OPTIMIZER_FUSED };
enum clip { CLIP_NONE, CLIP_PER_TENSOR, CLIP_FUSED, CLIP_SYNC };

struct config {
    /* the model and the run */
    int layers, heads, width, context, vocab, batch, steps, warmup, seed, profile_every;
    float learning_rate, weight_decay, clip_norm;
    /* the GPU's work */
    int precision, pad_vocab, fuse_pointwise, clip, optimizer, checkpoint, alloc_per_step, clones;
    int cuda_graph;
    /* the host's work */
    int sync_every, log_work_us, host_overhead_us, no_nvtx;
};

/* Defaults, then the defect, then the command line, then GPUPROF_APPLY. `--defect list` and
 * `--help` are answered here; whatever is wrong is one line on stderr and exit 2. */
void config_read(struct config *c, int argc, char **argv);
struct config config_defaults(void);

/* One line of the settings that differ from the defaults. */
void config_print(const struct config *c);

#endif
