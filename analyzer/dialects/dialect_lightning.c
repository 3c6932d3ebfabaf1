/* Words for Lightning, whose Trainer has the loop, the precision, the strategy among ranks and the
 * clipping; the program makes its own loaders. The settings are those of Lightning's reference. */
#include "analyzer/dialects/dialect.h"

const struct dialect dialect_lightning = {
    .id = "lightning",
    .name = "Lightning",
    .base = &dialect_pytorch,
    .package = "lightning pytorch_lightning",
    .trainer = "lightning/pytorch/ pytorch_lightning/",
    .phrases = {{"autocast", "Trainer(..., precision='bf16-mixed')"}},
    .words =
        {
            [ACTION_SWITCH_DEBUGGING_OFF] =
                "unset CUDA_LAUNCH_BLOCKING; Trainer(..., detect_anomaly=False); no "
                "torch.isnan(x).any() per layer",
            [ACTION_MEASURE_ALGORITHMS] = "Trainer(..., benchmark=True)",
            [ACTION_LOG_RARELY] =
                "Lightning's loop waits, not the script: Trainer(..., log_every_n_steps=N), and no "
                "prog_bar=True in self.log(), which reads the value for the bar in {!window:every "
                "step}{?window:the window}",
            [ACTION_ENLARGE_MICRO_BATCHES] =
                "{times} times the loader's batch_size, and Trainer(..., "
                "accumulate_grad_batches=N) with N divided by {times}",
            [ACTION_CLIP_AT_ONCE] = "Trainer(..., gradient_clip_val=limit), which clips all "
                                    "gradients at once",
            [ACTION_EXCHANGE_ONCE] = "Trainer(..., accumulate_grad_batches=N), which exchanges "
                                     "gradients with the last part alone",
            [ACTION_EVALUATE_WITHOUT_GRADIENTS] =
                "Trainer(..., inference_mode=True), the default; within training_step, with "
                "torch.inference_mode(): around what only evaluates",
            [ACTION_KEEP_OWN_BUFFERS] =
                "Trainer(..., strategy=DDPStrategy(broadcast_buffers=False)); before evaluating or "
                "saving, torch.distributed.broadcast(buffer, 0) for each of self.buffers()",
            [ACTION_RESIZE_BUCKETS] =
                "Trainer(..., strategy=DDPStrategy(bucket_cap_mb=25, "
                "gradient_as_bucket_view=True)): backward overlaps with the exchange of a few "
                "large buckets",
            [ACTION_SPLIT_BUCKETS] =
                "Trainer(..., strategy=DDPStrategy(bucket_cap_mb=25)): the default; a cap as large "
                "as the model waits for the whole backward pass",
            [ACTION_RUN_PROCESS_PER_GPU] = "Trainer(..., strategy='ddp', devices=N)",
        },
};
