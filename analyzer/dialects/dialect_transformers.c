/* Words for the Trainer of Transformers, which makes loader and loop from TrainingArguments. The
 * settings are those of its reference. */
#include "analyzer/dialects/dialect.h"

const struct dialect dialect_transformers = {
    .id = "transformers",
    .name = "Transformers",
    .base = &dialect_pytorch,
    .package = "transformers",
    .trainer = "transformers/trainer.py",
    .loader = {"TrainingArguments(...", "dataloader_", "num_workers", ")", NULL},
    .phrases = {{"autocast", "TrainingArguments(..., bf16=True)"},
                {"compile", "TrainingArguments(..., torch_compile=True)"},
                {"compile_to_graphs",
                 "TrainingArguments(..., torch_compile_mode='reduce-overhead')"},
                {"fused_optimizer", "{?optimizer=AdamW:TrainingArguments(..., "
                                    "optim='adamw_torch_fused')}{!optimizer:TrainingArguments(..., "
                                    "optim='adamw_torch_fused')}"}},
    .words = {[ACTION_ENLARGE_MICRO_BATCHES] =
                  "TrainingArguments(..., per_device_train_batch_size=N, "
                  "gradient_accumulation_steps=M): {times} times N, and M divided by {times}",
              [ACTION_LOG_RARELY] =
                  "the Trainer waits, not the script: TrainingArguments(..., "
                  "logging_nan_inf_filter=False), without which it tests the loss in "
                  "{!window:every step}{?window:the window}, and logging_steps=N"},
};
