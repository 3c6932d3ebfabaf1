/* What train_conv can be told: its settings, and the defects, each of which is a few settings. */
#ifndef CONV_CONFIG_H
#define CONV_CONFIG_H

#include "reference_workloads/common/args.h"
#include "reference_workloads/common/precision.h"

enum optimizer { OPTIMIZER_LOOP, OPTIMIZER_FOREACH, OPTIMIZER_FUSED };
enum zero_grad { ZERO_GRAD_MEMSET, ZERO_GRAD_NONE };

struct config {
    /* the model and the run */
    int depth; /* index into DEPTH_CHOICES */
    int image, batch, classes, steps, warmup, seed;
    float learning_rate, momentum, weight_decay;
    /* input */
    int data; /* enum loader_data */
    int float_input, picture, pictures, num_workers, prefetch, pin_memory, non_blocking;
    /* the GPU's work */
    int channels_last, precision, cudnn_find, workspace_mb, conv_bias, fuse_pointwise, cuda_graph;
    int own_layers;
    int optimizer, zero_grad;
    int accumulation; /* parts of a batch, whose gradients are added up before the update */
    /* the host's work */
    int sync_every, wait_every, log_work_us, host_overhead_us, host_work_us, host_work_every;
    int eval_every, eval_training;
    int no_nvtx, nvtx_layers;
    /* burdens.h */
    int launch_blocking, small_copies, alloc_per_step, extra_copies, retune_every, disk_mbps,
        profile_every;
    int check_nan, busy_threads, offload;
};

#define DEPTH_CHOICES "18|34|50|101|152"

/* Defaults, then the defect, then the command line, then GPUPROF_APPLY. `--defect list` and
 * `--help` are answered here; whatever is wrong is one line on stderr and exit 2. */
void config_read(struct config *c, int argc, char **argv);

/* For trainers that add settings of their own: a struct that begins with struct config takes these
 * rows as they are. */
struct config config_defaults(void);
const struct setting *config_rows(size_t *count);
void config_check(const struct config *c); /* combinations that make no sense: exit 2 */

/* One line of the settings that differ from the defaults. */
void config_print(const struct config *c);

#endif
